"""The planner's part of each engine: how to make a plan and how to decide what comes next."""

from typing import Protocol

from services.planner.engines.brief import Brief
from services.planner.engines.extractive import ExtractivePlanner
from services.planner.rules import Proposal
from shared.contracts.plan import Plan
from shared.domain.errors import Permanent
from shared.ports.materials import RunFacts


class PlannerEngine(Protocol):
    """Answers the questions "plan" and "decide"."""

    def plan(self, facts: RunFacts) -> Plan:
        """Propose a plan for the run's request."""
        ...

    def decide(self, brief: Brief) -> tuple[Proposal, ...]:
        """Propose what to search for next, best first; nothing means to finish."""
        ...


def planner_engines() -> dict[str, PlannerEngine]:
    """Return the engines that there are, by name."""
    return {"extractive": ExtractivePlanner()}


def engine_of(engines: dict[str, PlannerEngine], name: str) -> PlannerEngine:
    """Return the engine of this name; raise `Permanent` with the known names."""
    try:
        return engines[name]
    except KeyError:
        detail = f"There is no engine {name}; this worker has: {', '.join(sorted(engines))}."
        raise Permanent("unknown_engine", detail) from None
