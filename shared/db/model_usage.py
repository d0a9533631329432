"""What a run has used of models, added up from the book of calls: for limits, and for people."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, case, exists, func, select
from sqlalchemy.orm import Session

from shared.db.tables import ModelCallRow, StepRow
from shared.domain.phases import Phase
from shared.domain.spending import SPEND_LIMITS, Spend
from shared.domain.states import StepStatus

OPEN, DONE, FAILED, REFUSED = "open", "done", "failed", "refused"
"""How a call stands: under way, answered, ended without an answer, refused by the provider before any work."""


@dataclass(frozen=True, slots=True)
class Booked:
    """What a run has used: settled for good, and set aside for calls that a living worker is making."""

    settled: Spend
    under_way: Spend
    cached_tokens: int


def load_booked(session: Session, run_id: str) -> Booked:
    """Add up the calls of a run; one whose worker is gone is charged with all that was set aside for it."""
    living = and_(
        ModelCallRow.status == OPEN,
        exists().where(
            StepRow.id == ModelCallRow.step_id,
            StepRow.status == StepStatus.RUNNING,
            StepRow.attempts == ModelCallRow.attempt,
        ),
    )
    verifies = ModelCallRow.phase == Phase.VERIFIER
    columns = (
        living.label("living"),
        func.count().filter(~verifies).label("model_calls"),
        func.count().filter(verifies).label("verification_calls"),
        func.coalesce(func.sum(_charged_input()), 0).label("input_tokens"),
        func.coalesce(func.sum(_charged_output()), 0).label("output_tokens"),
        func.coalesce(func.sum(ModelCallRow.cached_tokens), 0).label("cached_tokens"),
    )
    counted = select(*columns).where(ModelCallRow.run_id == run_id, ModelCallRow.status != REFUSED).group_by(living)
    rows = session.execute(counted).all()
    spends = {row.living: Spend(*(int(getattr(row, name)) for name in SPEND_LIMITS)) for row in rows}
    cached = sum(int(row.cached_tokens) for row in rows)
    return Booked(spends.get(False, Spend()), spends.get(True, Spend()), cached)


def load_by_phase(session: Session, run_id: str) -> dict[str, dict[str, int]]:
    """Return calls and tokens of a run by phase; a call that was refused counts nothing."""
    columns = (
        ModelCallRow.phase,
        func.count().label("calls"),
        func.coalesce(func.sum(_charged_input()), 0).label("input_tokens"),
        func.coalesce(func.sum(_charged_output()), 0).label("output_tokens"),
        func.coalesce(func.sum(ModelCallRow.cached_tokens), 0).label("cached_tokens"),
    )
    counted = (
        select(*columns)
        .where(ModelCallRow.run_id == run_id, ModelCallRow.status != REFUSED)
        .group_by(ModelCallRow.phase)
        .order_by(ModelCallRow.phase)
    )
    names = ("calls", "input_tokens", "output_tokens", "cached_tokens")
    return {row.phase: {name: int(getattr(row, name)) for name in names} for row in session.execute(counted)}


def _charged_input() -> ColumnElement[int]:
    return case((ModelCallRow.status == DONE, ModelCallRow.input_tokens), else_=ModelCallRow.reserved_input)


def _charged_output() -> ColumnElement[int]:
    return case((ModelCallRow.status == DONE, ModelCallRow.output_tokens), else_=ModelCallRow.reserved_output)
