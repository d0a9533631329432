"""The workflow while a report is refined: searches that writers asked for, what they find, and what is written of it.

A round begins when all sections of the round before are verified, and reads like an iteration; the run stays
``synthesizing``. New evidence alone is written up, as additions to its sections: what has passed is left alone.
"""

from collections.abc import Sequence
from typing import Any

from shared.domain.budget import research_deadline_s
from shared.domain.errors import OVER_BUDGET
from shared.domain.moves import Advance, NewStep
from shared.domain.research_moves import follow_ups, read_step
from shared.domain.selection import choose_reads, reads_of_iteration
from shared.domain.states import READS, RESEARCH_STEPS, StepKind, StepStatus
from shared.domain.stopping import PROVIDER_FAILURES, out_of_budget
from shared.domain.view import RunView, StepView

ROUNDS = 2
SEARCHES = 3
"""Searches that the writers of a report may ask for in one round."""


def suffix_of(number: int) -> str:
    """Return what the keys of the steps of a round end with; those of the first writing have nothing added."""
    return f":r{number}" if number else ""


def round_of(key: str) -> int:
    """Return the round of refinement that the step of a key belongs to; 0 for none."""
    rounds = range(1, ROUNDS + 1)
    return next((n for n in rounds if key.startswith(f"r{n}:") or key.endswith(suffix_of(n))), 0)


def searching(view: RunView, number: int, wanted: Sequence[dict[str, Any]]) -> Advance | None:
    """Return what comes next for the searches and sources of round ``number``; None when they have ended."""
    if not _may_go_on(view):
        return None
    searches = _searches(view, number)
    waiting = list(enumerate(wanted, start=1))[len(searches) :]
    free = view.limits.parallel_searches - sum(s.open for s in searches)
    room = max(min(free, view.limits.searches - view.usage.searches), 0)
    if waiting[:room]:
        return Advance(steps=tuple(_search_step(view, number, n, item) for n, item in waiting[:room]))
    if any(s.open for s in searches):
        return Advance()
    new = (*_reads(view, [s.key for s in searches]), *follow_ups(view))
    still = any(s.open and not view.is_slow(s) for s in view.of_kind(*RESEARCH_STEPS))
    return Advance(steps=new) if new or still else None


def brought(view: RunView, number: int) -> bool:
    """Tell whether round ``number`` has read anything that holds evidence."""
    keys = {s.key for s in _searches(view, number)}
    sources = {c.source_id for c in view.candidates if c.search_key in keys}
    done = (s for s in view.of_kind(StepKind.EXTRACT) if s.status is StepStatus.COMPLETED and s.subject in sources)
    return any(s.result.get("evidence") for s in done)


def has_begun(view: RunView, number: int) -> bool:
    """Tell whether round ``number`` has made a search."""
    return bool(_searches(view, number))


def refines(step: StepView) -> bool:
    """Tell whether a step belongs to a round of refinement: without it the report is only less, never worse."""
    return round_of(step.key) > 0


def wanted_of(writes: Sequence[StepView]) -> tuple[dict[str, Any], ...]:
    """Return the searches that the writers of a round asked for, each query once, at most three."""
    asked = [item for step in writes for item in step.result.get("wanted", ())]
    return tuple({item["query"]: dict(item) for item in asked}.values())[:SEARCHES]


def may_begin(view: RunView, number: int) -> bool:
    """Tell whether round ``number`` may begin: not after a hard stop, and only while limits and time allow it."""
    left = view.limits.searches > view.usage.searches and view.limits.fetches > view.usage.fetches
    return number <= ROUNDS and left and _may_go_on(view)


def _may_go_on(view: RunView) -> bool:
    hard = view.stop_reason is not None and view.stop_reason.startswith((OVER_BUDGET, PROVIDER_FAILURES))
    return not hard and out_of_budget(view.steps) is None and view.usage.elapsed_s < research_deadline_s(view.limits)


def _searches(view: RunView, number: int) -> tuple[StepView, ...]:
    return tuple(s for s in view.of_kind(StepKind.SEARCH) if s.key.startswith(f"r{number}:"))


def _search_step(view: RunView, number: int, place: int, wanted: dict[str, Any]) -> NewStep:
    return NewStep(StepKind.SEARCH, f"r{number}:search:{place:02}", view.iteration, wanted["query"], wanted)


def _reads(view: RunView, searches: Sequence[str]) -> tuple[NewStep, ...]:
    """Open the next reads of what the searches found, as far as the tier allows at once and in all."""
    known = frozenset(s.subject for s in view.of_kind(StepKind.READ_SOURCE, StepKind.EXTRACT))
    queries = {s.key: s.subject for s in view.of_kind(StepKind.SEARCH)}
    found = frozenset(c.source_id for c in view.candidates if c.search_key in searches)
    opened = [s for s in view.of_kind(StepKind.READ_SOURCE) if s.subject in found and _is_of_round(view, s, searches)]
    left = max(view.limits.fetches - view.usage.fetches, 0)
    taken = known - frozenset(s.subject for s in opened)
    chosen = choose_reads(searches, view.candidates, taken, reads_of_iteration(left + len(opened)))
    free = max(view.limits.parallel_reads - sum(s.open for s in view.of_kind(*READS)), 0)
    unread = [c for c in chosen if c.source_id not in known]
    return tuple(read_step(view, c, queries[c.search_key]) for c in unread[: min(free, left)])


def _is_of_round(view: RunView, step: StepView, searches: Sequence[str]) -> bool:
    """Tell whether a source was found by no search before the round's."""
    return all(c.search_key in searches for c in view.candidates if c.source_id == step.subject)
