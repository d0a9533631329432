"""What an engine is told before it decides: coverage, the best evidence, contradictions, and what was searched."""

from dataclasses import dataclass

from shared.contracts.evidence import Contradiction, Evidence
from shared.contracts.plan import Plan


@dataclass(frozen=True, slots=True)
class Brief:
    """The state of a run between two iterations."""

    plan: Plan
    covered: frozenset[str]
    evidence: tuple[Evidence, ...]
    contradictions: tuple[Contradiction, ...]
    """Those that no search has followed up yet."""
    queries: tuple[str, ...]
