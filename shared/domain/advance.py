"""The workflow: from what a run is to what comes next. There is no other place that decides."""

from collections.abc import Callable

from shared.domain.budget import research_deadline_s
from shared.domain.managed_moves import managed_research, waits_for_provider
from shared.domain.moves import Advance, NewStep, failed_by, over_budget
from shared.domain.research_moves import researching, straggler_wake_s
from shared.domain.states import RESEARCH_STEPS, WAITING_RUN, RunKind, RunStatus, StepKind, StepStatus
from shared.domain.stopping import EXPIRED, FINISHED, out_of_budget
from shared.domain.synthesis_moves import synthesizing
from shared.domain.view import Knowledge, RunView


def advance(view: RunView) -> Advance:
    """Return what comes next for the run."""
    if view.status in WAITING_RUN and _expired(view):
        return Advance(RunStatus.CANCELLED, EXPIRED, EXPIRED, cancel=frozenset(StepKind))
    if view.kind in _UNPLANNED:
        return _unplanned(view)
    return _RULES.get(view.status, _nothing)(view)


def wake_in_s(view: RunView) -> float | None:
    """Return the seconds after which time alone makes a difference to the run, or None."""
    if view.status in WAITING_RUN:
        return 0.0 if view.wait_limit_s is None else max(view.wait_limit_s - view.waited_s, 0.0)
    if view.kind is RunKind.RESEARCH and view.status is RunStatus.RESEARCHING:
        if view.managed and waits_for_provider(view):
            return None
        return max(min(research_deadline_s(view.limits) - view.usage.elapsed_s, straggler_wake_s(view)), 0.0)
    if view.kind is RunKind.RESEARCH and view.status is RunStatus.SYNTHESIZING:
        if view.of_kind(StepKind.ASSEMBLE):
            return None
        reading = any(s.open for s in view.of_kind(*RESEARCH_STEPS))
        wait = straggler_wake_s(view) if reading else view.limits.elapsed_s
        return max(min(view.limits.elapsed_s - view.usage.elapsed_s, wait), 0.0)
    return None


def gained(before: Knowledge, after: Knowledge) -> bool:
    """Tell whether an iteration brought new evidence, coverage, a new source class or settled a contradiction."""
    return (
        after.evidence > before.evidence
        or bool(after.covered - before.covered)
        or after.source_classes > before.source_classes
        or after.open_contradictions < before.open_contradictions
    )


def _expired(view: RunView) -> bool:
    return view.wait_limit_s is not None and view.waited_s >= view.wait_limit_s


def _nothing(_: RunView) -> Advance:
    return Advance()


def _created(_: RunView) -> Advance:
    return Advance(status=RunStatus.PLANNING, steps=(NewStep(StepKind.PLAN, "plan", 0, "plan"),))


def _planning(view: RunView) -> Advance:
    for step in view.of_kind(StepKind.REVISE_PLAN) or view.of_kind(StepKind.PLAN):
        if step.status is StepStatus.FAILED:
            limit = out_of_budget([step])
            return failed_by(step) if limit is None else over_budget(step, limit)
        if step.status is StepStatus.COMPLETED and view.plan is not None:
            return Advance(status=RunStatus.AWAITING_PLAN_APPROVAL)
    return Advance()


def _awaiting(view: RunView) -> Advance:
    return Advance(status=RunStatus.QUEUED, reason="auto_approve") if view.auto_approve else Advance()


def _queued(view: RunView) -> Advance:
    return Advance(status=RunStatus.RESEARCHING) if view.may_start else Advance()


def _researching(view: RunView) -> Advance:
    return managed_research(view) if view.managed else researching(view)


def _unplanned(view: RunView) -> Advance:
    """Do the steps that came with the run; it fails when none of them worked."""
    working, kind = _UNPLANNED[view.kind]
    if view.status in (RunStatus.CREATED, RunStatus.QUEUED):
        return Advance(status=working)
    counts = view.unplanned
    if view.status is not working or counts.open:
        return Advance()
    if counts.failed and not counts.completed:
        return Advance(RunStatus.FAILED, f"failed:{kind}", f"failed:{kind}", counts.first_error)
    return Advance(RunStatus.COMPLETED, FINISHED, FINISHED)


_UNPLANNED: dict[RunKind, tuple[RunStatus, StepKind]] = {
    RunKind.INGEST: (RunStatus.RESEARCHING, StepKind.PARSE),
    RunKind.REVERIFY: (RunStatus.SYNTHESIZING, StepKind.REVERIFY),
    RunKind.CANCEL_JOB: (RunStatus.RESEARCHING, StepKind.CANCEL_JOB),
}
"""Runs without a plan: the status in which they work, and the kind of their steps."""


_RULES: dict[RunStatus, Callable[[RunView], Advance]] = {
    RunStatus.CREATED: _created,
    RunStatus.PLANNING: _planning,
    RunStatus.AWAITING_PLAN_APPROVAL: _awaiting,
    RunStatus.QUEUED: _queued,
    RunStatus.RESEARCHING: _researching,
    RunStatus.SYNTHESIZING: synthesizing,
}
