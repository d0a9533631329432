"""Planning and deciding with a model: it proposes, the rules dispose."""

from collections.abc import Iterator

from services.planner.brief import Brief
from services.planner.engines.extractive import about_contradictions, about_gaps
from services.planner.prompts import decide as deciding
from services.planner.prompts import plan as planning
from services.planner.proposals import plan_of
from services.planner.rules import Proposal, endpoints_of, spread
from shared.contracts.plan import Plan
from shared.domain.phases import Phase
from shared.ports.materials import RunFacts
from shared.ports.model import Model, ModelRequest

PLAN_TOKENS = 4000
DECIDE_TOKENS = 3000
DEADLINE_S = 100.0
"""Time for an answer and its repair; the step itself has a little more."""

UNKNOWN_QUESTION = "none"


class LlmPlanner:
    """See `services.planner.engines.PlannerEngine`."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def plan(self, facts: RunFacts) -> Plan:
        """Have a plan proposed for the run's request."""
        proposal = self._propose(planning.plan_input(_data(facts)))
        return plan_of(proposal, facts.request.objective, endpoints_of(facts.request.source_policy))

    def revise(self, facts: RunFacts, instruction: str) -> Plan:
        """Have the plan proposed again with a change that a person asked for."""
        before = facts.plan or self.plan(facts)
        proposal = self._propose(planning.revision_input(_data(facts), before, instruction))
        endpoints = endpoints_of(facts.request.source_policy)
        return plan_of(proposal, facts.request.objective, endpoints, before.questions)

    def decide(self, brief: Brief) -> tuple[Proposal, ...]:
        """Have searches proposed; without a gap there is nothing to ask.

        When the model has nothing to propose although a required question or a contradiction is open, the rules do.
        """
        if not _open(brief, required_only=False):
            return ()
        request = ModelRequest(
            phase=Phase.DECISION,
            instructions=deciding.INSTRUCTIONS,
            input=deciding.decision_input(brief),
            output=deciding.Decision,
            max_output_tokens=DECIDE_TOKENS,
            deadline_s=DEADLINE_S,
        )
        decision = self._model.ask(request).value
        proposals = tuple(_proposals(decision, brief))
        if proposals or not _open(brief, required_only=True):
            return proposals
        return spread((*about_contradictions(brief), *about_gaps(brief)), brief.endpoints)

    def _propose(self, data: str) -> planning.PlanProposal:
        request = ModelRequest(
            phase=Phase.PLANNER,
            instructions=planning.INSTRUCTIONS,
            input=data,
            output=planning.PlanProposal,
            max_output_tokens=PLAN_TOKENS,
            deadline_s=DEADLINE_S,
        )
        return self._model.ask(request).value


def _data(facts: RunFacts) -> planning.PlanData:
    """Return what the planner knows; "today" is the day of the request, so that a repeated call is the same call."""
    request = facts.request
    return planning.PlanData(
        objective=request.objective,
        today=facts.created_at.date().isoformat(),
        as_of=request.as_of,
        language=request.language,
        endpoints=endpoints_of(request.source_policy),
        effort=request.depth,
    )


def _open(brief: Brief, *, required_only: bool) -> bool:
    """Tell whether a question has no evidence or a contradiction was not followed up."""
    uncovered = (q for q in brief.plan.questions if q.id not in brief.covered)
    conflicts = (c for c in brief.contradictions if c.central or not required_only)
    return any(q.priority == "required" or not required_only for q in uncovered) or any(conflicts)


def _proposals(decision: deciding.Decision, brief: Brief) -> Iterator[Proposal]:
    """Turn places into ids; a place that there is not becomes an id that the rules refuse."""
    ids = {n: q.id for n, q in enumerate(brief.plan.questions, start=1)}
    for search in () if decision.finish else decision.searches:
        query = " ".join(search.query.split())[:1000]
        if query:
            asked = tuple(dict.fromkeys(ids.get(n, UNKNOWN_QUESTION) for n in search.questions)) or (UNKNOWN_QUESTION,)
            where = search.where if search.where in brief.endpoints else brief.endpoints[0]
            yield Proposal(query, asked, search.reason[:300], where)
