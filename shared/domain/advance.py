"""The workflow: from what a run is to what comes next. There is no other place that decides."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.domain.budget import research_deadline_s
from shared.domain.errors import MODEL_REFUSED
from shared.domain.selection import GIVEN, choose_reads, given_reads, reads_of_iteration
from shared.domain.states import RESEARCH_STEPS, SYNTHESIS_STEPS, RunKind, RunStatus, StepKind, StepStatus
from shared.domain.stopping import FINISHED, NO_EVIDENCE, gate_passes, out_of_budget, out_of_time, stop_reason
from shared.domain.view import Candidate, Knowledge, RunView, Search, StepView


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


def advance(view: RunView) -> Advance:
    """Return what comes next for the run."""
    if view.kind is RunKind.INGEST:
        return _ingest(view)
    return _RULES.get(view.status, _nothing)(view)


def wake_in_s(view: RunView) -> float | None:
    """Return the seconds after which time alone makes a difference to the run, or None."""
    if view.kind is RunKind.RESEARCH and view.status is RunStatus.RESEARCHING:
        return max(research_deadline_s(view.limits) - view.usage.elapsed_s, 0.0)
    if view.kind is RunKind.RESEARCH and view.status is RunStatus.SYNTHESIZING:
        return max(view.limits.elapsed_s - view.usage.elapsed_s, 0.0) if not view.of_kind(StepKind.ASSEMBLE) else None
    return None


def gained(before: Knowledge, after: Knowledge) -> bool:
    """Tell whether an iteration brought new evidence, coverage, a new source class or settled a contradiction."""
    return (
        after.evidence > before.evidence
        or bool(after.covered - before.covered)
        or after.source_classes > before.source_classes
        or after.open_contradictions < before.open_contradictions
    )


def _nothing(_: RunView) -> Advance:
    return Advance()


def _created(_: RunView) -> Advance:
    return Advance(status=RunStatus.PLANNING, steps=(NewStep(StepKind.PLAN, "plan", 0, "plan"),))


def _planning(view: RunView) -> Advance:
    for step in view.of_kind(StepKind.REVISE_PLAN) or view.of_kind(StepKind.PLAN):
        if step.status is StepStatus.FAILED:
            return _fail(step)
        if step.status is StepStatus.COMPLETED and view.plan is not None:
            return Advance(status=RunStatus.AWAITING_PLAN_APPROVAL)
    return Advance()


def _awaiting(view: RunView) -> Advance:
    return Advance(status=RunStatus.QUEUED, reason="auto_approve") if view.auto_approve else Advance()


def _queued(view: RunView) -> Advance:
    return Advance(status=RunStatus.RESEARCHING) if view.may_start else Advance()


def _fail(step: StepView) -> Advance:
    reason = f"failed:{step.kind}"
    return Advance(RunStatus.FAILED, reason, reason, step.error, cancel=RESEARCH_STEPS | SYNTHESIS_STEPS)


# --- research -------------------------------------------------------------------------------------------------


def _researching(view: RunView) -> Advance:
    refused = next((s for s in view.of_kind(*RESEARCH_STEPS) if (s.code or "").startswith(MODEL_REFUSED)), None)
    if refused is not None:
        return _fail(refused)
    late = out_of_time(view) or out_of_budget(view.of_kind(*RESEARCH_STEPS))
    if late is not None:
        return _synthesize(late)
    if view.iteration == 0:
        return Advance(iteration=1)
    decision = _decision(view)
    if decision is None and view.iteration > 1:
        return Advance(steps=(_decide_step(view),))
    if decision is not None and decision.status is StepStatus.FAILED:
        return _fail(decision)
    new = (*_next_searches(view), *_next_reads(view), *_follow_ups(view))
    if new or any(s.open for s in view.of_kind(*RESEARCH_STEPS)):
        return Advance(steps=new)
    if len(view.gains) < view.iteration and (decision is None or decision.result.get("actions")):
        return Advance(finished=True)
    reason = stop_reason(view)
    if reason is not None:
        return _synthesize(reason)
    return Advance(iteration=view.iteration + 1)


def _decide_step(view: RunView) -> NewStep:
    key = f"i{view.iteration:02}:decide"
    return NewStep(StepKind.DECIDE, key, view.iteration, key)


def _synthesize(reason: str) -> Advance:
    return Advance(RunStatus.SYNTHESIZING, reason, reason, cancel=RESEARCH_STEPS)


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
    """Open the next reads of the iteration: given sources at once, found ones when all of its searches have ended."""
    searches = _opened_searches(view)
    searching = any(s.open for s in searches) or _next_searches(view)
    reads = view.of_kind(StepKind.READ_SOURCE)
    before = frozenset(s.subject for s in reads if s.iteration < view.iteration)
    left = view.limits.fetches - len(before)
    given = given_reads(view.candidates, before, left)
    taken = before | {c.source_id for c in given}
    room = reads_of_iteration(left - len(given))
    found = choose_reads([] if searching else [s.key for s in searches], view.candidates, taken, room)
    chosen = (*given, *found)
    opened = {s.subject for s in reads}
    queries = {s.key: s.subject for s in searches} | {GIVEN: _all_questions(view)}
    free = max(view.limits.parallel_reads - sum(s.open for s in reads), 0)
    read_before = [c for c in chosen if c.snapshot_sha256 is not None and c.source_id not in opened]
    waiting = [c for c in chosen if c.snapshot_sha256 is None and c.source_id not in opened]
    reading = [_read_step(view, c, queries[c.search_key]) for c in waiting[:free]]
    known = {s.key for s in view.steps}
    extracting = [_extract_again(view, c, queries[c.search_key]) for c in read_before]
    return (*reading, *(s for s in extracting if s.key not in known))


def _all_questions(view: RunView) -> str:
    """Return what a source is read for that no query found."""
    return " ".join(q.text for q in view.plan.questions) if view.plan else ""


def _read_step(view: RunView, candidate: Candidate, query: str) -> NewStep:
    inputs = {"source_id": candidate.source_id, "document_id": candidate.document_id, "query": query}
    key = f"{StepKind.READ_SOURCE}:{candidate.source_id}"
    return NewStep(StepKind.READ_SOURCE, key, view.iteration, candidate.source_id, inputs)


def _extract_again(view: RunView, candidate: Candidate, query: str) -> NewStep:
    """Take a source that an earlier epoch has read straight to extraction: the questions may be others now."""
    inputs = {
        "source_id": candidate.source_id,
        "snapshot_sha256": candidate.snapshot_sha256,
        "name": candidate.title or candidate.source_id,
        "query": query,
    }
    key = f"{StepKind.EXTRACT}:{candidate.source_id}"
    return NewStep(StepKind.EXTRACT, key, view.iteration, candidate.source_id, inputs)


_FOLLOWS = {StepKind.READ_SOURCE: StepKind.PARSE, StepKind.PARSE: StepKind.EXTRACT}


def _follow_ups(view: RunView) -> tuple[NewStep, ...]:
    """Parse what was read and extract from what was parsed; a step's result says whether and with which inputs."""
    known = {s.key for s in view.steps}
    new = []
    for step in view.of_kind(*_FOLLOWS):
        kind = _FOLLOWS[step.kind]
        key = f"{kind}:{step.subject}"
        if step.status is StepStatus.COMPLETED and "next" in step.result and key not in known:
            new.append(NewStep(kind, key, step.iteration, step.subject, dict(step.result["next"])))
    return tuple(new)


