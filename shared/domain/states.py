"""The life of a run and of a step: which statuses there are and how one follows another."""

from enum import StrEnum

from shared.domain.errors import IllegalTransition


class RunKind(StrEnum):
    """What a run is for."""

    RESEARCH = "research"
    INGEST = "ingest"
    REVERIFY = "reverify"
    CANCEL_JOB = "cancel_job"


class RunStatus(StrEnum):
    """Where a run stands."""

    CREATED = "created"
    PLANNING = "planning"
    AWAITING_PLAN_APPROVAL = "awaiting_plan_approval"
    QUEUED = "queued"
    RESEARCHING = "researching"
    SYNTHESIZING = "synthesizing"
    PAUSED = "paused"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"
    BUDGET_EXHAUSTED = "budget_exhausted"


class StepKind(StrEnum):
    """What a step does."""

    PLAN = "plan"
    REVISE_PLAN = "revise_plan"
    MANAGED = "managed"
    DECIDE = "decide"
    SEARCH = "search"
    READ_SOURCE = "read_source"
    READ_IN_BROWSER = "read_in_browser"
    PARSE = "parse"
    EXTRACT = "extract"
    OUTLINE = "outline"
    WRITE_SECTION = "write_section"
    VERIFY = "verify"
    ASSEMBLE = "assemble"
    REVERIFY = "reverify"
    CANCEL_JOB = "cancel_job"


