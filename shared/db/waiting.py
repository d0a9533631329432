"""Which pending steps may be taken up now, as far as their runs let them."""

from collections.abc import Collection

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from shared.db.tables import RunRow, StepRow
from shared.domain.ids import OwnerId, RunId, StepId
from shared.domain.states import ACTIVE_RUN, CLAIMABLE, StepKind, StepStatus
from shared.domain.turns import Waiting


def may_run() -> ColumnElement[bool]:
    """Return the condition under which a run lets a step of it run, for a query that joins the two."""
    open_runs = [
        (RunRow.kind == kind) & (RunRow.status == status) & StepRow.kind.in_(kinds)
        for kind, by_status in CLAIMABLE.items()
        for status, kinds in by_status.items()
    ]
    few = RunRow.status.in_(ACTIVE_RUN)  # follows from the rest, and lets an index find these runs
    return (StepRow.epoch == RunRow.epoch) & few & or_(*open_runs)


def waiting_steps(session: Session, kinds: Collection[StepKind]) -> tuple[Waiting, ...]:
    """Return the oldest step of these kinds that is due of each run."""
    waited_s = func.extract("epoch", func.clock_timestamp() - StepRow.created_at)
    wanted = (
        select(StepRow.id, StepRow.run_id, RunRow.owner_id, StepRow.inputs["bytes"].as_integer(), waited_s)
        .ext(distinct_on(StepRow.run_id))
        .join(RunRow, RunRow.id == StepRow.run_id)
        .where(
            StepRow.status == StepStatus.PENDING,
            StepRow.not_before <= func.clock_timestamp(),
            StepRow.kind.in_(kinds),
            may_run(),
        )
        .order_by(StepRow.run_id, StepRow.id)
    )
    rows = session.execute(wanted)
    return tuple(Waiting(StepId(s), RunId(r), OwnerId(o), size or 0, float(waited)) for s, r, o, size, waited in rows)
