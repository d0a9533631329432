"""What time alone makes due, found by the sweeper: lost wake-ups, expired leases, queued runs, runs to look at."""

from datetime import timedelta

from sqlalchemy import ColumnElement, Select, func, select, update
from sqlalchemy.orm import Session, aliased

from shared.db.engine import Transactions
from shared.db.ledger import LedgerLimits, admit, database_now, interrupt, lock_run, lock_step
from shared.db.orphaned_jobs import begin_cancelling, orphaned_jobs
from shared.db.outbox import Outbox
from shared.db.progress import progress
from shared.db.tables import OwnerRow, RunRow, StepRow
from shared.db.waiting import may_run
from shared.domain.ids import JobId, OwnerId, RunId, StepId
from shared.domain.kinds import KINDS, kinds_of
from shared.domain.states import RunKind, RunStatus, StepKind, StepStatus
from shared.ports.ledger import Committed, WakeUp

FIRST_REWAKE_S = 2.0
MAX_REWAKE_S = 30.0
_MAX_DOUBLINGS = 8
WAIT_LIMIT_S = 7 * 86_400.0


def _is_due() -> ColumnElement[bool]:
    now = func.clock_timestamp()
    return (StepRow.status == StepStatus.PENDING) & (StepRow.wake_at <= now) & (StepRow.not_before <= now)


def _was_sent(step: StepRow) -> bool:
    """Tell whether a wake-up was sent before: by a sweeper, or after the commit that made the step due at once."""
    return step.wakes > 0 or step.wake_at > step.not_before


def _in_turn(queue: str) -> Select[tuple[str, int]]:
    """Return the due steps of a queue: everybody's first one, then everybody's second."""
    of_run = func.row_number().over(partition_by=StepRow.run_id, order_by=StepRow.id).label("of_run")
    due = (
        select(StepRow.id, RunRow.owner_id, of_run)
        .join(RunRow, RunRow.id == StepRow.run_id)
        .where(_is_due(), may_run(), StepRow.kind.in_(kinds_of(queue)))
        .subquery()
    )
    turn = func.row_number().over(partition_by=due.c.owner_id, order_by=[due.c.of_run, due.c.id]).label("turn")
    return select(due.c.id, turn).order_by(turn, due.c.id)


