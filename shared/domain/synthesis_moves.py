"""The workflow while a run writes: outline, sections, their verification, the report."""

from collections.abc import Sequence

from shared.domain.moves import Advance, NewStep, failed_by
from shared.domain.states import SYNTHESIS_STEPS, RunStatus, StepKind, StepStatus
from shared.domain.stopping import NO_EVIDENCE, gate_passes, out_of_budget
from shared.domain.view import RunView, StepView


def synthesizing(view: RunView) -> Advance:
    """Return what comes next for a run that writes its report."""
    ended = [s for s in view.of_kind(*SYNTHESIS_STEPS) if s.status is StepStatus.FAILED]
    failed = next((s for s in ended if out_of_budget([s]) is None), None)
    if failed is not None:
        return failed_by(failed)
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
