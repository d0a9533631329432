"""Planning where a provider's own job researches: the questions of the plan, and no search of ours."""

from services.planner.brief import Brief
from services.planner.engines.extractive import ExtractivePlanner
from services.planner.rules import Proposal
from shared.contracts.plan import Plan
from shared.ports.materials import RunFacts


class ManagedPlanner:
    """See `services.planner.engines.PlannerEngine`. Questions are split by rule, so that each has its section."""

    def __init__(self) -> None:
        self._rules = ExtractivePlanner()

    def plan(self, facts: RunFacts) -> Plan:
        """Make one question and one section of each part of the objective."""
        return _without_searches(self._rules.plan(facts))

    def revise(self, facts: RunFacts, instruction: str) -> Plan:
        """Add what the instruction asks as further questions."""
        return _without_searches(self._rules.revise(facts, instruction))

    def decide(self, _: Brief) -> tuple[Proposal, ...]:
        """Propose nothing: the provider searches by itself."""
        return ()


def _without_searches(plan: Plan) -> Plan:
    criteria = ("Every question has a sentence of the provider's report that a page read by this run supports.",)
    return plan.model_copy(update={"search_tasks": (), "completion_criteria": criteria})