class StepStatus(StrEnum):
    """Where a step stands."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Action(StrEnum):
    """What a person may do to a run."""

    APPROVE_PLAN = "approve_plan"
    EDIT_PLAN = "edit_plan"
    PAUSE = "pause"
    RESUME = "resume"
    REFINE = "refine"
    CANCEL = "cancel"
    RETRY = "retry"
    INCREASE_BUDGET = "increase_budget"


OPEN_STEP = frozenset({StepStatus.PENDING, StepStatus.RUNNING})
FINAL_RUN = frozenset({RunStatus.COMPLETED, RunStatus.CANCELLED, RunStatus.FAILED, RunStatus.BUDGET_EXHAUSTED})
RUNNING_RUN = frozenset({RunStatus.RESEARCHING, RunStatus.SYNTHESIZING})
WAITING_RUN = frozenset({RunStatus.AWAITING_PLAN_APPROVAL, RunStatus.PAUSED})
"""The statuses in which a run waits for a person."""

PLANNING_STEPS = frozenset({StepKind.PLAN, StepKind.REVISE_PLAN})
READS = frozenset({StepKind.READ_SOURCE, StepKind.READ_IN_BROWSER})
ACQUIRING = READS | {StepKind.PARSE}
"""The kinds of step without which a source has no text."""
RESEARCH_STEPS = READS | {StepKind.MANAGED, StepKind.DECIDE, StepKind.SEARCH, StepKind.PARSE, StepKind.EXTRACT}
SYNTHESIS_STEPS = frozenset({StepKind.OUTLINE, StepKind.WRITE_SECTION, StepKind.VERIFY, StepKind.ASSEMBLE})

CLAIMABLE: dict[RunKind, dict[RunStatus, frozenset[StepKind]]] = {
    RunKind.RESEARCH: {
        RunStatus.PLANNING: PLANNING_STEPS,
        RunStatus.RESEARCHING: RESEARCH_STEPS,
        RunStatus.SYNTHESIZING: SYNTHESIS_STEPS | (RESEARCH_STEPS - {StepKind.DECIDE, StepKind.MANAGED}),
    },
    RunKind.INGEST: {RunStatus.RESEARCHING: frozenset({StepKind.PARSE})},
    RunKind.REVERIFY: {RunStatus.SYNTHESIZING: frozenset({StepKind.REVERIFY})},
    RunKind.CANCEL_JOB: {RunStatus.RESEARCHING: frozenset({StepKind.CANCEL_JOB})},
}
"""The kinds of step that may run while a run of this kind has this status; none in any other."""

ACTIVE_RUN = frozenset(status for by_status in CLAIMABLE.values() for status in by_status)
"""The statuses in which a run has work for workers."""


def claimable(kind: RunKind, status: RunStatus) -> frozenset[StepKind]:
    """Return the kinds of step that may run now."""
    return CLAIMABLE[kind].get(status, frozenset())


_FORWARD: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.CREATED: frozenset({RunStatus.PLANNING, RunStatus.RESEARCHING, RunStatus.SYNTHESIZING}),
    RunStatus.PLANNING: frozenset({RunStatus.AWAITING_PLAN_APPROVAL, RunStatus.FAILED, RunStatus.BUDGET_EXHAUSTED}),
    RunStatus.AWAITING_PLAN_APPROVAL: frozenset({RunStatus.QUEUED, RunStatus.PLANNING}),
    RunStatus.QUEUED: frozenset({RunStatus.RESEARCHING, RunStatus.SYNTHESIZING, RunStatus.PLANNING}),
    RunStatus.RESEARCHING: frozenset(
        {RunStatus.SYNTHESIZING, RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.PLANNING}
    ),
    RunStatus.SYNTHESIZING: frozenset(
        {RunStatus.COMPLETED, RunStatus.BUDGET_EXHAUSTED, RunStatus.FAILED, RunStatus.PLANNING}
    ),
    RunStatus.PAUSED: frozenset(
        {
            RunStatus.PLANNING,
            RunStatus.AWAITING_PLAN_APPROVAL,
            RunStatus.QUEUED,
            RunStatus.RESEARCHING,
            RunStatus.SYNTHESIZING,
        }
    ),
    RunStatus.FAILED: frozenset({RunStatus.PLANNING, RunStatus.QUEUED}),
    RunStatus.BUDGET_EXHAUSTED: frozenset({RunStatus.QUEUED, RunStatus.PLANNING}),
}
"""How a run goes on, apart from pausing and cancelling, which every open run can; the last two are reopened."""

_ACTIONS: dict[RunStatus, tuple[Action, ...]] = {
    RunStatus.CREATED: (Action.PAUSE, Action.CANCEL),
    RunStatus.PLANNING: (Action.PAUSE, Action.CANCEL),
    RunStatus.AWAITING_PLAN_APPROVAL: (
        Action.APPROVE_PLAN,
        Action.EDIT_PLAN,
        Action.REFINE,
        Action.PAUSE,
        Action.CANCEL,
    ),
    RunStatus.QUEUED: (Action.PAUSE, Action.REFINE, Action.CANCEL),
    RunStatus.RESEARCHING: (Action.PAUSE, Action.REFINE, Action.CANCEL),
    RunStatus.SYNTHESIZING: (Action.PAUSE, Action.REFINE, Action.CANCEL),
    RunStatus.PAUSED: (Action.RESUME, Action.REFINE, Action.CANCEL),
    RunStatus.FAILED: (Action.RETRY,),
    RunStatus.BUDGET_EXHAUSTED: (Action.INCREASE_BUDGET,),
}


def is_final(status: RunStatus) -> bool:
    """Tell whether a run of this status has ended: its session is free and its stream closed."""
    return status in FINAL_RUN


def move(before: RunStatus, after: RunStatus) -> RunStatus:
    """Return ``after`` when a run may go there from ``before``; raise `IllegalTransition` otherwise."""
    stopping = after in (RunStatus.CANCELLED, RunStatus.PAUSED) and before not in FINAL_RUN and before != after
    if not stopping and after not in _FORWARD.get(before, frozenset()):
        raise IllegalTransition(before, after)
    return after


def allowed_actions(status: RunStatus) -> tuple[Action, ...]:
    """Return what a person may do to a run of this status, in the order in which to offer it."""
    return _ACTIONS.get(status, ())
