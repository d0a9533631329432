"""Which handler answers which kind of step."""

from services.planner import handlers
from shared.domain.states import StepKind

TASKS = {
    StepKind.PLAN: handlers.plan,
    StepKind.REVISE_PLAN: handlers.revise_plan,
    StepKind.DECIDE: handlers.decide,
}
