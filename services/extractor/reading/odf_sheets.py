"""Sheets of an OpenDocument workbook to rows that stand alone."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation

from lxml.etree import Element, _Element

from services.extractor.reading.blocks import Block, squeeze
from services.extractor.reading.formulas import Content, Place, Sheet, from_open_document, without_value, worked_out
from services.extractor.reading.odf_styles import Looks, style_of
from services.extractor.reading.odf_text import repeated, write_text
from services.extractor.reading.result import Unreadable
from services.extractor.reading.rows import SheetRow, Value, ValueKind, row_blocks
from services.extractor.reading.xml import attribute, local

MAX_CELLS = 2_000_000
MAX_SHEETS = 1_000
_MAX_COLUMN = 16_384
_MAX_ROW = 1_048_576
_MAX_REPEATED_ROWS = 1_000  # of a row that holds anything
_MAX_REPEATED_CELLS = 1_000
_GROUPS = frozenset(("table-header-rows", "table-rows", "table-row-group"))


@dataclass(slots=True)
class Sheets:
    """The blocks of all visible sheets, their names, and sentences about what was left out."""

    blocks: list[Block] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


def sheets_of(body: _Element, looks: Looks) -> Sheets:
    """Read the sheets; those that are hidden are only counted."""
    made = Sheets()
    hidden, done, lost, left = 0, 0, 0, MAX_CELLS
    for table in (node for node in body if local(node) == "table"):
        if style_of(table, looks).table_hidden:
            hidden += 1
            continue
        if len(made.names) >= MAX_SHEETS:
            raise Unreadable("too_large", f"The workbook has more than {MAX_SHEETS:,} sheets.")
        made.names.append(squeeze(attribute(table, "name") or "")[:100])
        rows, worked = _with_formulas(list(_rows(table, looks)))
        done += worked
        lost += sum(value.text.startswith("=") for row in rows for value in row.values)
        left -= sum(len(row.values) for row in rows)
        if left < 0:
            raise Unreadable("too_large", f"The workbook has more than {MAX_CELLS:,} cells.")
        _add_blocks(made, rows)
    made.told += _told(done, lost, hidden)
    return made


def _told(done: int, lost: int, hidden: int) -> Iterator[str]:
    """Yield sentences about formulas that were worked out, those that could not be, and hidden sheets."""
    if done:
        yield worked_out(done)
    if lost:
        yield without_value(lost)
    if hidden:
        yield f"{hidden} hidden sheet{'s' * (hidden > 1)} left out."


def _add_blocks(made: Sheets, rows: list[SheetRow]) -> None:
    """Add the rows of the sheet that was named last, below its name."""
    number, name = len(made.names), made.names[-1]
    for place, block in enumerate(row_blocks(rows)):
        if place == 0 and name:
            made.blocks.append(Block("heading", name, 1, page=number))
        opens = block.opens or place == 0
        made.blocks.append(Block(block.kind, block.text, opens=opens, page=number, cells=block.cells))


def _with_formulas(rows: list[SheetRow]) -> tuple[list[SheetRow], int]:
    """Return the rows with the simple ones of their formulas worked out, and how many were."""
    if not any(value.text.startswith("=") for row in rows for value in row.values):
        return rows, 0
    cells: dict[Place, Content] = {(row.number, v.column): _content(v) for row in rows for v in row.values}
    sheet, done = Sheet(cells), 0
    made: list[SheetRow] = []
    for row in rows:
        values: list[Value] = []
        for value in row.values:
            result = sheet.value(value.text[1:]) if value.text.startswith("=") else None
            done += result is not None
            values.append(value if result is None else replace(value, text=_plain(str(result), 0), kind="number"))
        made.append(SheetRow(row.number, values))
    return made, done


def _content(value: Value) -> Content:
    """Return what a formula finds in a cell."""
    if value.text.startswith("=") or value.kind != "number":
        return value.text if value.text.startswith("=") else " "
    try:
        figure = Decimal(value.text.removesuffix("%"))
    except InvalidOperation:
        return " "
    return figure / 100 if value.text.endswith("%") else figure


def _table_rows(table: _Element) -> Iterator[_Element]:
    for node in table:
        if local(node) == "table-row":
            yield node
        elif local(node) in _GROUPS:
            yield from _table_rows(node)


def _rows(table: _Element, looks: Looks) -> Iterator[SheetRow]:
    """Yield the rows that hold anything; a repeated empty row only moves the number."""
    number = 1
    reaching: dict[int, tuple[Value, int]] = {}  # by column: what a merged cell shows in how many rows below it
    for node in _table_rows(table):
        values = list(_values(node, looks, reaching))
        count = repeated(node, "number-rows-repeated", _MAX_ROW)
        for place in range(min(count, _MAX_REPEATED_ROWS) if values else 0):
            yield SheetRow(number + place, values)
        number += count
        if number > _MAX_ROW * 2:
            return


def _values(row: _Element, looks: Looks, reaching: dict[int, tuple[Value, int]]) -> Iterator[Value]:
    """Yield the cells of a row that show anything, and those merged from above; note what reaches further down."""
    column = 1
    for cell in row:
        if local(cell) not in ("table-cell", "covered-table-cell"):
            continue
        count = repeated(cell, "number-columns-repeated", _MAX_COLUMN)
        text, kind = _shown(cell, looks)
        width, height = (repeated(cell, f"number-{name}-spanned", _MAX_COLUMN) for name in ("columns", "rows"))
        if text:
            for place in range(min(count, _MAX_REPEATED_CELLS)):
                value = Value(column + place, text, kind, width)
                if height > 1:
                    reaching[column] = (value, height - 1)
                yield value
        elif column in reaching and local(cell) == "covered-table-cell":
            value, left = reaching.pop(column)
            if left > 1:
                reaching[column] = (value, left - 1)
            yield value
        column += count
        if column > _MAX_COLUMN:
            return


def _shown(cell: _Element, looks: Looks) -> tuple[str, ValueKind]:
    """Return what a cell shows, and what kind of value that is; figures with all their digits."""
    kind = attribute(cell, "value-type") or ""
    inner = Element("body")
    write_text(cell, inner, looks)
    words = squeeze(" ".join(map(str, inner.itertext())))
    stored = attribute(cell, "value")
    if kind == "date":
        return (attribute(cell, "date-value") or words).replace("T00:00:00", "").replace("T", " "), "date"
    if kind == "currency" or (kind in ("percentage", "float") and stored is not None):
        return _figure(kind, stored, words), "number"
    formula = attribute(cell, "formula")
    if formula is not None and not words and stored is None and not kind:
        return "=" + squeeze(from_open_document(formula))[:200], "text"
    return words, "number" if kind == "time" else "text"


def _figure(kind: str, stored: str | None, words: str) -> str:
    """Return a figure as it is stored where the cell may show fewer of its digits, else as it is shown."""
    stored = stored or ""
    if kind == "percentage":
        return f"{_plain(stored, 2) or words}%"
    if kind == "currency":
        return words or _plain(stored, 0)
    bare = words.replace(",", "").replace(".", "").replace(" ", "").lstrip("-−")
    return (_plain(stored, 0) or words) if not words or bare.isdecimal() else words


def _plain(stored: str, places: int) -> str:
    """Return a stored number without an exponent, its point moved; "" for what is none."""
    try:
        value = Decimal(stored).scaleb(places)
    except InvalidOperation:
        return ""
    if not value.is_finite() or abs(value.adjusted()) > 30:
        return stored
    text = f"{Decimal(f'{value:.15g}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
