"""What the workflow rules may change about a run: steps to insert, a transition, an iteration that ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.domain.states import RESEARCH_STEPS, SYNTHESIS_STEPS, RunStatus, StepKind
from shared.domain.view import StepView


@dataclass(frozen=True, slots=True)
class NewStep:
    """A step to insert; inserting the same key twice is a no-op."""

    kind: StepKind
    key: str
    iteration: int
    subject: str
    inputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Advance:
    """What to change: nothing when every field is at its default."""

    status: RunStatus | None = None
    reason: str | None = None
    stop_reason: str | None = None
    error: str | None = None
    iteration: int | None = None
    finished: bool = False
    """The current iteration has ended: book its gain."""
    steps: tuple[NewStep, ...] = ()
    cancel: frozenset[StepKind] = frozenset()

    @property
    def again(self) -> bool:
        """Tell whether the run should be looked at once more in the same transaction."""
        return self.status is not None or self.iteration is not None or self.finished


RAISE_IT = "Raise the limit to go on (increase_budget)."
"""What to do about a run that a limit has ended with nothing to show."""


def over_budget(step: StepView, limit: str) -> Advance:
    """End the run because a limit leaves no room for a step that comes before any research."""
    return Advance(RunStatus.BUDGET_EXHAUSTED, limit, limit, f"{step.error} {RAISE_IT}")


def failed_by(step: StepView) -> Advance:
    """End the run because a step that it cannot do without has failed for good."""
    reason = f"failed:{step.kind}"
    return Advance(RunStatus.FAILED, reason, reason, step.error, cancel=RESEARCH_STEPS | SYNTHESIS_STEPS)
