"""The rows of one sheet of a workbook: merged cells, shared strings, formulas with and without a stored value."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from io import BytesIO

from lxml.etree import XMLSyntaxError, _Element, iterparse

from services.extractor.reading.blocks import squeeze
from services.extractor.reading.formats import Format, shown
from services.extractor.reading.formulas import Content, Place, Sheet, column_number
from services.extractor.reading.raised import DOWN, UP, marked, settle
from services.extractor.reading.result import Unreadable
from services.extractor.reading.rows import SheetRow, Value
from services.extractor.reading.xml import HARMLESS, attribute, broken_xml, child, local

MAX_CELLS = 2_000_000
_MAX_MERGES = 20_000
_MAX_FORMULA_CELLS = 500_000
_MERGE = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref\s*=\s*[\"']([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})[\"']")
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_WITHOUT_VALUE = re.compile(
    rb"<(?:\w+:)?f(?:\s[^>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_PLACES = {"superscript": UP, "subscript": DOWN}


@dataclass(slots=True)
class Book:
    """What the cells of all sheets refer to, and what reading them has come to."""

    strings: Sequence[str]
    formats: Sequence[Format]
    from_1904: bool
    cells_left: int = MAX_CELLS
    lost: list[str] = field(default_factory=list)
    worked_out: int = 0
    without_value: int = 0

    def format_at(self, place: str) -> Format:
        """Return the format of a cell by the number of its style."""
        number = int(place) if place.isdecimal() else 0
        return self.formats[number] if number < len(self.formats) else Format()


def sheet_rows(data: bytes, book: Book) -> Iterator[SheetRow]:
    """Yield the rows of a sheet."""
    merged, wide = _merged(data)
    formulas = _formulas(data) if _WITHOUT_VALUE.search(data) else None
    above: dict[int, Value] = {}  # by column: what a merged cell shows in the rows that it reaches down into
    number = 0
    for node in _elements(data, "row"):
        number = _row_number(node, number)
        values = {
            value.column: replace(value, width=wide.get((number, value.column), 1))
            for value in _values(node, book, formulas)
        }
        for column in merged.get(number, ()):
            if column in values:
                above[column] = values[column]
            elif column in above and values:
                values[column] = above[column]
        yield SheetRow(number, [values[column] for column in sorted(values)])
        if book.cells_left <= 0:
            raise Unreadable("too_large", f"Only the first {MAX_CELLS:,} cells were read.")


def _row_number(row: _Element, before: int) -> int:
    """Return the number of a row; one that has none follows on the row before it."""
    written = attribute(row, "r") or ""
    return int(written) if written.isdecimal() and len(written) < 8 else before + 1


def _merged(data: bytes) -> tuple[Mapping[int, list[int]], Mapping[Place, int]]:
    """Return, by row, the columns of merged cells that reach over several rows, and the width of those over columns."""
    down: dict[int, list[int]] = {}
    wide: dict[Place, int] = {}
    rows_left = _MAX_MERGES
    for match in _MERGE.finditer(data):
        first, last = int(match[2]), int(match[4])
        left, right = (column_number(match[number].decode()) for number in (1, 3))
        rows_left -= max(1, last - first)
        if rows_left < 0:
            break
        if right > left:
            wide[first, left] = right - left + 1
        if last > first:
            for row in range(first, last + 1):
                down.setdefault(row, []).append(left)
    return down, wide


def _formulas(data: bytes) -> Sheet:
    """Return what the cells of a sheet hold, for its formulas without a value; nothing of a huge sheet."""
    cells: dict[Place, Content] = {}
    for cell in _elements(data, "c"):
        reference = _REFERENCE.match(cell.get("r") or "")
        if reference is None:
            continue
        if len(cells) > _MAX_FORMULA_CELLS:
            return Sheet({})
        content = _content(cell)
        if content is not None:
            cells[int(reference[2]), column_number(reference[1])] = content
    return Sheet(cells)


def _content(cell: _Element) -> Content | None:
    """Return the figure, the formula without a value or the words in a cell."""
    kind, text, formula = cell.get("t") or "n", _stored(cell), child(cell, "f")
    if kind == "n" and text:
        try:
            return Decimal(text)
        except InvalidOperation:
            return " "
    if formula is not None and not text and kind == "n":
        return f"={formula.text or '?'}"
    return " " if text or kind == "inlineStr" else None


def _stored(cell: _Element) -> str:
    """Return the value that is stored in a cell, as it is written; "" without."""
    stored = child(cell, "v")
    return (stored.text or "") if stored is not None else ""


def _values(row: _Element, book: Book, formulas: Sheet | None) -> Iterator[Value]:
    """Yield the cells of a row that show anything."""
    column = 0
    for cell in row:
        reference = _REFERENCE.match(cell.get("r") or "")
        column = column_number(reference[1]) if reference else column + 1
        book.cells_left -= 1
        value = _value(cell, column, book, formulas)
        if value is not None and value.text:
            yield value


def _value(cell: _Element, column: int, book: Book, formulas: Sheet | None) -> Value | None:
    """Return what a cell shows."""
    kind = cell.get("t") or "n"
    if kind == "inlineStr":
        inline = child(cell, "is")
        return Value(column, text_of(inline), "text") if inline is not None else None
    text, formula = _stored(cell), child(cell, "f")
    if not text and formula is not None and formulas is not None and kind == "n":
        return _without_value(cell, formula.text or "", column, book, formulas)
    if not text:
        return None
    if kind == "n":
        return _number(text, cell, column, book)
    return Value(column, squeeze(_words(kind, text, book)), "date" if kind == "d" else "text")


def _without_value(cell: _Element, formula: str, column: int, book: Book, formulas: Sheet) -> Value:
    """Return what a formula comes to, or the formula itself."""
    result = formulas.value(formula)
    if result is None:
        book.without_value += 1
        return Value(column, squeeze(f"={formula}")[:200] if formula else "= (a formula)", "text")
    book.worked_out += 1
    return _number(str(result), cell, column, book)


def _number(written: str, cell: _Element, column: int, book: Book) -> Value:
    """Return a number as the format of its cell shows it."""
    words, what = shown(written, book.format_at(cell.get("s") or "0"), from_1904=book.from_1904)
    return Value(column, squeeze(words), what)


def _words(kind: str, text: str, book: Book) -> str:
    """Return the words of a cell that is no number."""
    if kind == "s":
        place = int(text) if text.isdecimal() else len(book.strings)
        return book.strings[place] if place < len(book.strings) else ""
    if kind == "b":
        return "TRUE" if text == "1" else "FALSE"
    return text


def strings_of(data: bytes) -> Iterator[str]:
    """Yield the shared strings, without the reading aids of Chinese and Japanese words."""
    for item in _elements(data, "si"):
        yield text_of(item)


def text_of(item: _Element) -> str:
    """Return the text of a string that may be made of formatted runs, raised ones as what they mean."""
    return squeeze(settle("".join(_run(node) for node in item if local(node) in ("t", "r"))))


def _run(node: _Element) -> str:
    """Return the text of a run between the marks of its place."""
    text = node if local(node) == "t" else child(node, "t")
    written = (text.text or "") if text is not None else ""
    align = child(node, "rPr", "vertAlign")
    return marked(written, _PLACES.get(attribute(align, "val") or "", "") if align is not None else "")


def _elements(data: bytes, name: str) -> Iterator[_Element]:
    """Yield the elements of a name as they are parsed, each forgotten after its turn."""
    try:
        parsing = iterparse(BytesIO(data), tag=f"{{*}}{name}", **HARMLESS)
        for _, node in parsing:
            yield node
            node.clear()
            while node.getprevious() is not None:
                del node.getparent()[0]
    except XMLSyntaxError as error:
        raise broken_xml(error) from None
