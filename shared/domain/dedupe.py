"""Near-duplicates: sketches of word shingles, and clusters that do not depend on order."""

import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Mapping
from itertools import combinations

SHINGLE_WORDS = 5
SKETCH_SIZE = 256
THRESHOLD = 0.8
"""Estimated Jaccard similarity of shingles from which two texts count as copies of each other."""

_WORD = re.compile(r"\w+")

Signature = tuple[int, ...]
"""The smallest shingle hashes of a text, ascending."""


def shingles(text: str) -> frozenset[int]:
    """Return the hashes of all runs of five words, case and punctuation apart; of all words for a shorter text."""
    words = _WORD.findall(text.casefold())
    width = min(SHINGLE_WORDS, len(words)) or 1
    runs = {" ".join(words[i : i + width]) for i in range(len(words) - width + 1)}
    return frozenset(int.from_bytes(hashlib.blake2b(r.encode(), digest_size=7).digest(), "big") for r in runs if r)


def signature(text: str) -> Signature:
    """Return the MinHash sketch of a text: its 256 smallest shingle hashes (bottom-k, Broder 1997)."""
    return tuple(heapq.nsmallest(SKETCH_SIZE, shingles(text)))


def similarity(one: Signature, other: Signature) -> float:
    """Estimate the Jaccard similarity of two texts from their sketches, 0 to 1."""
    if not one or not other:
        return 0.0
    union = heapq.nsmallest(SKETCH_SIZE, set(one) | set(other))
    return len(set(union) & set(one) & set(other)) / len(union)


def clusters(signatures: Mapping[str, Signature], threshold: float = THRESHOLD) -> dict[str, str]:
    """Map each id to the id that stands for its cluster: the smallest one in it.

    Copies of copies join one cluster. The result depends on the set of signatures alone, not on their order.
    """
    parent = {key: key for key in signatures}

    def root(key: str) -> str:
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    for one, other in _pairs_to_compare(signatures, threshold):
        if similarity(signatures[one], signatures[other]) >= threshold:
            first, second = sorted((root(one), root(other)))
            parent[second] = first
    return {key: root(key) for key in signatures}


def _pairs_to_compare(signatures: Mapping[str, Signature], threshold: float) -> list[tuple[str, str]]:
    """Return the pairs that share enough hashes to be worth comparing, found through an inverted index."""
    holders: dict[int, list[str]] = {}
    for key in sorted(signatures):
        for value in signatures[key]:
            holders.setdefault(value, []).append(key)
    shared: Counter[tuple[str, str]] = Counter()
    for keys in holders.values():
        shared.update(combinations(keys, 2))
    return sorted(
        pair
        for pair, count in shared.items()
        if count >= threshold * 0.5 * min(len(signatures[pair[0]]), len(signatures[pair[1]]))
    )
