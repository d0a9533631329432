"""What an engine is told before it decides: coverage, the best evidence, contradictions, and what was searched."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from services.planner.rules import Rejected
from shared.contracts.evidence import Contradiction, Evidence, Source
from shared.contracts.plan import Plan
from shared.domain.rank import CorpusStats

NOTHING_COUNTED = CorpusStats(0, 0.0, {})


@dataclass(frozen=True, slots=True)
class Brief:
    """The state of a run between two iterations."""

    plan: Plan
    covered: frozenset[str]
    evidence: tuple[Evidence, ...]
    contradictions: tuple[Contradiction, ...]
    """Those that no search has followed up yet."""
    queries: tuple[str, ...]
    sources: Mapping[str, Source] = field(default_factory=dict)
    rejected: tuple[Rejected, ...] = ()
    """Proposals of earlier decisions that were not followed."""
    endpoints: tuple[str, ...] = ("documents",)
    searches_left: int = 0
    stats: CorpusStats = NOTHING_COUNTED
    """How common the terms of the questions and of the names in the evidence are in the library."""
    as_of: str = ""
    """The date that the run is relative to, ISO 8601."""
