"""Citation numbers: one for each source and place, in the order of first use."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cited:
    """A piece of evidence as the numbering sees it; ``place`` tells locators of one source apart (page, section)."""

    evidence_id: str
    source_id: str
    place: str


@dataclass(frozen=True, slots=True)
class Numbered:
    """One numbered citation and the evidence that it stands for."""

    number: int
    source_id: str
    evidence_ids: tuple[str, ...]


def number_citations(cited: Iterable[Cited]) -> tuple[Numbered, ...]:
    """Number evidence from 1 in the order of its first use; the same source and place share a number."""
    groups: dict[tuple[str, str], dict[str, None]] = {}
    for item in cited:
        groups.setdefault((item.source_id, item.place), {})[item.evidence_id] = None
    return tuple(Numbered(n, source, tuple(ids)) for n, ((source, _), ids) in enumerate(groups.items(), start=1))