class PostgresSweep:
    """The queries of the sweeper; any number of sweepers may run at once, each call is a transaction of its own."""

    def __init__(self, transactions: Transactions, limits: LedgerLimits, wait_limit_s: float = WAIT_LIMIT_S) -> None:
        """Take how long a run may wait for a person."""
        self._transactions, self._limits, self._wait_limit_s = transactions, limits, wait_limit_s

    def due_queues(self) -> frozenset[str]:
        """Return the queues for which there is a step to wake a worker for."""
        kinds = select(StepRow.kind).distinct().join(RunRow, RunRow.id == StepRow.run_id).where(_is_due(), may_run())
        found = self._transactions.run(lambda session: session.scalars(kinds).all())
        return frozenset(KINDS[StepKind(kind)].queue for kind in found)

    def take_due(self, queue: str, limit: int) -> tuple[WakeUp, ...]:
        """Return pending steps whose wake-up seems lost or whose time has come, and put their next one off.

        Fair: each owner gets a step before any owner gets a second, and so does each run of an owner. Steps whose run
        cannot run them are left out.
        """
        due = _in_turn(queue).limit(limit).subquery()

        def work(session: Session) -> tuple[WakeUp, ...]:
            rows = session.scalars(
                select(StepRow)
                .join(due, due.c.id == StepRow.id)
                # Said again outside the subquery: a row that another sweeper has just put off is looked at afresh.
                .where(StepRow.status == StepStatus.PENDING, StepRow.wake_at <= func.clock_timestamp())
                .order_by(due.c.turn, StepRow.id)
                .with_for_update(of=StepRow, skip_locked=True)
            ).all()
            now = database_now(session)
            wake_ups = tuple(WakeUp(StepId(row.id), StepKind(row.kind), again=_was_sent(row)) for row in rows)
            for row in rows:
                wait = min(FIRST_REWAKE_S * 2 ** min(row.wakes, _MAX_DOUBLINGS), MAX_REWAKE_S)
                row.wakes += 1
                row.wake_at = now + timedelta(seconds=wait)
            return wake_ups

        return self._transactions.run(work)

    def expired(self, limit: int) -> tuple[StepId, ...]:
        """Return running steps whose lease has run out, the longest overdue first; newer kinds are left alone."""

        def work(session: Session) -> tuple[StepId, ...]:
            ids = session.scalars(
                select(StepRow.id)
                .where(
                    StepRow.status == StepStatus.RUNNING,
                    StepRow.leased_until <= func.clock_timestamp(),
                    StepRow.kind.in_(list(StepKind)),
                )
                .order_by(StepRow.leased_until)
                .limit(limit)
            )
            return tuple(StepId(i) for i in ids)

        return self._transactions.run(work)

    def reclaim(self, step_id: StepId) -> Committed:
        """End the try of a step whose lease has run out: due again, or failed when that happened too often."""

        def work(session: Session) -> Committed:
            locked = lock_step(session, step_id)
            if locked is None:
                return Committed()
            run, step = locked
            now = database_now(session)
            if step.status != StepStatus.RUNNING or (step.leased_until is not None and step.leased_until > now):
                return Committed()
            outbox = Outbox(session, run, now)
            interrupt(session, run, step, outbox, self._limits.caps)
            return outbox.committed()

        return self._transactions.run(work)

    def owners_with_room(self, limit: int) -> tuple[OwnerId, ...]:
        """Return owners of queued runs that may start more of them, those first whose oldest run waits longest."""
        running = aliased(RunRow)
        started = (
            select(func.count())
            .where(
                running.owner_id == OwnerRow.id,
                running.kind == RunKind.RESEARCH,
                running.status.in_([RunStatus.RESEARCHING, RunStatus.SYNTHESIZING]),
            )
            .scalar_subquery()
        )
        most = func.coalesce(OwnerRow.max_running_runs, self._limits.max_running_runs)
        waiting = (
            select(OwnerRow.id)
            .join(RunRow, RunRow.owner_id == OwnerRow.id)
            .where(RunRow.status == RunStatus.QUEUED, started < most)
            .group_by(OwnerRow.id)
            .order_by(func.min(RunRow.queued_at))
            .limit(limit)
        )
        found = self._transactions.run(lambda session: session.scalars(waiting).all())
        return tuple(OwnerId(owner_id) for owner_id in found)

    def admit(self, owner_id: OwnerId) -> Committed:
        """Start the owner's oldest queued runs as far as its limit allows."""
        return self._transactions.run(lambda session: admit(session, owner_id, self._limits.max_running_runs))

    def due_runs(self, limit: int) -> tuple[RunId, ...]:
        """Return runs that time alone moves on, such as those whose time is up, the longest overdue first."""
        due = select(RunRow.id).where(RunRow.wake_at <= func.clock_timestamp()).order_by(RunRow.wake_at).limit(limit)
        return tuple(RunId(i) for i in self._transactions.run(lambda session: session.scalars(due).all()))

    def advance(self, run_id: RunId) -> Committed:
        """Look at a run again."""

        def work(session: Session) -> Committed:
            run = lock_run(session, run_id)
            if run is None:
                return Committed()
            outbox = Outbox(session, run, database_now(session))
            progress(session, run, outbox, wait_limit_s=self._wait_limit_s)
            return outbox.committed()

        return self._transactions.run(work)

    def orphaned_jobs(self, limit: int) -> tuple[JobId, ...]:
        """Return jobs at providers that nobody waits for any more."""
        return tuple(JobId(i) for i in self._transactions.run(lambda session: orphaned_jobs(session, limit)))

    def cancel_job(self, job_id: JobId) -> Committed:
        """Start the run that cancels such a job."""
        return self._transactions.run(lambda session: begin_cancelling(session, job_id))

    def put_off(self, item: str, seconds: float) -> None:
        """Leave a step or a run alone for so long: it could not be dealt with, and others wait behind it."""
        later = func.clock_timestamp() + timedelta(seconds=seconds)
        overdue = (StepRow.status == StepStatus.RUNNING, StepRow.leased_until <= func.clock_timestamp())

        def work(session: Session) -> None:
            session.execute(update(RunRow).where(RunRow.id == item, RunRow.wake_at.is_not(None)).values(wake_at=later))
            session.execute(update(StepRow).where(StepRow.id == item, *overdue).values(leased_until=later))

        self._transactions.run(work)

    def seconds_to_next(self, longest: float) -> float:
        """Return the seconds until the next thing falls due, at most ``longest``."""

        def work(session: Session) -> float:
            pending = (
                select(func.min(func.greatest(StepRow.wake_at, StepRow.not_before)))
                .join(RunRow, RunRow.id == StepRow.run_id)
                .where(StepRow.status == StepStatus.PENDING, may_run())
            )
            leased = select(func.min(StepRow.leased_until)).where(StepRow.status == StepStatus.RUNNING)
            runs = select(func.min(RunRow.wake_at))
            times = [t for q in (pending, leased, runs) if (t := session.scalar(q)) is not None]
            now = database_now(session)
            return min([longest, *((t - now).total_seconds() for t in times)])

        return self._transactions.run(work)
