"""Jobs at providers that nobody waits for any more, and the runs that cancel them.

A run that was cancelled takes no step and no event any more, yet its job goes on, and costs, until the provider has
ended it. So cancelling is a run of its own in the same ledger: it waits, is retried, survives crashes and can be
watched like any other. What orphaned the job (cancel, refine, delete, a limit, a failure, an expiry) makes no
difference, since jobs are found by their step alone.
"""

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from shared.db.engine import new_id
from shared.db.job_tables import ManagedJobRow
from shared.db.progress import insert_step, progress
from shared.db.tables import RunRow, StepRow
from shared.db.unplanned_runs import begin_unplanned
from shared.domain.managed import OPEN_JOB
from shared.domain.moves import NewStep
from shared.domain.states import OPEN_STEP, RunKind, RunStatus, StepKind
from shared.ports.ledger import Committed


def orphaned_jobs(session: Session, limit: int) -> list[str]:
    """Return the jobs that may still run at their provider although no open step waits for them."""
    wanted = select(ManagedJobRow.id).where(_is_orphaned()).order_by(ManagedJobRow.id).limit(limit)
    return list(session.scalars(wanted))


def begin_cancelling(session: Session, job_id: str) -> Committed:
    """Start the run that cancels a job, unless there is one.

    It answers to no key, for it only ends what costs, and does not hang on the run that asked for the job, which may
    be deleted.
    """
    job = session.scalar(select(ManagedJobRow).where(ManagedJobRow.id == job_id, _is_orphaned()).with_for_update())
    if job is None:
        return Committed()
    kind, status = RunKind.CANCEL_JOB, RunStatus.CREATED
    run = RunRow(id=new_id("run"), owner_id=job.owner_id, kind=kind, status=status, engine="none")
    outbox = begin_unplanned(session, run, f"Cancel the research job of {job.run_id} at {job.provider}")
    inputs = {"job_id": job.id, "provider": job.provider, "run_id": job.run_id}
    insert_step(session, run, outbox, NewStep(StepKind.CANCEL_JOB, "cancel_job", 0, job.id, inputs))
    job.cancel_run_id = run.id
    progress(session, run, outbox)
    return outbox.committed()


def _is_orphaned() -> ColumnElement[bool]:
    waiting = select(StepRow.id).where(StepRow.id == ManagedJobRow.step_id, StepRow.status.in_(OPEN_STEP)).exists()
    cancelling = select(RunRow.id).where(RunRow.id == ManagedJobRow.cancel_run_id).exists()
    return ManagedJobRow.state.in_(OPEN_JOB) & ~waiting & ~cancelling
