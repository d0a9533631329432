"""What a run has used of models, added up from the book of calls: for limits, and for people."""

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, and_, case, exists, func, select
from sqlalchemy.orm import Session

from shared.db.tables import ModelCallRow, StepRow
from shared.domain.budget import COST
from shared.domain.model_names import is_served_as
from shared.domain.phases import Phase
from shared.domain.spending import SPEND_LIMITS, Spend
from shared.domain.states import StepStatus

OPEN, DONE, FAILED, REFUSED = "open", "done", "failed", "refused"
"""How a call stands: under way, answered, ended without an answer, refused by the provider before any work."""

PROMPT_CUT = "prompt_cut"
"""The outcome of an answered call whose server did not read all of the prompt."""

COST_DIGITS = 9
"""Decimals of a dollar that are told: a token costs down to some hundred-millionths of one."""


@dataclass(frozen=True, slots=True)
class Booked:
    """What a run has used: settled for good, and set aside for calls that a living worker is making."""

    settled: Spend
    under_way: Spend
    cached_tokens: int
    priced: bool = True
    """Whether the price of every call is known; else the cost that is told is only a part of the whole."""

    @property
    def cost_usd(self) -> float | None:
        """What was settled and set aside in US dollars; None when it is not known, or nothing was asked."""
        used = self.settled + self.under_way
        asked = used.model_calls + used.verification_calls
        return round(used.cost_usd, COST_DIGITS) if self.priced and asked else None


def load_booked(session: Session, run_id: str) -> Booked:
    """Add up the calls of a run; one whose worker is gone is charged with all that was set aside for it.

    A provider's own job counts as a call and with its cost; its tokens are told by phase only.
    """
    living = and_(
        ModelCallRow.status == OPEN,
        exists().where(
            StepRow.id == ModelCallRow.step_id,
            StepRow.status == StepStatus.RUNNING,
            StepRow.attempts == ModelCallRow.attempt,
        ),
    )
    verifies = ModelCallRow.phase == Phase.VERIFIER
    ours = ModelCallRow.phase != Phase.MANAGED  # limits on tokens bind our own calls, not what a provider's job reads
    columns = (
        living.label("living"),
        func.count().filter(~verifies).label("model_calls"),
        func.count().filter(verifies).label("verification_calls"),
        func.coalesce(func.sum(_charged_input()).filter(ours), 0).label("input_tokens"),
        func.coalesce(func.sum(_charged_output()).filter(ours), 0).label("output_tokens"),
        func.coalesce(func.sum(ModelCallRow.cached_tokens).filter(ours), 0).label("cached_tokens"),
        func.coalesce(func.sum(func.coalesce(_charged_usd(), ModelCallRow.reserved_usd)), 0.0).label("cost_usd"),
        func.count().filter(_charged_usd().is_(None)).label("unpriced"),
    )
    counted = select(*columns).where(ModelCallRow.run_id == run_id, ModelCallRow.status != REFUSED).group_by(living)
    rows = session.execute(counted).all()
    spends = {row.living: replace(_counted(row), cost_usd=float(row.cost_usd)) for row in rows}
    cached = sum(int(row.cached_tokens) for row in rows)
    priced = not any(row.unpriced for row in rows)
    return Booked(spends.get(False, Spend()), spends.get(True, Spend()), cached, priced)


def _counted(row: Any) -> Spend:
    return Spend(*(int(getattr(row, name)) for name in SPEND_LIMITS if name != COST))


def load_by_phase(session: Session, run_id: str) -> dict[str, dict[str, int | float]]:
    """Return calls, tokens and, where all prices are known, cost of a run by phase; a refused call counts nothing."""
    columns = (
        ModelCallRow.phase,
        func.count().label("calls"),
        func.coalesce(func.sum(_charged_input()), 0).label("input_tokens"),
        func.coalesce(func.sum(_charged_output()), 0).label("output_tokens"),
        func.coalesce(func.sum(ModelCallRow.cached_tokens), 0).label("cached_tokens"),
        func.coalesce(func.sum(func.coalesce(_charged_usd(), ModelCallRow.reserved_usd)), 0.0).label("cost_usd"),
        func.count().filter(_charged_usd().is_(None)).label("unpriced"),
    )
    counted = (
        select(*columns)
        .where(ModelCallRow.run_id == run_id, ModelCallRow.status != REFUSED)
        .group_by(ModelCallRow.phase)
        .order_by(ModelCallRow.phase)
    )
    names = ("calls", "input_tokens", "output_tokens", "cached_tokens")
    return {
        row.phase: {name: int(getattr(row, name)) for name in names}
        | ({} if row.unpriced else {COST: round(float(row.cost_usd), COST_DIGITS)})
        for row in session.execute(counted)
    }


def load_switched(session: Session, run_id: str) -> dict[str, tuple[str, ...]]:
    """Return the models that answered in place of others, by those that were asked for."""
    asked = select(ModelCallRow.requested_model, ModelCallRow.served_model).distinct()
    rows = session.execute(
        asked.where(ModelCallRow.run_id == run_id, ModelCallRow.served_model.is_not(None)).order_by(
            ModelCallRow.requested_model, ModelCallRow.served_model
        )
    ).all()
    found: dict[str, tuple[str, ...]] = {}
    for requested, served in rows:
        if served is not None and not is_served_as(requested, served):
            found[requested] = (*found.get(requested, ()), served)
    return found


def load_cut_prompts(session: Session, run_id: str) -> dict[str, int]:
    """Return the models whose servers seem to have cut prompts of a run, and how many calls of each."""
    cut = select(ModelCallRow.requested_model, func.count()).where(
        ModelCallRow.run_id == run_id, ModelCallRow.outcome == PROMPT_CUT
    )
    grouped = cut.group_by(ModelCallRow.requested_model).order_by(ModelCallRow.requested_model)
    return {model: int(calls) for model, calls in session.execute(grouped)}


def _charged_input() -> ColumnElement[int]:
    return case((ModelCallRow.status == DONE, ModelCallRow.input_tokens), else_=ModelCallRow.reserved_input)


def _charged_output() -> ColumnElement[int]:
    return case((ModelCallRow.status == DONE, ModelCallRow.output_tokens), else_=ModelCallRow.reserved_output)


def _charged_usd() -> ColumnElement[float]:
    return case((ModelCallRow.status == DONE, ModelCallRow.price_usd), else_=ModelCallRow.reserved_usd)
