"""Near-duplicates: sketches of word shingles, and clusters that do not depend on order.

A copy is a text most of whose shingles are another's (Jaccard similarity), or nearly all of which stand in another that
is not much longer (containment): the same article with a site's frame around it, or cut short. What holds many
unrelated texts is a collection and joins none of them.
"""

import heapq
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations, pairwise
from typing import Final

from shared.domain.text import UNSPACED

SHINGLE_WORDS: Final = 5
SKETCH_SIZE: Final = 256
THRESHOLD: Final = 0.8
"""Estimated Jaccard similarity of shingles from which two texts count as copies of each other."""
CONTAINMENT: Final = 0.8
"""Estimated share of the shorter text's shingles that stand in the longer one, from which it counts as its copy."""
MIN_SHARE: Final = 0.2
"""A text that makes up less than this of another is quoted there, not copied."""
MAIN_SHARE: Final = 0.6
"""A text that makes up at least this of another is what that other is about, whatever else it holds."""
MIN_SHINGLES: Final = 16
"""Shorter texts (about twenty words) stand in others by chance; they are copies only of what they resemble."""

MIN_PART: Final = 0.05
"""The least share at which a text counts as a part of another."""
MAX_PARTS: Final = 2
"""A text with more unrelated parts than this is a collection of them, no copy of any."""

_WORD = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")
_PRIME: Final = (1 << 61) - 1
_WEIGHTS: Final = (0x1B873593CC9E2D51, 0x0E6546B64C2B2AE3, 0x19D699A5FF51AFD7, 0x12B9B0A1D7C2F4E5, 0x0C4CEB9FE1A85EC5)
_WORD_BYTES: Final = 7
_MAX_HOLDERS: Final = 64
"""A shingle that more texts hold (a licence, a frame) is followed from text to text instead of between all pairs."""

Signature = tuple[int, ...]
"""The smallest shingle hashes of a text, ascending; all of them where there are fewer than `SKETCH_SIZE`."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """What two sketches say of their texts: similarity, and how much of the shorter one stands in the longer one.

    `share` is the shorter text's length as a part of the longer one's, in shingles; `first_is_longer` says which is.
    """

    similarity: float
    containment: float
    share: float
    first_is_longer: bool


def shingles(text: str) -> frozenset[int]:
    """Return the hashes of all runs of five words, case and punctuation apart; of all words for a shorter text.

    In scripts without spaces every character is a word. A hash is a polynomial over hashes of the words.
    """
    words = _WORD.findall(text.casefold())
    known = {word: _hash(word) for word in set(words)}
    hashes = [known[word] for word in words]
    width = min(SHINGLE_WORDS, len(hashes))
    if width < SHINGLE_WORDS:
        return frozenset({sum(map(int.__mul__, hashes, _WEIGHTS)) % _PRIME}) if hashes else frozenset()
    a, b, c, d, e = _WEIGHTS
    runs = zip(*(hashes[start:] for start in range(SHINGLE_WORDS)), strict=False)
    return frozenset((p * a + q * b + r * c + s * d + t * e) % _PRIME for p, q, r, s, t in runs)


def signature(text: str) -> Signature:
    """Return the MinHash sketch of a text: its 256 smallest shingle hashes (bottom-k, Broder 1997)."""
    return tuple(heapq.nsmallest(SKETCH_SIZE, shingles(text)))


def similarity(one: Signature, other: Signature) -> float:
    """Estimate the Jaccard similarity of two texts from their sketches, 0 to 1."""
    return overlap(one, other).similarity


def overlap(one: Signature, other: Signature) -> Overlap:
    """Compare two texts by the part of the hash range that both sketches cover in full.

    There a sketch is a plain sample of its text, so that shares of the samples estimate shares of the texts.
    """
    limit = min(_covered(one), _covered(other))
    first, second = set(one[: bisect_right(one, limit)]), set(other[: bisect_right(other, limit)])
    shorter, longer = sorted((len(first), len(second)))
    if not shorter:
        return Overlap(0.0, 0.0, 0.0, len(one) > len(other))
    common = len(first & second)
    similar = common / (shorter + longer - common)
    return Overlap(similar, common / shorter, shorter / longer, len(first) > len(second))


def clusters(signatures: Mapping[str, Signature], known: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """Map each id to the id that stands for its cluster: the smallest one in it.

    Copies of copies join one cluster, and so do the pairs that are `known` to be one. The result depends on the set of
    signatures and pairs alone, not on their order.
    """
    groups = _Groups(signatures)
    for one, other in known:
        groups.join(one, other)
    contained: dict[str, list[tuple[str, float]]] = {}
    for one, other in _pairs_to_compare(signatures):
        found = overlap(signatures[one], signatures[other])
        if found.similarity >= THRESHOLD:
            groups.join(one, other)
        elif _is_contained(found, signatures[one], signatures[other]):
            longer, shorter = (one, other) if found.first_is_longer else (other, one)
            contained.setdefault(longer, []).append((shorter, found.share))
    for longer in sorted(contained, key=lambda key: (_length(signatures[key]), key)):
        is_collection = groups.count([shorter for shorter, _ in contained[longer]]) > MAX_PARTS
        least = MAIN_SHARE if is_collection else MIN_SHARE
        for shorter in [shorter for shorter, share in contained[longer] if share >= least]:
            groups.join(longer, shorter)
    return {key: groups.root(key) for key in signatures}


class _Groups:
    """Disjoint sets of ids; each is named by its smallest member."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._parent = {key: key for key in keys}

    def root(self, key: str) -> str:
        """Return the name of the set that holds `key`."""
        parent = self._parent
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    def join(self, one: str, other: str) -> None:
        """Make the sets of two ids one."""
        first, second = sorted((self.root(one), self.root(other)))
        self._parent[second] = first

    def count(self, keys: Sequence[str]) -> int:
        """Return how many sets hold these ids."""
        return len({self.root(key) for key in keys})