# --- synthesis ------------------------------------------------------------------------------------------------


def _synthesizing(view: RunView) -> Advance:
    ended = [s for s in view.of_kind(*SYNTHESIS_STEPS) if s.status is StepStatus.FAILED]
    failed = next((s for s in ended if out_of_budget([s]) is None), None)
    if failed is not None:
        return _fail(failed)
    assemble = next(iter(view.of_kind(StepKind.ASSEMBLE)), None)
    if assemble is not None:
        return _assembled(view, assemble)
    if view.usage.elapsed_s >= view.limits.elapsed_s:
        cut = SYNTHESIS_STEPS - {StepKind.ASSEMBLE}
        return Advance(stop_reason="budget:elapsed_s", cancel=cut, steps=(_assemble_step(view, cut_short=True),))
    outline = next(iter(view.of_kind(StepKind.OUTLINE)), None)
    if outline is None:
        return Advance(steps=(NewStep(StepKind.OUTLINE, "outline", view.iteration, "outline"),))
    if outline.open:
        return Advance()
    return _sections(view, outline.result.get("sections", ()))


def _sections(view: RunView, sections: Sequence[str]) -> Advance:
    """Write every section, verify each as soon as it is written, assemble when all are verified or out of budget."""
    by_key = {s.key: s for s in view.steps}
    new = []
    ended = 0
    for section in sections:
        write, verify = by_key.get(f"write:{section}"), by_key.get(f"verify:{section}")
        inputs = {"section_id": section}
        if write is None:
            new.append(NewStep(StepKind.WRITE_SECTION, f"write:{section}", view.iteration, section, inputs))
        elif write.status is StepStatus.COMPLETED and verify is None:
            new.append(NewStep(StepKind.VERIFY, f"verify:{section}", view.iteration, section, inputs))
        elif write.status is StepStatus.FAILED or (verify is not None and not verify.open):
            ended += 1
    if ended < len(sections):
        return Advance(steps=tuple(new))
    limit = _limit_reached(view)
    return Advance(stop_reason=limit, steps=(_assemble_step(view, cut_short=limit is not None),))


