"""Rows of a sheet as lines that stand alone: each value carries the name of its column, each line its cells."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from services.extractor.reading.blocks import Block
from shared.domain.segments import ROW_SEPARATOR

MAX_NAME = 80
"""A longer text does not name a column."""
_YEAR = re.compile(r"(?:1[5-9]|2[01])\d\d")
ValueKind = Literal["text", "number", "date"]


@dataclass(frozen=True, slots=True)
class Value:
    """What one cell shows, in which column (from 1), whether it is text, a figure or a date, and how wide it is."""

    column: int
    text: str
    kind: ValueKind
    width: int = 1
    """How many columns a merged cell reaches over."""


@dataclass(frozen=True, slots=True)
class SheetRow:
    """The cells of one row that hold anything, from left to right; the row's number counts from 1."""

    number: int
    values: Sequence[Value]


def row_blocks(rows: Iterable[SheetRow]) -> Iterator[Block]:
    """Yield one block a row, "Column: value | Column: value"; rows that name columns go into the lines below them.

    A row names columns where a table begins (after an empty row, a title, or at the top) if it holds only labels, and
    the row below it is part of the same table. Two such rows, the upper one with gaps, name groups of columns.
    """
    table = _Table()
    for row, below in _with_next(row for row in rows if row.values):
        yield from table.take(row, below)
    yield from table.unused()


def _with_next(rows: Iterable[SheetRow]) -> Iterator[tuple[SheetRow, SheetRow | None]]:
    """Yield each row with the one right below it, None where that is empty or the sheet ends."""
    before: SheetRow | None = None
    for row in rows:
        if before is not None:
            yield before, row if row.number == before.number + 1 else None
        before = row
    if before is not None:
        yield before, None


class _Table:
    """The column names in force while a sheet is read downwards."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._groups: dict[int, str] | None = None  # the upper of two rows of names, when the lower one is next
        self._headers: list[SheetRow] = []  # rows of names that no row has used yet
        self._begins = True
        self._last = 0

    def take(self, row: SheetRow, below: SheetRow | None) -> Iterator[Block]:
        """Yield the block of a row, unless it names columns."""
        apart = row.number > self._last + 1
        self._begins = self._begins or apart
        self._last = row.number
        if self._groups is not None:
            self._take_lower_names(self._groups, row, below)
            return
        if apart:
            yield from self.unused()
        if below is not None and self._take_names(row, below):
            return
        names = self._names if len(row.values) > 1 or not self._begins else {}
        # Titles, and lines with less in them than the one below, stand above a table.
        is_above = len(row.values) == 1 or (below is not None and len(below.values) > len(row.values))
        self._begins = self._begins and is_above
        self._headers.clear()
        yield _block(row, names, opens=apart)

    def _take_lower_names(self, groups: dict[int, str], row: SheetRow, below: SheetRow | None) -> None:
        """Take the row below one that names groups: the names of columns, or of smaller groups."""
        self._headers.append(row)
        if below is not None and any(value.width > 1 for value in row.values) and _are_groups(row, below):
            self._groups = _joined_names(groups, _spread(row, below))
            return
        self._names = _joined_names(groups, {value.column: value.text for value in row.values})
        self._groups, self._begins = None, False

    def _take_names(self, row: SheetRow, below: SheetRow) -> bool:
        """Take a row that names columns; tell whether it does."""
        if not (self._begins and (_are_labels(row, below) or _reaches_over_some(row, below))):
            return False
        if _are_groups(row, below):
            self._groups = _spread(row, below)
        elif self._names_columns(row, below):
            self._names = {value.column: value.text for value in row.values}
            self._begins = False
        else:
            return False
        self._headers.append(row)
        return True

    def unused(self) -> Iterator[Block]:
        """Yield the rows of names below which no row came: they are the table."""
        for header in self._headers:
            yield _block(header, {}, opens=header is self._headers[0])
        self._headers.clear()

    def _names_columns(self, row: SheetRow, below: SheetRow) -> bool:
        """Tell whether a row of labels names the columns of the row below it."""
        if len(below.values) > len(row.values) + 1 and _are_labels(below, None):
            return False  # a line such as "Source | Harbour office" above the names themselves
        has_figures = any(value.kind != "text" for value in below.values)
        return has_figures or not self._names


def _are_labels(row: SheetRow, below: SheetRow | None) -> bool:
    """Tell whether a row holds nothing but short words, years and dates; years alone head their columns."""
    if len(row.values) < 2 or not all(_is_label(value) for value in row.values):
        return False
    return any(value.kind == "text" for value in row.values) or (
        below is not None and below.values[0].column < row.values[0].column
    )


def _is_label(value: Value) -> bool:
    """Tell whether a cell can name a column."""
    if value.kind == "number":
        return _YEAR.fullmatch(value.text) is not None
    return len(value.text) <= MAX_NAME


def _are_groups(row: SheetRow, below: SheetRow) -> bool:
    """Tell whether a row names groups of the columns that the row below it names."""
    if any(_heads_several(value, below) for value in row.values):
        return _are_labels(below, row)
    columns = [value.column for value in row.values]
    width = columns[-1] + row.values[-1].width - columns[0]
    return len(below.values) > len(columns) and width > len(columns) and _are_labels(below, row)


def _heads_several(value: Value, below: SheetRow) -> bool:
    """Tell whether a merged cell reaches over several cells of the row below it."""
    return sum(value.column <= inner.column < value.column + value.width for inner in below.values) > 1


def _reaches_over_some(row: SheetRow, below: SheetRow) -> bool:
    """Tell whether a row holds one merged cell that reaches over some of the columns below it, and not over all."""
    value = row.values[0]
    if len(row.values) != 1 or value.width < 2 or not _is_label(value):
        return False
    if any(inner.width > 1 for inner in below.values):
        return True
    last = value.column + value.width - 1
    return below.values[0].column < value.column or below.values[-1].column > last


def _spread(row: SheetRow, below: SheetRow) -> dict[int, str]:
    """Return the group of each column: a merged name reaches over its cells, in a row without such to the next one."""
    starts = {value.column: value for value in row.values}
    is_merged = any(value.width > 1 for value in row.values)
    spread: dict[int, str] = {}
    group, end = "", 0
    for column in range(min(starts), max(value.column + value.width for value in below.values)):
        if column in starts:
            group, end = starts[column].text, column + starts[column].width
        spread[column] = group if column < end or not is_merged else ""
    return spread


def _joined_names(groups: Mapping[int, str], own: Mapping[int, str]) -> dict[int, str]:
    """Return the names of columns below the names of their groups, each name once."""
    joined = {
        column: name if groups.get(column, "") in ("", name) else f"{groups[column]} {name}".strip()
        for column, name in own.items()
    }
    return {column: name for column, name in groups.items() if column not in own} | joined


def _block(row: SheetRow, names: Mapping[int, str], *, opens: bool) -> Block:
    """Return the line of a row."""
    parts = []
    for value in row.values:
        name = names.get(value.column, "").rstrip(": ")
        parts.append(f"{name}: {value.text}" if name and name != value.text else value.text)
    cells = (row.number, row.values[0].column, row.values[-1].column)
    return Block("row", ROW_SEPARATOR.join(parts), opens=opens, cells=cells)