def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=_WORD_BYTES).digest(), "big")


def _covered(sketch: Signature) -> int:
    """Return up to which hash a sketch is complete."""
    return sketch[-1] if len(sketch) == SKETCH_SIZE else _PRIME


def _length(sketch: Signature) -> float:
    """Estimate how many shingles a text has."""
    return len(sketch) if len(sketch) < SKETCH_SIZE else (SKETCH_SIZE - 1) * _PRIME / sketch[-1]


def _is_contained(found: Overlap, one: Signature, other: Signature) -> bool:
    """Tell whether the shorter of two texts is the longer one without its surroundings, or cut short."""
    long_enough = min(len(one), len(other)) >= MIN_SHINGLES
    return long_enough and found.containment >= CONTAINMENT and found.share >= MIN_PART


def _pairs_to_compare(signatures: Mapping[str, Signature]) -> list[tuple[str, str]]:
    """Return the pairs that share enough hashes to be worth comparing, found through an inverted index."""
    same: dict[Signature, list[str]] = {}
    for key in sorted(signatures):
        same.setdefault(signatures[key], []).append(key)
    same.pop((), None)
    holders: dict[int, list[str]] = {}
    for sketch, keys in same.items():
        for value in sketch:
            holders.setdefault(value, []).append(keys[0])
    shared = Counter(pair for keys in holders.values() for pair in _pairs(keys))
    twins = [pair for keys in same.values() for pair in pairwise(keys)]
    return sorted([*twins, *(pair for pair, count in shared.items() if count >= _least_common(*pair, signatures))])


def _pairs(keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield all pairs of a few ids, neighbours of many."""
    return combinations(keys, 2) if len(keys) <= _MAX_HOLDERS else pairwise(keys)


def _least_common(one: str, other: str, signatures: Mapping[str, Signature]) -> float:
    """Return how many hashes two sketches must share before one text can be the other's copy.

    Of a text that is twenty times as long only a twentieth of the other's sample is comparable; half of what the rules
    ask for leaves room for chance.
    """
    return 0.5 * CONTAINMENT * MIN_PART * min(len(signatures[one]), len(signatures[other]))
