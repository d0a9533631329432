"""Passages: runs of neighbouring segments, the unit that the document index ranks."""

from collections.abc import Iterable, Sequence

from shared.domain.rank import TITLE_WEIGHT, CorpusStats, stats_of
from shared.domain.text import content_terms, terms

PASSAGE_CHARS = 800
"""A passage ends with the segment that makes it at least this long."""


def passages(segments: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Group (start, end) segments into (start, end) passages of about 800 characters; none overlaps another."""
    found: list[tuple[int, int]] = []
    start: int | None = None
    for first, last in segments:
        start = first if start is None else start
        if last - start >= PASSAGE_CHARS:
            found.append((start, last))
            start = None
    if start is not None:
        found.append((start, segments[-1][1]))
    return tuple(found)


def passage_terms(title: str, text: str) -> list[str]:
    """Return the terms that a passage is ranked by: its own, and those of its document's title three times.

    A title says what every passage of its document is about. The form of BM25F that `rank.document_terms` has.
    """
    return terms(title) * TITLE_WEIGHT + terms(text)


def stats_of_texts(texts: Iterable[tuple[str, Sequence[tuple[int, int]]]], most_chars: int) -> CorpusStats:
    """Count the content terms of texts, given with their segments, by passage; of each its first ``most_chars``.

    For runs over the web: what they have read is all the collection there is.
    """
    found: list[list[str]] = []
    for text, segments in texts:
        read = [segment for segment in segments if segment[1] <= most_chars]
        found += (content_terms(text[start:end]) for start, end in passages(read))
    return stats_of(found)
