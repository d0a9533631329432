"""Passages: runs of neighbouring segments, the unit that the document index ranks."""

from collections.abc import Sequence

from shared.domain.rank import TITLE_WEIGHT
from shared.domain.text import terms

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
