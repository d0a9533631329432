"""Planning of the baseline: one question, one search at each place, and nothing after it. No model is asked."""

from services.planner.brief import Brief
from services.planner.rules import Proposal, endpoints_of
from shared.contracts.plan import Plan, PlannedSection, Question, SearchTask
from shared.ports.materials import RunFacts

RESULTS = 10


class BaselinePlanner:
    """See `services.planner.engines.PlannerEngine`. It exists to be compared with."""

    def plan(self, facts: RunFacts) -> Plan:
        """Ask the objective as it stands."""
        return self._plan(facts, facts.request.objective)

    def revise(self, facts: RunFacts, instruction: str) -> Plan:
        """Ask the objective with the instruction after it."""
        return self._plan(facts, f"{facts.request.objective} {instruction}")

    def decide(self, _: Brief) -> tuple[Proposal, ...]:
        """Finish after the first round."""
        return ()

    def _plan(self, facts: RunFacts, text: str) -> Plan:
        line = " ".join(text.split())
        question = Question(id="q1", text=line[:2000])
        query = line.strip(" ?？")[:1000] or line[:1000]
        return Plan(
            title=line[:120],
            objective=facts.request.objective,
            questions=(question,),
            search_tasks=tuple(
                SearchTask(question_ids=("q1",), query=query, endpoint=endpoint, result_count=RESULTS)
                for endpoint in endpoints_of(facts.request.source_policy)
            ),
            writing_plan=(PlannedSection(id="s1", title=line[:120], question_ids=("q1",)),),
            completion_criteria=("One round of searches was made.",),
        )
