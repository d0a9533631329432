"""Third check, as the extractive engine makes it: a statement is supported when its very words stand in its excerpts.

Both sides are compared after `shared.domain.excerpts.folded` (invisible characters, white space, quotes and dashes).
The words have to begin and end where sentences of the excerpt do: a clause cut out of one may say the opposite.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from shared.domain.excerpts import folded
from shared.domain.segments import segment

VERIFIER = "containment"
VERIFIER_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Support:
    """The verdict, and the citations that the statement needs: at least one for each of its sentences.

    A further excerpt with the same words stays only where its source is independent of those before it.
    """

    verdict: Literal["supported", "partially_supported", "unsupported"]
    evidence_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Words:
    """The folded sentences of an excerpt in a row, and where each begins and ends."""

    text: str
    starts: frozenset[int]
    ends: frozenset[int]

    def hold(self, wanted: str) -> bool:
        """Tell whether the words stand here as one or more whole sentences."""
        at = self.text.find(wanted)
        while at >= 0:
            if at in self.starts and at + len(wanted) in self.ends:
                return True
            at = self.text.find(wanted, at + 1)
        return False


def check_support(text: str, excerpts: Mapping[str, str], clusters: Mapping[str, str]) -> Support:
    """Compare a statement with its excerpts; ``clusters`` has the independence cluster of each, by evidence id."""
    words = {evidence_id: _words(excerpt) for evidence_id, excerpt in excerpts.items()}
    whole = folded(text)
    if whole and any(w.hold(whole) for w in words.values()):
        return Support("supported", _needed([whole], words, clusters))
    sentences = [folded(text[s.start : s.end]) for s in segment(text)]
    held = [s for s in sentences if any(w.hold(s) for w in words.values())]
    if held and len(held) == len(sentences):
        return Support("supported", _needed(sentences, words, clusters))
    return Support("partially_supported" if held else "unsupported", tuple(excerpts))


def _words(excerpt: str) -> _Words:
    parts: list[str] = []
    starts, ends, length = set(), set(), 0
    for span in segment(excerpt):
        sentence = folded(excerpt[span.start : span.end])
        starts.add(length)
        ends.add(length + len(sentence))
        length += len(sentence) + 1
        parts.append(sentence)
    return _Words(" ".join(parts), frozenset(starts), frozenset(ends))


def _needed(sentences: Sequence[str], words: Mapping[str, _Words], clusters: Mapping[str, str]) -> tuple[str, ...]:
    """Return the evidence that adds a sentence, or an independent source for one; asking again changes nothing."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for evidence_id, held in words.items():
        adds = {(s, clusters[evidence_id]) for s in sentences if held.hold(s)} - seen
        if adds:
            seen |= adds
            kept.append(evidence_id)
    return tuple(kept)
