"""What time alone makes due, found by the sweeper: lost wake-ups, expired leases, queued runs, runs to look at."""

from datetime import timedelta

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from shared.db.engine import Transactions
from shared.db.ledger import LedgerLimits, admit, database_now, interrupt, lock_run, lock_step
from shared.db.outbox import Outbox
from shared.db.progress import progress
from shared.db.tables import RunRow, StepRow
from shared.domain.ids import OwnerId, StepId
from shared.domain.states import CLAIMABLE, RunKind, RunStatus, StepKind, StepStatus
from shared.ports.ledger import Committed, WakeUp

FIRST_REWAKE_S = 2.0
MAX_REWAKE_S = 30.0
_MAX_DOUBLINGS = 8


def may_run() -> ColumnElement[bool]:
    """Return the condition under which a run lets a step of it run, for a query that joins the two."""
    open_runs = [
        (RunRow.kind == RunKind.RESEARCH) & (RunRow.status == status) & StepRow.kind.in_(kinds)
        for status, kinds in CLAIMABLE.items()
    ]
    ingesting = (RunRow.kind == RunKind.INGEST) & (RunRow.status == RunStatus.RESEARCHING)
    return (StepRow.epoch == RunRow.epoch) & or_(ingesting, *open_runs)


class PostgresSweep:
    """The queries of the sweeper; any number of sweepers may run at once, each call is a transaction of its own."""

    def __init__(self, transactions: Transactions, limits: LedgerLimits) -> None:
        self._transactions, self._limits = transactions, limits

    def take_due(self, limit: int) -> tuple[WakeUp, ...]:
        """Return pending steps whose wake-up seems lost or whose time has come, and put their next one off.

        Fair: each run's oldest due step comes before any run's second. Steps whose run cannot run them are left out.
        """
        turn = func.row_number().over(partition_by=StepRow.run_id, order_by=StepRow.id).label("turn")
        due = (
            select(StepRow.id, turn)
            .join(RunRow, RunRow.id == StepRow.run_id)
            .where(
                StepRow.status == StepStatus.PENDING,
                StepRow.wake_at <= func.clock_timestamp(),
                StepRow.not_before <= func.clock_timestamp(),
                may_run(),
            )
            .order_by(turn, StepRow.id)
            .limit(limit)
            .subquery()
        )

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
            wake_ups = tuple(WakeUp(StepId(row.id), StepKind(row.kind), again=row.wakes > 0) for row in rows)
            for row in rows:
                wait = min(FIRST_REWAKE_S * 2 ** min(row.wakes, _MAX_DOUBLINGS), MAX_REWAKE_S)
                row.wakes += 1
                row.wake_at = now + timedelta(seconds=wait)
            return wake_ups

        return self._transactions.run(work)

    def expired(self, limit: int) -> tuple[StepId, ...]:
        """Return running steps whose lease has run out, the longest overdue first."""

        def work(session: Session) -> tuple[StepId, ...]:
            ids = session.scalars(
                select(StepRow.id)
                .where(StepRow.status == StepStatus.RUNNING, StepRow.leased_until <= func.clock_timestamp())
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
            interrupt(session, run, step, outbox)
            return outbox.committed()

        return self._transactions.run(work)

    def admit_queued(self, limit: int) -> tuple[Committed, ...]:
        """Start queued runs of every owner that has room, owners whose oldest run waits longest first."""

        def owners(session: Session) -> list[str]:
            waiting = (
                select(RunRow.owner_id)
                .where(RunRow.status == RunStatus.QUEUED)
                .group_by(RunRow.owner_id)
                .order_by(func.min(RunRow.queued_at))
                .limit(limit)
            )
            return list(session.scalars(waiting))

        def start(owner_id: str) -> Committed:
            return self._transactions.run(lambda s: admit(s, OwnerId(owner_id), self._limits.max_running_runs))

        return tuple(start(owner_id) for owner_id in self._transactions.run(owners))

    def advance_due(self, limit: int) -> tuple[Committed, ...]:
        """Look again at runs that time alone moves on, such as those whose time is up."""

        def ids(session: Session) -> list[str]:
            due = select(RunRow.id).where(RunRow.wake_at <= func.clock_timestamp()).order_by(RunRow.wake_at)
            return list(session.scalars(due.limit(limit)))

        def look(run_id: str) -> Committed:
            def work(session: Session) -> Committed:
                run = lock_run(session, run_id)
                if run is None:
                    return Committed()
                outbox = Outbox(session, run, database_now(session))
                progress(session, run, outbox)
                return outbox.committed()

            return self._transactions.run(work)

        return tuple(look(run_id) for run_id in self._transactions.run(ids))

    def seconds_to_next(self, longest: float) -> float:
        """Return the seconds until the next thing falls due, at most ``longest``."""

        def work(session: Session) -> float:
            pending = select(func.min(func.greatest(StepRow.wake_at, StepRow.not_before))).where(
                StepRow.status == StepStatus.PENDING
            )
            leased = select(func.min(StepRow.leased_until)).where(StepRow.status == StepStatus.RUNNING)
            runs = select(func.min(RunRow.wake_at))
            times = [t for q in (pending, leased, runs) if (t := session.scalar(q)) is not None]
            now = database_now(session)
            return min([longest, *((t - now).total_seconds() for t in times)])

        return self._transactions.run(work)
