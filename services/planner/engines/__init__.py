"""The planner's part of each engine: how to make a plan and how to decide what comes next."""

from collections.abc import Callable, Mapping
from typing import Protocol

from services.planner.brief import Brief
from services.planner.engines.baseline import BaselinePlanner
from services.planner.engines.extractive import ExtractivePlanner
from services.planner.engines.llm import LlmPlanner
from services.planner.engines.managed import ManagedPlanner
from services.planner.rules import Proposal
from shared.contracts.plan import Plan
from shared.domain.engines import MANAGED
from shared.domain.errors import Permanent
from shared.ports.materials import RunFacts
from shared.ports.model import Model


class PlannerEngine(Protocol):
    """Answers the questions "plan" and "decide"."""

    def plan(self, facts: RunFacts) -> Plan:
        """Propose a plan for the run's request."""
        ...

    def revise(self, facts: RunFacts, instruction: str) -> Plan:
        """Propose the run's plan changed as a person asked for."""
        ...

    def decide(self, brief: Brief) -> tuple[Proposal, ...]:
        """Propose what to search for next, best first; nothing means to finish."""
        ...


ENGINES: Mapping[str, Callable[[Model], PlannerEngine]] = {
    "baseline": lambda _: BaselinePlanner(),
    "extractive": lambda _: ExtractivePlanner(),
    "llm": LlmPlanner,
    **dict.fromkeys(MANAGED, lambda _: ManagedPlanner()),
}
"""The engines that there are, by name; each is made with the model that it may ask."""


def engine_of(name: str, model: Model) -> PlannerEngine:
    """Return the engine of this name; raise `Permanent` with the known names."""
    try:
        return ENGINES[name](model)
    except KeyError:
        detail = f"There is no engine {name}; this worker has: {', '.join(sorted(ENGINES))}."
        raise Permanent("unknown_engine", detail) from None
