"""Lexical ranking: Okapi BM25 over tokenized texts, and how much of a question a text answers to."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

K1 = 1.2
B = 0.75


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
