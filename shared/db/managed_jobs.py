"""Research jobs at providers over Postgres: written down before they are asked for, their handles as soon as known."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.orm import Session

from shared.contracts.events import Event
from shared.db.engine import Transactions, new_id
from shared.db.job_tables import ManagedJobRow
from shared.db.ledger import database_now, lock_run, lock_step
from shared.db.outbox import Outbox
from shared.db.tables import RunRow
from shared.domain.errors import Transient, Unconfirmed
from shared.domain.ids import OwnerId, RunId
from shared.domain.managed import OPEN_JOB, JobState
from shared.domain.states import RunStatus, StepStatus
from shared.ports.ledger import Lease
from shared.ports.managed import Job, NewJob

_ENDED = [state for state in JobState if state not in OPEN_JOB]


class PostgresJobs:
    """See `shared.ports.managed.Jobs`."""

    def __init__(self, transactions: Transactions, publish: Callable[[Sequence[Event]], None] = lambda _: None) -> None:
        """Take ``publish`` as what sends events once their transaction has committed."""
        self._transactions, self._publish = transactions, publish

    def of_step(self, lease: Lease) -> Job | None:
        """Return the job of the step."""
        return self._transactions.run(lambda session: _found(session, ManagedJobRow.step_id == lease.step_id))

    def get(self, job_id: str) -> Job | None:
        """Return a job."""
        return self._transactions.run(lambda session: _found(session, ManagedJobRow.id == job_id))

    def begin(self, lease: Lease, job: NewJob) -> Job:
        """Write down that a job is about to be submitted, while the lease holds."""
        job_id = new_id("job")

        def work(session: Session) -> Job:
            held = lock_step(session, lease.step_id)
            if held is None or held[1].lease_token != lease.token or held[1].status != StepStatus.RUNNING:
                raise Transient("lease_lost", "The step was taken away from this worker, so it submits no job.")
            lost = (ManagedJobRow.run_id == lease.run_id) & (ManagedJobRow.state == JobState.INDETERMINATE)
            before = _found(session, lost)
            if before is not None:
                raise Unconfirmed(before.provider)
            known = _found(session, ManagedJobRow.id == job_id)  # an earlier commit worked, its answer was lost
            if known is None:
                session.add(_row(job_id, lease, job))
                session.flush()
            return known or _required(session, job_id)

        return self._transactions.run(work)

    def withdraw(self, job_id: str) -> None:
        """Forget a job that the provider has refused, or that it was never asked for."""
        gone = delete(ManagedJobRow).where(ManagedJobRow.id == job_id, ManagedJobRow.handle.is_(None))
        self._transactions.run(lambda session: session.execute(gone))

    def accepted(self, job_id: str, handle: str) -> None:
        """Keep the handle, whatever has become of step and run meanwhile."""
        unknown = ManagedJobRow.state.in_([JobState.SUBMITTING, JobState.INDETERMINATE])
        self._change(job_id, unknown, handle=handle, state=JobState.RUNNING)

    def lost(self, job_id: str) -> None:
        """Say that nobody knows whether the job was taken, unless its handle is there."""
        self._change(job_id, ManagedJobRow.state == JobState.SUBMITTING, state=JobState.INDETERMINATE)

    def seen_running(self, lease: Lease, job_id: str, message: str) -> int:
        """Count a look that found it running and tell the run's watchers; return how many there were."""

        def work(session: Session) -> tuple[int, tuple[Event, ...]]:
            run = lock_run(session, lease.run_id)
            polls = session.scalar(
                update(ManagedJobRow)
                .where(ManagedJobRow.id == job_id)
                .values(polls=ManagedJobRow.polls + 1, failures=0)
                .returning(ManagedJobRow.polls)
            )
            if run is None or run.status != RunStatus.RESEARCHING:
                return polls or 0, ()
            outbox = Outbox(session, run, database_now(session))
            outbox.event("progress", phase="searching", message=message, step_id=lease.step_id)
            return polls or 0, outbox.committed().events

        polls, events = self._transactions.run(work)
        self._publish(events)
        return polls

    def look_failed(self, job_id: str) -> int:
        """Count a look that failed; return how many have in a row."""
        count = (
            update(ManagedJobRow)
            .where(ManagedJobRow.id == job_id)
            .values(failures=ManagedJobRow.failures + 1)
            .returning(ManagedJobRow.failures)
        )
        return self._transactions.run(lambda session: session.scalar(count)) or 0

    def forgive(self, job_id: str) -> None:
        """Count failed looks from nothing again."""
        self._change(job_id, failures=0)

    def cancel_asked(self, job_id: str) -> None:
        """Note that the provider has been asked to end the job."""
        self._change(job_id, cancel_asked=True)

    def ended(self, job_id: str, state: JobState) -> None:
        """Note how the job ended; nothing is left of one whose run was deleted."""

        def work(session: Session) -> None:
            still = ManagedJobRow.state.in_([JobState.SUBMITTING, JobState.RUNNING])
            now = database_now(session)
            session.execute(
                update(ManagedJobRow)
                .where(ManagedJobRow.id == job_id, still)
                .values(state=state, ended_at=now, failures=0)
            )
            deleted = ~select(RunRow.id).where(RunRow.id == ManagedJobRow.run_id).exists()
            session.execute(delete(ManagedJobRow).where(ManagedJobRow.id == job_id, deleted))

        self._transactions.run(work)

    def _change(self, job_id: str, *conditions: ColumnElement[bool], **values: Any) -> None:
        changed = update(ManagedJobRow).where(ManagedJobRow.id == job_id, *conditions).values(**values)
        self._transactions.run(lambda session: session.execute(changed))


def forget_ended(session: Session, run_id: str) -> None:
    """Remove the jobs of a run that is being deleted; one that still runs at its provider has to be cancelled first."""
    session.execute(delete(ManagedJobRow).where(ManagedJobRow.run_id == run_id, ManagedJobRow.state.in_(_ENDED)))


def newest_job(session: Session, run_id: str) -> ManagedJobRow | None:
    """Return the row of the last job that a run has asked for."""
    return session.scalar(
        select(ManagedJobRow).where(ManagedJobRow.run_id == run_id).order_by(ManagedJobRow.id.desc()).limit(1)
    )


def _row(job_id: str, lease: Lease, job: NewJob) -> ManagedJobRow:
    return ManagedJobRow(
        id=job_id,
        owner_id=lease.owner_id,
        run_id=lease.run_id,
        step_id=lease.step_id,
        call_id=job.call_id,
        provider=job.provider,
        agent=job.agent,
        credential=job.credential,
        request_sha256=job.request_sha256,
        state=JobState.SUBMITTING,
    )


def _required(session: Session, job_id: str) -> Job:
    job = _found(session, ManagedJobRow.id == job_id)
    if job is None:
        raise AssertionError(f"the job {job_id} was just written")
    return job


def _found(session: Session, condition: ColumnElement[bool]) -> Job | None:
    row = session.scalar(select(ManagedJobRow).where(condition).order_by(ManagedJobRow.id.desc()).limit(1))
    if row is None:
        return None
    return Job(
        job_id=row.id,
        owner_id=OwnerId(row.owner_id),
        run_id=RunId(row.run_id),
        provider=row.provider,
        agent=row.agent,
        credential=row.credential,
        call_id=row.call_id,
        state=JobState(row.state),
        handle=row.handle,
        age_s=(database_now(session) - row.created_at).total_seconds(),
        cancel_asked=row.cancel_asked,
    )
