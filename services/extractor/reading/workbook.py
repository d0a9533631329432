"""XLSX to text: each visible sheet as rows that stand alone, with a map from the text back to sheet and cells.

Formulas show the value that was stored with them. Hidden sheets, charts and comments are left out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO

from lxml.etree import XMLSyntaxError, _Element, iterparse

from services.extractor.reading.blocks import Block, assemble, parts_of, squeeze
from services.extractor.reading.formats import Format, format_of, shown
from services.extractor.reading.mime import XLSX
from services.extractor.reading.office import main_part, properties
from services.extractor.reading.package import Package, first_of
from services.extractor.reading.result import Reading, Unreadable
from services.extractor.reading.rows import SheetRow, Value, row_blocks
from services.extractor.reading.xml import HARMLESS, attribute, broken_xml, child, local

MAX_CELLS = 2_000_000
MAX_SHEETS = 1_000
_MAX_MERGES = 20_000
_MERGE = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref\s*=\s*[\"']([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})[\"']")
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_NAMED_BY_PROGRAM = re.compile(r"(?:sheet|tabelle|feuil|hoja|foglio|planilha|blad|лист|工作表)\s?\d*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Sheet:
    name: str
    part: str


@dataclass(slots=True)
class _Book:
    """What the cells of all sheets refer to, and what reading them has come to."""

    strings: Sequence[str]
    formats: Sequence[Format]
    from_1904: bool
    cells_left: int = MAX_CELLS
    lost: list[str] = field(default_factory=list)

    def format_at(self, place: str) -> Format:
        """Return the format of a cell by the number of its style."""
        number = int(place) if place.isdecimal() else 0
        return self.formats[number] if number < len(self.formats) else Format()


def read(data: bytes) -> Reading:
    """Read a workbook; raise `Unreadable` for one that cannot be."""
    package = Package(data)
    main = main_part(package)
    root = package.xml(main)
    sheets, hidden = _sheets(root, package, main)
    book = _book(root, package, main)
    made = assemble(_blocks(package, sheets, book), page_count=len(sheets))
    about = properties(package)
    losses = [*book.lost, *(["The text was cut at the limit."] if made.truncated else [])]
    left_out = [f"{hidden} hidden sheet{'s' * (hidden > 1)} left out."] if hidden else []
    if not made.text and book.lost:
        raise Unreadable("broken", book.lost[0])
    return Reading(
        status="ok" if made.text else "empty",
        mime=XLSX,
        reader="workbook",
        reason=" ".join((*losses, *left_out)) or None,
        title=about.title,
        author=about.author,
        published_at=about.published_at,
        modified_at=about.modified_at,
        language=about.language,
        text=made.text,
        headings=made.headings,
        parts=parts_of(made, "sheet", [sheet.name for sheet in sheets]),
        rows=made.rows,
        truncated=bool(losses),
    )


def _sheets(root: _Element, package: Package, main: str) -> tuple[list[_Sheet], int]:
    """Return the visible sheets of cells in the order of their tabs, and how many are hidden."""
    relations = package.relations(main)
    listed = child(root, "sheets")
    found: list[_Sheet] = []
    hidden = 0
    for node in listed if listed is not None else ():
        relation = relations.get(next((str(v) for k, v in node.items() if str(k).endswith("relationships}id")), ""))
        if relation is None or relation.kind != "worksheet":
            continue
        if attribute(node, "state") in ("hidden", "veryHidden"):
            hidden += 1
            continue
        found.append(_Sheet(squeeze(attribute(node, "name") or "")[:100], relation.target))
    if len(found) > MAX_SHEETS:
        raise Unreadable("too_large", f"The workbook has more than {MAX_SHEETS:,} sheets.")
    return found, hidden


def _book(root: _Element, package: Package, main: str) -> _Book:
    """Read what the cells refer to."""
    relations = package.relations(main)
    strings, styles = first_of(relations, "sharedStrings"), first_of(relations, "styles")
    layout = child(root, "workbookPr")
    return _Book(
        strings=list(_strings(package.read(strings))) if strings is not None and package.has(strings) else (),
        formats=_formats(package.xml(styles)) if styles is not None and package.has(styles) else (),
        from_1904=layout is not None and attribute(layout, "date1904") in ("1", "true"),
    )


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


def _strings(data: bytes) -> Iterator[str]:
    """Yield the shared strings, without the reading aids of Chinese and Japanese words."""
    for item in _elements(data, "si"):
        yield _text_of(item)


def _text_of(item: _Element) -> str:
    """Return the text of a string that may be made of formatted runs."""
    runs = (node for node in item if local(node) in ("t", "r"))
    texts = (node if local(node) == "t" else child(node, "t") for node in runs)
    return squeeze("".join(text.text or "" for text in texts if text is not None))


def _formats(root: _Element) -> list[Format]:
    """Return the number format of each cell style."""
    listed = child(root, "numFmts")
    codes = {
        attribute(node, "numFmtId"): attribute(node, "formatCode") for node in (listed if listed is not None else ())
    }
    styles = child(root, "cellXfs")
    numbers = [attribute(node, "numFmtId") or "0" for node in (styles if styles is not None else ())]
    made = {number: format_of(int(number) if number.isdecimal() else 0, codes.get(number)) for number in set(numbers)}
    return [made[number] for number in numbers]


def _blocks(package: Package, sheets: Iterable[_Sheet], book: _Book) -> Iterator[Block]:
    """Yield the blocks of all sheets; a sheet that is damaged is noted and ends there."""
    for number, sheet in enumerate(sheets, start=1):
        is_first = True
        try:
            for block in row_blocks(_rows(package.read(sheet.part), book)):
                if is_first and sheet.name and not _NAMED_BY_PROGRAM.fullmatch(sheet.name):
                    yield Block("heading", sheet.name, 1, page=number)
                yield Block(block.kind, block.text, opens=block.opens or is_first, page=number, cells=block.cells)
                is_first = False
        except Unreadable as error:
            book.lost.append(f"The sheet “{sheet.name}” could not be read to its end: {error.reason}")


def _rows(data: bytes, book: _Book) -> Iterator[SheetRow]:
    """Yield the rows of a sheet."""
    merged = _merged_down(data)
    above: dict[int, Value] = {}  # by column: what a merged cell shows in the rows that it reaches down into
    number = 0
    for node in _elements(data, "row"):
        written = attribute(node, "r") or ""
        number = int(written) if written.isdecimal() and len(written) < 8 else number + 1
        values = {value.column: value for value in _values(node, book)}
        for column in merged.get(number, ()):
            if column in values:
                above[column] = values[column]
            elif column in above and values:
                values[column] = above[column]
        yield SheetRow(number, [values[column] for column in sorted(values)])
        if book.cells_left <= 0:
            raise Unreadable("too_large", f"Only the first {MAX_CELLS:,} cells were read.")


def _merged_down(data: bytes) -> Mapping[int, list[int]]:
    """Return, by row, the columns of merged cells that reach over several rows."""
    columns: dict[int, list[int]] = {}
    rows_left = _MAX_MERGES
    for match in _MERGE.finditer(data):
        first, last = int(match[2]), int(match[4])
        rows_left -= last - first
        if rows_left < 0:
            break
        if last > first:
            for row in range(first, last + 1):
                columns.setdefault(row, []).append(_column(match[1].decode()))
    return columns


def _values(row: _Element, book: _Book) -> Iterator[Value]:
    """Yield the cells of a row that show anything."""
    column = 0
    for cell in row:
        reference = _REFERENCE.match(cell.get("r") or "")
        column = _column(reference[1]) if reference else column + 1
        book.cells_left -= 1
        value = _value(cell, column, book)
        if value is not None and value.text:
            yield value


def _value(cell: _Element, column: int, book: _Book) -> Value | None:
    """Return what a cell shows."""
    kind = cell.get("t") or "n"
    if kind == "inlineStr":
        inline = child(cell, "is")
        return Value(column, _text_of(inline), "text") if inline is not None else None
    stored = child(cell, "v")
    text = (stored.text or "") if stored is not None else ""
    if not text:
        return None
    if kind == "n":
        words, what = shown(text, book.format_at(cell.get("s") or "0"), from_1904=book.from_1904)
        return Value(column, squeeze(words), what)
    return Value(column, squeeze(_words(kind, text, book)), "date" if kind == "d" else "text")


def _words(kind: str, text: str, book: _Book) -> str:
    """Return the words of a cell that is no number."""
    if kind == "s":
        place = int(text) if text.isdecimal() else len(book.strings)
        return book.strings[place] if place < len(book.strings) else ""
    if kind == "b":
        return "TRUE" if text == "1" else "FALSE"
    return text


def _column(letters: str) -> int:
    """Return the number of a column: 1 for A, 27 for AA."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number
