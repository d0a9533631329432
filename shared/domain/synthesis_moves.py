"""The workflow while a run writes: outline, sections, their verification, rounds of refinement, the report."""

from collections.abc import Sequence

from shared.domain.errors import OVER_BUDGET
from shared.domain.moves import RAISE_IT, Advance, NewStep, failed_by
from shared.domain.refinement_moves import brought, has_begun, may_begin, refines, searching, suffix_of, wanted_of
from shared.domain.states import RESEARCH_STEPS, SYNTHESIS_STEPS, RunStatus, StepKind, StepStatus
from shared.domain.stopping import NO_EVIDENCE, PROVIDER_FAILURES, gate_passes, no_search_worked, out_of_budget
from shared.domain.view import RunView, StepView


def synthesizing(view: RunView) -> Advance:
    """Return what comes next for a run that writes its report."""
    ended = [s for s in view.of_kind(*SYNTHESIS_STEPS) if s.status is StepStatus.FAILED and not refines(s)]
    failed = next((s for s in ended if out_of_budget([s]) is None), None)
    if failed is not None:
        return failed_by(failed)
    assemble = next(iter(view.of_kind(StepKind.ASSEMBLE)), None)
    if assemble is not None:
        return _assembled(view, assemble)
    if view.usage.elapsed_s >= view.limits.elapsed_s:
        cut = (SYNTHESIS_STEPS | RESEARCH_STEPS) - {StepKind.ASSEMBLE}
        return Advance(stop_reason="budget:elapsed_s", cancel=cut, steps=(_assemble_step(view, cut_short=True),))
    return _round(view, 0)


def _round(view: RunView, number: int) -> Advance:
    """Write what round ``number`` has found (0: what research has), then let the next one begin, or assemble."""
    outline = _outline_of(view, number)
    if outline is None:
        inputs = {"round": number} if number else {}
        step = NewStep(StepKind.OUTLINE, f"outline{suffix_of(number)}", view.iteration, "outline", inputs)
        return Advance(steps=(step,), cancel=RESEARCH_STEPS if number else frozenset())
    if outline.open:
        return Advance()
    unfinished = _sections(view, outline.result.get("sections", ()), number)
    return unfinished if unfinished is not None else _refined(view, number + 1)


def _refined(view: RunView, number: int) -> Advance:
    """Begin round ``number`` or go on with it, as far as the writers of the round before asked for it."""
    suffix = suffix_of(number - 1)
    writes = [s for s in view.of_kind(StepKind.WRITE_SECTION) if s.key == f"write:{s.subject}{suffix}"]
    wanted = wanted_of(writes)
    if _outline_of(view, number) is not None:
        return _round(view, number)
    if not wanted or not (has_begun(view, number) or may_begin(view, number)):
        return _finished(view)
    research = searching(view, number, wanted)
    if research is not None:
        return research
    return _round(view, number) if brought(view, number) else _finished(view)


def _outline_of(view: RunView, number: int) -> StepView | None:
    key = f"outline{suffix_of(number)}"
    return next((s for s in view.of_kind(StepKind.OUTLINE) if s.key == key), None)


def _finished(view: RunView) -> Advance:
    limit = _limit_reached(view)
    step = _assemble_step(view, cut_short=limit is not None)
    return Advance(stop_reason=limit, steps=(step,), cancel=RESEARCH_STEPS)


def _sections(view: RunView, sections: Sequence[str], number: int) -> Advance | None:
    """Write every section and verify each as soon as it is written; None when all are verified or out of budget."""
    by_key = {s.key: s for s in view.steps}
    suffix = suffix_of(number)
    new = []
    ended = 0
    for section in sections:
        write, verify = by_key.get(f"write:{section}{suffix}"), by_key.get(f"verify:{section}{suffix}")
        inputs = {"section_id": section, **({"round": number} if number else {})}
        if write is None:
            new.append(NewStep(StepKind.WRITE_SECTION, f"write:{section}{suffix}", view.iteration, section, inputs))
        elif write.status is StepStatus.COMPLETED and verify is None:
            new.append(NewStep(StepKind.VERIFY, f"verify:{section}{suffix}", view.iteration, section, inputs))
        elif write.status is StepStatus.FAILED or (verify is not None and not verify.open):
            ended += 1
    return Advance(steps=tuple(new)) if ended < len(sections) else None


def _limit_reached(view: RunView) -> str | None:
    """Return the limit that cut the synthesis short: it ended a step, or left some of a step's work undone."""
    steps = [s for s in view.of_kind(*SYNTHESIS_STEPS) if not refines(s)]
    stopped = (s.result.get("stopped") for s in steps if s.kind is StepKind.VERIFY)
    return out_of_budget(steps) or next((limit for limit in stopped if limit), None)


def _assemble_step(view: RunView, *, cut_short: bool) -> NewStep:
    whole = gate_passes(view) and not cut_short
    status = RunStatus.COMPLETED if whole else RunStatus.BUDGET_EXHAUSTED
    return NewStep(StepKind.ASSEMBLE, "assemble", view.iteration, "assemble", {"terminal_status": status.value})


def _assembled(view: RunView, step: StepView) -> Advance:
    if step.open:
        return Advance()
    if not step.result["findings"]:
        reason = PROVIDER_FAILURES if no_search_worked(view) else NO_EVIDENCE
        return Advance(RunStatus.BUDGET_EXHAUSTED, reason, reason, _limit_to_raise(view))
    return Advance(RunStatus(step.result["terminal_status"]), view.stop_reason)


def _limit_to_raise(view: RunView) -> str | None:
    """Return what to do where a limit is why nothing can be reported."""
    reason = view.stop_reason or ""
    if not reason.startswith(OVER_BUDGET):
        return None
    limit = reason.removeprefix(OVER_BUDGET)
    return f"Nothing could be reported within the run's limit on {limit}. {RAISE_IT}"
