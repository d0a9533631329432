"""Where the headings and pages of a snapshot stand in its text."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading: its level (1 is the highest), its words, and its code-point range in the text (end exclusive)."""

    level: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its number (from 1) and its code-point range in the text (end exclusive); start = end without text."""

    number: int
    start: int
    end: int


def nearest_heading(headings: Sequence[Heading], offset: int) -> Heading | None:
    """Return the last heading that starts at or before `offset`; `headings` are in text order."""
    index = bisect_right(headings, offset, key=lambda heading: heading.start)
    return headings[index - 1] if index else None


def page_at(pages: Sequence[Page], offset: int) -> Page | None:
    """Return the page that holds `offset`, or the one before where `offset` falls between two; pages are in order."""
    index = bisect_right(pages, offset, key=lambda page: page.start)
    while index and pages[index - 1].start == pages[index - 1].end and offset > pages[index - 1].end:
        index -= 1  # an empty page holds nothing beyond its own place
    return pages[index - 1] if index else None
