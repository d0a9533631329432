"""Lexical ranking: Okapi BM25 over tokenized texts, and how much of a question a text answers to."""

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shared.domain.text import content_terms

K1 = 1.2
B = 0.75

TITLE_WEIGHT = 3
"""How many times a word of the title counts."""


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """What BM25 needs to know of a collection: texts, mean length in terms, and how many texts hold each term."""

    texts: int
    mean_length: float
    document_frequency: Mapping[str, int]

    def weight(self, term: str) -> float:
        """Return the term's inverse document frequency, ``ln(1 + (N - n + 0.5) / (n + 0.5))``, always positive.

        The form of Lucene's BM25Similarity, which keeps very common terms from weighing below zero.
        """
        n = self.document_frequency.get(term, 0)
        return math.log(1 + (self.texts - n + 0.5) / (n + 0.5))


def stats_of(texts: Sequence[Sequence[str]]) -> CorpusStats:
    """Count a collection of tokenized texts."""
    frequency: Counter[str] = Counter()
    for terms in texts:
        frequency.update(set(terms))
    mean = sum(map(len, texts)) / len(texts) if texts else 0.0
    return CorpusStats(len(texts), mean, dict(frequency))


def bm25(query: Sequence[str], terms: Sequence[str], stats: CorpusStats) -> float:
    """Score one tokenized text for a tokenized query (Robertson and Zaragoza 2009, k1 = 1.2, b = 0.75)."""
    counts = Counter(terms)
    length = K1 * (1 - B + B * len(terms) / (stats.mean_length or 1.0))
    return sum(
        stats.weight(term) * counts[term] * (K1 + 1) / (counts[term] + length) for term in set(query) if term in counts
    )


def coverage(query: Sequence[str], terms: Sequence[str], stats: CorpusStats) -> float:
    """Return which part of the query's weight the text holds, 0 to 1; 0 for a query without terms."""
    wanted = set(query)
    total = sum(stats.weight(term) for term in wanted)
    held = sum(stats.weight(term) for term in wanted & set(terms))
    return held / total if total else 0.0


def document_terms(title: str, text: str) -> list[str]:
    """Return the terms that a whole document is ranked by: those of its text, and those of its title three times.

    The simplest form of BM25F (Robertson, Zaragoza and Taylor 2004): one field repeated before the counting.
    """
    return content_terms(title) * TITLE_WEIGHT + content_terms(text)


class Ranking:
    """An inverted index over tokenized texts that are all in memory; gives the scores of `bm25`."""

    def __init__(self, texts: Iterable[tuple[str, Sequence[str]]]) -> None:
        self._names: list[str] = []
        lengths: list[int] = []
        self._holding: dict[str, list[tuple[int, int]]] = {}
        for place, (name, terms) in enumerate(texts):
            self._names.append(name)
            lengths.append(len(terms))
            for term, count in Counter(terms).items():
                self._holding.setdefault(term, []).append((place, count))
        mean = (sum(lengths) / len(lengths) if lengths else 0.0) or 1.0
        self._norms = [K1 * (1 - B + B * length / mean) for length in lengths]
        frequency = {term: len(holding) for term, holding in self._holding.items()}
        self._stats = CorpusStats(len(lengths), mean, frequency)

    def best(self, query: Sequence[str], limit: int) -> list[tuple[str, float]]:
        """Return name and score of the best texts, best first; equal scores in the order of the texts."""
        scores: dict[int, float] = {}
        for term in sorted(set(query)):
            weight = self._stats.weight(term) * (K1 + 1)
            for place, count in self._holding.get(term, ()):
                scores[place] = scores.get(place, 0.0) + weight * count / (count + self._norms[place])
        top = heapq.nsmallest(limit, scores.items(), key=lambda item: (-item[1], item[0]))
        return [(self._names[place], score) for place, score in top]
