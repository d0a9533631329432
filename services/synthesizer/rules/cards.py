"""How many cards a writer gets: as many as its input has room for, the least relevant left out first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.synthesizer.prompts.cards import card
from shared.contracts.evidence import Evidence, Source
from shared.domain.spending import BYTES_PER_TOKEN

CARDS_TOKENS = 16_000
"""Tokens that the cards of one section may take, by the bound that budgets reckon with."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The evidence that fits, in its order, and the ids of what was left out, least relevant first."""

    evidence: tuple[Evidence, ...]
    cut: tuple[str, ...]


def fitted(evidence: Sequence[Evidence], sources: Mapping[str, Source], most: int = CARDS_TOKENS) -> Fitted:
    """Return what fits into ``most`` tokens; among equally relevant pieces the later one goes first."""
    sizes = {e.evidence_id: tokens_of(card(n, e, sources)) for n, e in enumerate(evidence, start=1)}
    left = sum(sizes.values())
    cut: list[str] = []
    order = sorted(range(len(evidence)), key=lambda n: (evidence[n].relevance_bp, -n))
    for place in order:
        if left <= most:
            break
        cut.append(evidence[place].evidence_id)
        left -= sizes[evidence[place].evidence_id]
    gone = frozenset(cut)
    return Fitted(tuple(e for e in evidence if e.evidence_id not in gone), tuple(cut))


def tokens_of(text: str) -> int:
    """Return the most tokens that a text can be."""
    return -(-len(text.encode()) // BYTES_PER_TOKEN)
