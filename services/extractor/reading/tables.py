"""Tables as rows that stand alone: each value carries the name of its column."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml.etree import SubElement, _Element

from services.extractor.reading.markup import inline_text, tag_of
from shared.domain.segments import ROW_SEPARATOR

_ROWS = frozenset(("tr", "row"))
_CELLS = frozenset(("td", "th", "cell"))
_GROUPS = frozenset(("thead", "tbody", "tfoot"))
_BLOCKS_IN_CELL = frozenset(("table", "h1", "h2", "h3", "h4", "h5", "h6", "head", "article", "section", "form", "nav"))
_MAX_CELL = 1_500
_MAX_SPAN = 100
_MAX_COLUMNS = 200
_MAX_HEADER = 80
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Cell:
    """The words of one cell, and whether it is marked as a header."""

    text: str
    header: bool


Grid = list[list[Cell]]
_Pending = dict[int, tuple[Cell, int]]  # by column: what a rowspan above still puts there, and how often
_EMPTY = Cell("", False)


def rows(table: _Element) -> list[str] | None:
    """Return one line a row, or None where the table only lays out a page (or is too small to have columns).

    A line is "Column: value | Column: value"; without column names "value | value". Empty cells are left out.
    """
    if (table.get("role") or "") in ("presentation", "none") or _lays_out(table):
        return None
    grid = _grid(table)
    if _is_folded(grid):
        return [row[0].text for row in grid]
    if not _holds_data(grid):
        return None
    names, body = _split_header(grid)
    if not body:
        return [_line(row, []) for row in grid]
    return [line for line in (_line(row, names) for row in body) if line]


def _is_folded(grid: Grid) -> bool:
    """Tell whether `fold_tables` made these rows."""
    return all(len(row) == 1 for row in grid) and any(ROW_SEPARATOR in row[0].text for row in grid)


def _holds_data(grid: Grid) -> bool:
    """Tell whether there are rows and columns, and no cell is as long as a text."""
    if len(grid) < 2 or max(map(len, grid)) < 2:
        return False
    return all(len(cell.text) <= _MAX_CELL for row in grid for cell in row)


def fold_tables(tree: _Element) -> None:
    """Replace, in place, the rows of every data table by rows of one cell that holds the row's line.

    What picks the main content copies tables cell by cell and loses spans, captions and groups of headers; a folded
    table comes through whole. Tables of links are left alone, so that they are recognised as navigation.
    """
    for table in list(tree.iter("table")):
        lines = rows(table)
        if lines is None or not any(ROW_SEPARATOR in line for line in lines) or _is_link_table(table):
            continue
        captions = [inline_text(node) for node in table if tag_of(node) == "caption"]
        del table[:]
        table.text = None
        for line in (*filter(None, captions), *lines):
            SubElement(SubElement(table, "tr"), "td").text = line


def _is_link_table(table: _Element) -> bool:
    """Tell whether most words of a table are links."""
    linked = sum(len(inline_text(node)) for node in table.iter("a"))
    return linked > len(inline_text(table)) / 2


def _lays_out(table: _Element) -> bool:
    """Tell whether cells hold what only a page layout puts there."""
    return any(node is not table and tag_of(node) in _BLOCKS_IN_CELL for node in table.iter())


def _table_rows(table: _Element) -> Iterator[_Element]:
    """Yield the rows of a table that has no tables inside."""
    for node in table.iter():
        if tag_of(node) in _ROWS:
            yield node


def _span(cell: _Element, name: str) -> int:
    """Return a colspan or rowspan, between 1 and 100."""
    value = cell.get(name) or ""
    return max(1, min(int(value), _MAX_SPAN)) if value.isascii() and value.isdecimal() else 1


def _grid(table: _Element) -> Grid:
    """Return the cells by row and column; a cell over several rows stands in each, a header in each of its columns."""
    grid: Grid = []
    pending: _Pending = {}
    for row in _table_rows(table):
        parent = row.getparent()
        line = _grid_row(row, pending, in_head=parent is not None and tag_of(parent) == "thead")
        if any(cell.text for cell in line):
            grid.append(line)
    return grid


def _grid_row(row: _Element, pending: _Pending, *, in_head: bool) -> list[Cell]:
    """Return the cells of one row by column, and note in `pending` what reaches down into the next rows."""
    line: list[Cell] = []
    for node in row:
        if tag_of(node) not in _CELLS:
            continue
        _fill_pending(line, pending)
        header = in_head or tag_of(node) == "th" or node.get("role") == "head"
        cell = Cell(inline_text(node), header)
        down = _span(node, "rowspan")
        for extra in range(min(_span(node, "colspan"), _MAX_COLUMNS - len(line))):
            placed = cell if extra == 0 or header else _EMPTY
            if down > 1:
                pending[len(line)] = (placed, down - 1)
            line.append(placed)
    _fill_pending(line, pending)
    return line


def _fill_pending(line: list[Cell], pending: _Pending) -> None:
    """Put into the next columns what cells of the rows above reach down into."""
    while (held := pending.pop(len(line), None)) is not None:
        cell, left = held
        if left > 1:
            pending[len(line)] = (cell, left - 1)
        line.append(cell)


def _split_header(grid: Grid) -> tuple[list[str], Grid]:
    """Return the column names and the rows below them."""
    height = 0
    while height < len(grid) and all(cell.header or not cell.text for cell in grid[height]):
        height += 1
    if height == 0 and _first_row_names(grid):
        height = 1
    width = max(map(len, grid))
    names = [_name([row[column].text for row in grid[:height] if column < len(row)]) for column in range(width)]
    return names, grid[height:]


def _name(parts: list[str]) -> str:
    """Join the header cells above one column, each once; a name too long to repeat in every row counts as none."""
    name = " ".join(dict.fromkeys(part for part in parts if part))
    return name if len(name) <= _MAX_HEADER else ""


def _first_row_names(grid: Grid) -> bool:
    """Guess that an unmarked first row names the columns: it has only words, and below it stand mostly figures."""
    if any(cell.header for row in grid for cell in row):
        return False
    first, rest = grid[0], grid[1:]
    if not all(cell.text and not _DIGIT.search(cell.text) for cell in first):
        return False
    values = [cell.text for row in rest for cell in row[1:] if cell.text]
    return len(rest) >= 2 and bool(values) and sum(1 for value in values if _DIGIT.search(value)) > len(values) / 2


def _line(row: list[Cell], names: list[str]) -> str:
    """Return one row as a line."""
    parts: list[str] = []
    for column, cell in enumerate(row):
        if not cell.text or (column and cell is row[column - 1]):
            continue
        name = names[column] if column < len(names) else ""
        parts.append(f"{name.rstrip(':')}: {cell.text}" if name and name != cell.text else cell.text)
    return ROW_SEPARATOR.join(parts)
