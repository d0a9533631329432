"""How much there is of what in the ledger, for the figures that an operator sees."""

from typing import Any

from sqlalchemy import CompoundSelect, func, literal, select, union_all
from sqlalchemy.orm import Session

from shared.db.engine import Transactions
from shared.db.tables import RunRow, StepRow
from shared.db.waiting import may_run
from shared.domain.kinds import KINDS
from shared.domain.states import StepKind, StepStatus
from shared.ports.observer import LedgerCensus

RUN, STEP = "run", "step"


class PostgresCensus:
    """Counts in one query: the runs by status, and by kind the pending steps whose time has come."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def count(self) -> LedgerCensus:
        """Return what stands in the ledger now."""
        now = func.clock_timestamp()
        number = func.count().label("number")
        seconds = func.extract("epoch", now - func.min(StepRow.not_before)).label("seconds")
        runs = select(
            literal(RUN).label("what"), RunRow.status.label("name"), number, literal(0.0).label("seconds")
        ).group_by(RunRow.status)
        steps = (
            select(literal(STEP).label("what"), StepRow.kind.label("name"), number, seconds)
            .join(RunRow, RunRow.id == StepRow.run_id)
            .where(StepRow.status == StepStatus.PENDING, StepRow.not_before <= now, may_run())
            .group_by(StepRow.kind)
        )
        counted: CompoundSelect[Any] = union_all(runs, steps)

        def work(session: Session) -> LedgerCensus:
            by_status: dict[str, int] = {}
            by_queue: dict[str, int] = {}
            waited: dict[str, float] = {}
            for row in session.execute(counted):
                if row.what == RUN:
                    by_status[row.name] = row.number
                else:
                    queue = KINDS[StepKind(row.name)].queue
                    by_queue[queue] = by_queue.get(queue, 0) + row.number
                    waited[queue] = max(waited.get(queue, 0.0), float(row.seconds))
            return LedgerCensus(by_status, by_queue, waited)

        return self._transactions.run(work)
