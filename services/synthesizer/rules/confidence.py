"""How sure a finding is, computed from its sources; no writer decides it."""

from collections.abc import Iterable, Mapping, Sequence

from services.synthesizer.gate.context import cluster_of
from shared.contracts.evidence import Contradiction, Evidence, Source
from shared.contracts.report import Confidence, ContradictionRow

_FIRST_HAND = frozenset({"own", "primary", "official"})
_WEAK = frozenset({"aggregator", "user_generated"})


def contested_evidence(contradictions: Iterable[Contradiction | ContradictionRow]) -> frozenset[str]:
    """Return the evidence that takes part in a contradiction that was not resolved."""
    return frozenset(i for c in contradictions if c.resolution == "unresolved" for i in c.evidence_ids)


def confidence_of(cited: Sequence[Evidence], sources: Mapping[str, Source], contested: frozenset[str]) -> Confidence:
    """Return the confidence of a finding.

    High: a primary or official source, or two independent ones, and nothing that contradicts it. Low: only aggregators
    or pages that users write, or contradicted without a first-hand source. Medium: everything else.
    """
    used = [sources[e.source_id] for e in cited if e.source_id in sources]
    first_hand = any(is_first_hand(s) for s in used)
    corroborated = first_hand or len({cluster_of(s) for s in used}) > 1
    disputed = any(e.evidence_id in contested for e in cited)
    if corroborated:
        return "medium" if disputed else "high"
    weak = all(s.source_class in _WEAK for s in used)
    return "low" if weak or disputed else "medium"


def is_first_hand(source: Source) -> bool:
    """Tell whether a source counts as primary: by its class, or because the user supplied it."""
    return source.kind == "document" or source.source_class in _FIRST_HAND
