"""Having a report checked again: a run of its own in the same ledger, and what it found."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from shared.contracts.report import Recheck
from shared.contracts.runs import Reverification
from shared.db.engine import Transactions, new_id
from shared.db.ledger import lock_run
from shared.db.progress import insert_step, progress
from shared.db.tables import RunRow, StepRow
from shared.db.unplanned_runs import begin_unplanned
from shared.domain.errors import Conflict, NotFound
from shared.domain.ids import OwnerId, RunId
from shared.domain.moves import NewStep
from shared.domain.states import RunKind, RunStatus, StepKind, StepStatus, is_final
from shared.ports.ledger import Committed


class PostgresRecheckControls:
    """The part of `shared.ports.gateway.Controls` that checks reports again."""

    _transactions: Transactions

    def reverify(self, owner_id: OwnerId, run_id: RunId, key_id: str | None = None) -> tuple[Reverification, Committed]:
        """Start a run that checks the newest report of a run that has ended."""
        recheck_id = RunId(new_id("run"))

        def work(session: Session) -> tuple[Reverification, Committed]:
            of_run = lock_run(session, run_id)
            if of_run is None or of_run.owner_id != owner_id:
                raise NotFound(f"There is no run {run_id}.")
            version = _checkable(of_run)
            answer = Reverification(run_id=recheck_id, of_run_id=run_id, report_version=version)
            if session.get(RunRow, recheck_id) is not None:  # an earlier commit worked, its answer was lost
                return answer, Committed()
            kind, status = RunKind.REVERIFY, RunStatus.CREATED
            run = RunRow(id=recheck_id, owner_id=owner_id, kind=kind, status=status, engine="none")
            run.of_run_id, run.key_id = run_id, key_id
            outbox = begin_unplanned(session, run, f"Check the report of {run_id} again")
            inputs = {"run_id": run_id, "report_version": version}
            insert_step(session, run, outbox, NewStep(StepKind.REVERIFY, "reverify", 0, run_id, inputs))
            progress(session, run, outbox)
            return answer, outbox.committed()

        return self._transactions.run(work)


def _checkable(run: RunRow) -> int:
    """Return the version of the report to check; raise `NotFound` or `Conflict` when there is none to check."""
    if run.report_version == 0:
        raise NotFound(f"Run {run.id} has no report yet.")
    if not is_final(RunStatus(run.status)):
        raise Conflict(f"The run is {run.status} and may get another report: wait until it ends.")
    return run.report_version


def recheck_of(session: Session, run: RunRow) -> Recheck:
    """Return what a run of kind reverify found; raise `NotFound` while it has not ended well."""
    wanted = select(StepRow.result).where(
        StepRow.run_id == run.id, StepRow.kind == StepKind.REVERIFY, StepRow.status == StepStatus.COMPLETED
    )
    result = session.scalar(wanted.limit(1))
    if result is None:
        raise NotFound(f"Run {run.id} has not checked the report yet: it is {run.status}.")
    return Recheck.model_validate(result)
