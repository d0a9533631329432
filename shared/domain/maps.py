"""Where the headings, pages, parts and table rows of a snapshot stand in its text."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

PartKind = Literal["sheet", "slide", "chapter", "cell", "message", "attachment", "time"]


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


@dataclass(frozen=True, slots=True)
class Part:
    """A named part of a file: its kind, name, number (from 1) and code-point range (end exclusive)."""

    kind: PartKind
    name: str
    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a sheet: where its text starts, its number, and its first and last column (all from 1)."""

    start: int
    number: int
    first: int
    last: int


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


def part_at(parts: Sequence[Part], offset: int) -> Part | None:
    """Return the part that holds `offset`, or the one before where `offset` falls between two; parts are in order."""
    index = bisect_right(parts, offset, key=lambda part: part.start)
    while index and parts[index - 1].start == parts[index - 1].end:
        index -= 1  # an empty part holds nothing
    return parts[index - 1] if index else None


def cells_at(rows: Sequence[Row], start: int, end: int, since: int = 0) -> str | None:
    """Return the cells that the text from `start` to `end` comes from, as "B7" or "A7:F9".

    `rows` are in text order, those of one sheet after those of another; `since` is where the sheet begins.
    """
    first = bisect_right(rows, start, key=lambda row: row.start) - 1
    if first < 0 or rows[first].start < since:
        first += 1  # the text before the first row: the sheet's name
    touched = rows[first : bisect_right(rows, max(start, end - 1), key=lambda row: row.start)]
    if not touched:
        return None
    corner = f"{column_name(min(row.first for row in touched))}{touched[0].number}"
    opposite = f"{column_name(max(row.last for row in touched))}{touched[-1].number}"
    return corner if corner == opposite else f"{corner}:{opposite}"


def column_name(number: int) -> str:
    """Return the letters of a column: A for 1, Z for 26, AA for 27."""
    letters = ""
    while number > 0:
        number, place = divmod(number - 1, 26)
        letters = chr(ord("A") + place) + letters
    return letters
