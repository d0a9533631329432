"""The workflow while a run researches: searches, reads, parses and extracts of an iteration, then decide or stop."""

from collections.abc import Sequence
from typing import Any

from shared.domain.errors import MODEL_REFUSED, OF_ONE_TEXT, UNUSABLE_ANSWER
from shared.domain.moves import Advance, NewStep, failed_by
from shared.domain.selection import GIVEN, choose_reads, given_reads, reads_of_iteration
from shared.domain.states import READS, RESEARCH_STEPS, RunStatus, StepKind, StepStatus
from shared.domain.stopping import (
    PROVIDER_FAILURES,
    UNDECIDED,
    gate_passes,
    no_search_worked,
    out_of_budget,
    out_of_time,
    stop_reason,
)
from shared.domain.view import Candidate, RunView, Search, StepView


def researching(view: RunView) -> Advance:
    """Return what comes next for a run that researches."""
    ended = _ended_early(view)
    if ended is not None:
        return ended
    if view.iteration == 0:
        return Advance(iteration=1)
    decision = _decision(view)
    if decision is None and view.iteration > 1:
        return Advance(steps=(_decide_step(view),))
    new = (*_next_searches(view), *_next_reads(view), *follow_ups(view))
    if new or _is_held(view):
        return Advance(steps=new)
    if len(view.gains) < view.iteration and (decision is None or decision.result.get("actions")):
        return Advance(finished=True)
    reason = stop_reason(view)
    if reason is None:
        return Advance(iteration=view.iteration + 1)
    return Advance() if is_worth_waiting(view) else _synthesize(view, reason)


def straggler_wake_s(view: RunView) -> float:
    """Return the seconds after which stragglers are to be looked at again.

    That is at every full wait since the last ending, and when the first of those that work now may count as slow.
    """
    wait = view.limits.straggler_wait_s
    working = [wait - s.worked_s for s in view.of_kind(*RESEARCH_STEPS) if s.open and 0 < s.worked_s < wait]
    return min([wait - view.quiet_s % wait, *(max(left, wait - view.quiet_s) for left in working)])


def _is_held(view: RunView) -> bool:
    """Tell whether something keeps the iteration from ending.

    Slow sources do so for a limited time only, and not those left over from earlier iterations; a source that waits for
    a worker, a process or its turn at a site is not slow, and neither is one that has to wait until the tier allows
    another read; only a page that waits for a browser is, since there may be no worker that has one.
    """
    still = [s for s in view.of_kind(*RESEARCH_STEPS) if s.open and s.iteration == view.iteration]
    return bool(_unopened(view)) or any(s.kind not in _OF_SOURCES or not view.is_slow(s) for s in still)


def is_worth_waiting(view: RunView) -> bool:
    """Tell whether research, with nothing else to do, waits for sources that are still open: a question may need them.

    A source that was fetched is waited for until the time is up, and so is any other while there is no evidence at all:
    no run ends for want of evidence with something left to look at. A source that cannot be had is no such thing, nor
    is a page that no browser takes up; with some evidence there, both are waited for as long as they are not slow.
    """
    left = [s for s in view.of_kind(*RESEARCH_STEPS) if s.open]
    if gate_passes(view) or not left:
        return False
    if any(s.kind in _OF_TEXTS for s in left) or any(not view.is_slow(s) for s in left):
        return True
    return not view.knowledge.evidence and any(s.kind is not _BROWSER for s in left)


def unread(view: RunView) -> frozenset[str]:
    """Return the sources of which a step was cancelled, and which no later one has searched for evidence."""
    steps = view.of_kind(*_OF_SOURCES)
    done = {s.subject for s in steps if s.kind is StepKind.EXTRACT and s.status is StepStatus.COMPLETED}
    return frozenset(s.subject for s in steps if s.status is StepStatus.CANCELLED) - done


