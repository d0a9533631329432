"""What the gate may know of a run: its evidence, the texts it was cut from, its sources and its fetch log."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from shared.contracts.evidence import Evidence, Fetch, Source

CheckOutcome = Literal["pass", "partial", "fail", "unresolvable", "not_run"]


@dataclass(frozen=True, slots=True)
class Check:
    """What one check found; ``reasons`` are sentences for people, empty where it passed."""

    outcome: CheckOutcome
    reasons: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Tell whether the next check may be asked."""
        return self.outcome == "pass"


@dataclass(frozen=True, slots=True)
class GateContext:
    """The material of one run: evidence by id, snapshot texts by sha256, sources by id, fetches by source id.

    ``findings`` maps each finding that is already emitted to the evidence it rests on; analyses may build on them.
    """

    evidence: Mapping[str, Evidence]
    snapshots: Mapping[str, str]
    sources: Mapping[str, Source]
    fetches: Mapping[str, tuple[Fetch, ...]]
    findings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def cluster_of(self, evidence_id: str) -> str:
        """Return the independence cluster of the evidence's source; a source without one stands alone."""
        return cluster_of(self.sources[self.evidence[evidence_id].source_id])


def cluster_of(source: Source) -> str:
    """Return what a source counts as when sources are counted: its cluster, the source it copies, or itself."""
    return source.independence_cluster or source.duplicate_of or source.source_id


def gate_context(
    evidence: Iterable[Evidence],
    snapshots: Mapping[str, str],
    sources: Iterable[Source],
    fetches: Iterable[Fetch],
    findings: Mapping[str, tuple[str, ...]] | None = None,
) -> GateContext:
    """Index a run's rows for the gate."""
    by_source: dict[str, tuple[Fetch, ...]] = {}
    for fetch in fetches:
        if fetch.source_id is not None:
            by_source[fetch.source_id] = (*by_source.get(fetch.source_id, ()), fetch)
    return GateContext(
        {e.evidence_id: e for e in evidence},
        dict(snapshots),
        {s.source_id: s for s in sources},
        by_source,
        dict(findings or {}),
    )
