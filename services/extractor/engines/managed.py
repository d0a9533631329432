"""Extraction for a provider's report: the spans of a page that may bear out the sentences which cite it.

A span is chosen by how much of a sentence's term weight it holds (inverse document frequency within the page). Whether
it supports the sentence is for the gate alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from services.extractor.engines.spans import ExtractRequest, Picked, looked_at
from shared.domain.evidence import gives_orders
from shared.domain.rank import CorpusStats, stats_of
from shared.domain.text import content_terms
from shared.ports.cpu import Cpu, CpuLimits

PICKS_PER_CLAIM = 3
"""Spans of one page that are kept for one sentence."""

LEAST_SHARE = 0.35
"""Share of a sentence's weight that its best span must hold."""

LEAST_GAIN = 0.12
"""Share of a sentence's weight that a further span must add."""

SHORTEST_SEGMENT_TERMS = 3

EXTRACT_LIMITS = CpuLimits(wall_s=90, cpu_s=60, memory_bytes=2_000_000_000)


@dataclass(frozen=True, slots=True)
class _Segment:
    number: int
    terms: frozenset[str]


class ManagedExtraction:
    """See `services.extractor.engines.ExtractEngine`; the matching runs in a limited subprocess."""

    def __init__(self, cpu: Cpu) -> None:
        self._cpu = cpu

    def extract(self, request: ExtractRequest) -> tuple[Picked, ...]:
        """Return the spans that may bear out the sentences which cite this page."""
        return self._cpu.run(spans_of_claims, request, limits=EXTRACT_LIMITS)

    def most_chars(self, request: ExtractRequest) -> int:
        """Return how many characters of a long page are looked at."""
        return request.max_chars


def spans_of_claims(request: ExtractRequest) -> tuple[Picked, ...]:
    """Return the spans for each sentence that cites the page, the one that holds most of it first."""
    told = {number: content_terms(_text(request, number)) for number in sorted(looked_at(request))}
    stats = stats_of(list(told.values()))
    segments = [
        _Segment(number, frozenset(terms))
        for number, terms in told.items()
        if len(terms) >= SHORTEST_SEGMENT_TERMS and not gives_orders(_text(request, number))
    ]
    picked: dict[tuple[str, int], Picked] = {}
    for question_id, sentence in request.claims:
        for pick in _picked(question_id, frozenset(content_terms(sentence)), segments, stats):
            key = (pick.question_id, pick.segment_start)
            picked[key] = max(picked.get(key, pick), pick, key=lambda p: p.relevance)
    return tuple(picked.values())


def _text(request: ExtractRequest, number: int) -> str:
    start, end = request.segments[number]
    return request.text[start:end]


def _picked(
    question_id: str, wanted: frozenset[str], segments: Sequence[_Segment], stats: CorpusStats
) -> Iterator[Picked]:
    """Yield the span that holds most of what is wanted, then those that hold most of what is left."""
    weights = {term: stats.weight(term) for term in wanted}
    whole = fsum(weights.values())
    bearing = [s for s in segments if not wanted.isdisjoint(s.terms)]
    left, held = wanted, 0.0

    def gain(segment: _Segment) -> float:
        return fsum(weights[term] for term in left & segment.terms) / whole

    for place in range(PICKS_PER_CLAIM if bearing and whole else 0):
        best = max(bearing, key=lambda s: (gain(s), -s.number))
        gained = gain(best)
        if gained < (LEAST_GAIN if place else LEAST_SHARE):
            return
        held, left = held + gained, left - best.terms
        yield Picked(question_id, best.number, best.number + 1, min(held, 1.0))