def _limit_reached(view: RunView) -> str | None:
    """Return the limit that cut the synthesis short: it ended a step, or left some of a step's work undone."""
    stopped = (s.result.get("stopped") for s in view.of_kind(StepKind.VERIFY))
    return out_of_budget(view.of_kind(*SYNTHESIS_STEPS)) or next((limit for limit in stopped if limit), None)


def _assemble_step(view: RunView, *, cut_short: bool) -> NewStep:
    whole = gate_passes(view) and not cut_short
    status = RunStatus.COMPLETED if whole else RunStatus.BUDGET_EXHAUSTED
    return NewStep(StepKind.ASSEMBLE, "assemble", view.iteration, "assemble", {"terminal_status": status.value})


def _assembled(view: RunView, step: StepView) -> Advance:
    if step.open:
        return Advance()
    if not step.result["findings"]:
        return Advance(RunStatus.BUDGET_EXHAUSTED, NO_EVIDENCE, NO_EVIDENCE)
    return Advance(RunStatus(step.result["terminal_status"]), view.stop_reason)


# --- ingest ---------------------------------------------------------------------------------------------------


def _ingest(view: RunView) -> Advance:
    if view.status is RunStatus.CREATED:
        return Advance(status=RunStatus.RESEARCHING)
    counts = view.ingest
    if view.status is not RunStatus.RESEARCHING or counts.open:
        return Advance()
    if counts.failed and not counts.completed:
        return Advance(RunStatus.FAILED, "failed:parse", "failed:parse", counts.first_error)
    return Advance(RunStatus.COMPLETED, FINISHED, FINISHED)


_RULES: dict[RunStatus, Callable[[RunView], Advance]] = {
    RunStatus.CREATED: _created,
    RunStatus.PLANNING: _planning,
    RunStatus.AWAITING_PLAN_APPROVAL: _awaiting,
    RunStatus.QUEUED: _queued,
    RunStatus.RESEARCHING: _researching,
    RunStatus.SYNTHESIZING: _synthesizing,
}