def _ended_early(view: RunView) -> Advance | None:
    """Speak when research cannot go on: no model answers, a decision failed, time or a limit is used up."""
    steps = view.of_kind(*RESEARCH_STEPS)
    broken = [s for s in steps if _is_refused(s)]
    decision = _decision(view)
    undecided = decision is not None and decision.status is StepStatus.FAILED and out_of_budget([decision]) is None
    if undecided and decision is not None and decision.code not in _UNUSABLE:
        broken.append(decision)
    if broken:
        return failed_by(broken[0])
    late = out_of_time(view) or out_of_budget(steps) or (UNDECIDED if undecided else None)
    return _synthesize(view, late) if late is not None else None


def _is_refused(step: StepView) -> bool:
    """Tell whether the model's provider refuses every call, not only that on the text of this step."""
    return (step.code or "").startswith(MODEL_REFUSED) and step.code not in OF_ONE_TEXT


def _decide_step(view: RunView) -> NewStep:
    key = f"i{view.iteration:02}:decide"
    return NewStep(StepKind.DECIDE, key, view.iteration, key)


def _synthesize(view: RunView, reason: str) -> Advance:
    """Go on to writing; when no search of the run worked, tell the last one's error, which says what to do.

    Where no text got through to the model, the run fails instead: there is nothing to write, and a retry may work.
    """
    unread = _all_refused(view)
    if unread is not None:
        return failed_by(unread)
    searches = view.of_kind(StepKind.SEARCH)
    failed = searches and all(s.status is StepStatus.FAILED for s in searches)
    error = searches[-1].error if failed else None
    reason = PROVIDER_FAILURES if no_search_worked(view) else reason
    return Advance(RunStatus.SYNTHESIZING, reason, reason, error, cancel=RESEARCH_STEPS)


def _all_refused(view: RunView) -> StepView | None:
    """Return the first extraction where all of several came back unread from the model's provider: it is not a text."""
    extracts = [s for s in view.of_kind(StepKind.EXTRACT) if s.status is not StepStatus.CANCELLED]
    refused = [s for s in extracts if s.code in OF_ONE_TEXT]
    return refused[0] if len(refused) > 1 and len(refused) == len(extracts) else None


def _decision(view: RunView) -> StepView | None:
    """Return the step that decided what the current iteration does; the first iteration has none."""
    return next((s for s in view.of_kind(StepKind.DECIDE) if s.iteration == view.iteration), None)


def _asked_searches(view: RunView) -> tuple[Search, ...]:
    """Return all searches that the current iteration is to make, in order."""
    decision = _decision(view)
    if decision is None:
        return view.plan.searches if view.plan else ()
    actions = decision.result.get("actions", ())
    return tuple(
        Search(a["query"], tuple(a["question_ids"]), a["endpoint"], a["results"])
        for a in actions
        if a["action"] == "search"
    )


def _opened_searches(view: RunView) -> tuple[StepView, ...]:
    return tuple(s for s in view.of_kind(StepKind.SEARCH) if s.iteration == view.iteration)


def _next_searches(view: RunView) -> tuple[NewStep, ...]:
    """Open the next searches of the iteration, as far as the tier allows at once and in all."""
    opened = _opened_searches(view)
    free = view.limits.parallel_searches - sum(s.open for s in opened)
    room = max(min(free, view.limits.searches - view.usage.searches), 0)
    waiting = list(enumerate(_asked_searches(view), start=1))[len(opened) :]
    return tuple(
        NewStep(StepKind.SEARCH, f"i{view.iteration:02}:search:{n:02}", view.iteration, s.query, _search_inputs(s))
        for n, s in waiting[:room]
    )


def _search_inputs(search: Search) -> dict[str, Any]:
    return {
        "query": search.query,
        "question_ids": list(search.question_ids),
        "endpoint": search.endpoint,
        "results": search.results,
    }


def _next_reads(view: RunView) -> tuple[NewStep, ...]:
    """Open the next reads of the iteration; a source that an earlier epoch has read goes straight to extraction."""
    chosen = _unopened(view)
    queries = {s.key: s.subject for s in _opened_searches(view)} | {GIVEN: all_questions(view)}
    free = max(view.limits.parallel_reads - sum(s.open for s in view.of_kind(*READS)), 0)
    unread = [c for c in chosen if c.snapshot_sha256 is None][:free]
    again = [extract_again(view, c, queries[c.search_key]) for c in chosen if c.snapshot_sha256 is not None]
    return (*(read_step(view, c, queries[c.search_key]) for c in unread), *again)


