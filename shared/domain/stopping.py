"""When research stops: one ordered tuple of small rules, the first that speaks wins."""

from collections.abc import Callable, Iterable

from shared.domain.budget import research_deadline_s
from shared.domain.errors import OVER_BUDGET
from shared.domain.states import StepKind, StepStatus
from shared.domain.view import RunView, StepView

FINISHED = "finished"
NO_NEW_INFORMATION = "no_new_information"
ONLY_DUPLICATES = "only_duplicates"
PROVIDER_FAILURES = "provider_failures"
NO_EVIDENCE = "no_evidence"
CANCELLED = "cancelled"
EXPIRED = "expired"
UNDECIDED = "undecided"

IDLE_ITERATIONS = 3
FAILED_SEARCHES = 3


def gate_passes(view: RunView) -> bool:
    """Tell whether the run may finish: every required question covered, every central contradiction followed up."""
    followed = all(c.followed_up for c in view.contradictions if c.central)
    return not view.uncovered() and followed


def stop_reason(view: RunView) -> str | None:
    """Return why research stops now, or None; to be asked between two iterations."""
    return next((reason for rule in STOP_RULES if (reason := rule(view)) is not None), None)


def out_of_time(view: RunView) -> str | None:
    """Speak when research has to stop so that writing and checking still fit; asked at any moment."""
    return "budget:elapsed_s" if view.usage.elapsed_s >= research_deadline_s(view.limits) else None


def out_of_budget(steps: Iterable[StepView]) -> str | None:
    """Speak when a step had no room left in a limit of the run; asked at any moment."""
    return next((s.code for s in steps if s.code is not None and s.code.startswith(OVER_BUDGET)), None)


def _decided(view: RunView) -> str | None:
    """The last decision proposed to finish and may, or had nothing left to propose that is new."""
    decisions = [s for s in view.of_kind(StepKind.DECIDE) if s.iteration == view.iteration and not s.open]
    if not decisions or decisions[-1].result.get("actions"):
        return None
    return FINISHED if gate_passes(view) else ONLY_DUPLICATES


def _no_new_information(view: RunView) -> str | None:
    last = view.gains[-IDLE_ITERATIONS:]
    return NO_NEW_INFORMATION if len(last) == IDLE_ITERATIONS and not any(last) else None


def _provider_failures(view: RunView) -> str | None:
    searches = [s for s in view.of_kind(StepKind.SEARCH) if not s.open]
    last = searches[-FAILED_SEARCHES:]
    broken = len(last) == FAILED_SEARCHES and all(s.status is StepStatus.FAILED for s in last)
    return PROVIDER_FAILURES if broken else None


def no_search_worked(view: RunView) -> bool:
    """Tell whether the run has searched, every search failed, and nothing else has given it a source."""
    searches = view.of_kind(StepKind.SEARCH)
    failed = all(s.status is StepStatus.FAILED for s in searches) and out_of_budget(searches) is None
    return bool(searches) and failed and not view.candidates


def _iterations(view: RunView) -> str | None:
    return "budget:iterations" if view.iteration >= view.limits.iterations else None


def _fetches(view: RunView) -> str | None:
    return "budget:fetches" if view.usage.fetches >= view.limits.fetches else None


def _text(view: RunView) -> str | None:
    return "budget:run_chars" if view.usage.run_chars >= view.limits.run_chars else None


STOP_RULES: tuple[Callable[[RunView], str | None], ...] = (
    _decided,
    out_of_time,
    _provider_failures,
    _no_new_information,
    _text,
    _fetches,
    _iterations,
)
