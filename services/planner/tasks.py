"""Which handler answers which kind of step."""

from services.planner import handlers
from shared.domain.states import StepKind

TASKS = {
    StepKind.PLAN: handlers.plan,
    StepKind.REVISE_PLAN: handlers.revise_plan,
    StepKind.MANAGED: handlers.managed,
    StepKind.DECIDE: handlers.decide,
    StepKind.CANCEL_JOB: handlers.cancel_job,
}