def _unopened(view: RunView) -> tuple[Candidate, ...]:
    """Return the sources of the iteration for which there is no step yet."""
    reads = view.of_kind(StepKind.READ_SOURCE)
    opened = {s.subject for s in reads} | {s.subject for s in view.of_kind(StepKind.EXTRACT)}
    return tuple(c for c in _chosen_sources(view, reads) if c.source_id not in opened)


def _chosen_sources(view: RunView, reads: Sequence[StepView]) -> tuple[Candidate, ...]:
    """Return what the iteration reads: given sources at once, found ones when all of its searches have ended."""
    searches = _opened_searches(view)
    searching = any(s.open for s in searches) or bool(_next_searches(view))
    before = frozenset(s.subject for s in reads if s.iteration < view.iteration)
    left = view.limits.fetches - len(before)
    given = given_reads(view.candidates, before, left)
    taken = before | {c.source_id for c in given}
    room = reads_of_iteration(left - len(given))
    return (*given, *choose_reads([] if searching else [s.key for s in searches], view.candidates, taken, room))


def all_questions(view: RunView) -> str:
    """Return what a source is read for that no query found."""
    return " ".join(q.text for q in view.plan.questions) if view.plan else ""


def read_step(view: RunView, candidate: Candidate, query: str) -> NewStep:
    """Return the step that reads a source for the words that led to it."""
    inputs = {"source_id": candidate.source_id, "document_id": candidate.document_id, "query": query}
    key = f"{StepKind.READ_SOURCE}:{candidate.source_id}"
    return NewStep(StepKind.READ_SOURCE, key, view.iteration, candidate.source_id, inputs)


def extract_again(view: RunView, candidate: Candidate, query: str) -> NewStep:
    """Take a source that an earlier epoch has read straight to extraction: the questions may be others now."""
    inputs = {
        "source_id": candidate.source_id,
        "snapshot_sha256": candidate.snapshot_sha256,
        "name": candidate.title or candidate.source_id,
        "query": query,
    }
    key = f"{StepKind.EXTRACT}:{candidate.source_id}"
    return NewStep(StepKind.EXTRACT, key, view.iteration, candidate.source_id, inputs)


_UNUSABLE = OF_ONE_TEXT | {UNUSABLE_ANSWER}
"""Ends of a decision with which the run goes on: to writing, with what it has."""

_BROWSER = StepKind.READ_IN_BROWSER
_FOLLOWS = {
    (StepKind.READ_SOURCE, "next"): (StepKind.PARSE, ""),
    (StepKind.PARSE, "next"): (StepKind.EXTRACT, ""),
    (StepKind.PARSE, "browser"): (_BROWSER, ""),
    (_BROWSER, "next"): (StepKind.PARSE, ":browser"),
}
"""What a step's result may ask for, and the kind and the end of the key of the step that follows on it."""
_OF_TEXTS = frozenset({StepKind.PARSE, StepKind.EXTRACT})
"""What is done with a source that was fetched."""
_OF_SOURCES = READS | _OF_TEXTS


def follow_ups(view: RunView) -> tuple[NewStep, ...]:
    """Parse what was read and extract from what was parsed; a step's result says whether and with which inputs.

    A page that turned out to need its scripts is read once more, in a browser, and parsed again. What follows on a
    straggler belongs to the iteration that it has joined.
    """
    known = {s.key for s in view.steps}
    new = []
    for (before, asks), (kind, end) in _FOLLOWS.items():
        for step in view.of_kind(before):
            key = f"{kind}:{step.subject}{end}"
            if step.status is StepStatus.COMPLETED and asks in step.result and key not in known:
                new.append(NewStep(kind, key, view.iteration, step.subject, dict(step.result[asks])))
    return tuple(new)
