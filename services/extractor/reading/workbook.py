"""XLSX to text: each visible sheet as rows that stand alone, with a map from the text back to sheet and cells.

Formulas show the value that was stored with them; without one, simple ones are worked out and all others told. Charts
stand below their sheet. Hidden sheets and comments are left out.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from lxml.etree import Element, _Element

from services.extractor.reading.blocks import Block, assemble, on_part, parts_of, squeeze
from services.extractor.reading.charts import write_graphic
from services.extractor.reading.formats import Format, format_of
from services.extractor.reading.formulas import without_value, worked_out
from services.extractor.reading.mime import XLSX
from services.extractor.reading.office import main_part, properties
from services.extractor.reading.package import Package, first_of
from services.extractor.reading.result import Reading, Unreadable
from services.extractor.reading.rows import row_blocks
from services.extractor.reading.serialize import blocks_of
from services.extractor.reading.sheet_rows import Book, sheet_rows, strings_of
from services.extractor.reading.xml import attribute, child

MAX_SHEETS = 1_000
_NAMED_BY_PROGRAM = re.compile(r"(?:sheet|tabelle|feuil|hoja|foglio|planilha|blad|лист|工作表)\s?\d*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Sheet:
    name: str
    part: str


def read(data: bytes) -> Reading:
    """Read a workbook; raise `Unreadable` for one that cannot be."""
    package = Package(data)
    main = main_part(package)
    root = package.xml(main)
    sheets, hidden = _sheets(root, package, main)
    book = _book(root, package, main)
    charts = _charts(package, sheets)
    names = [sheet.name for sheet in sheets] + [name for name, _ in charts]
    drawn = (on_part(blocks, len(sheets) + place) for place, (_, blocks) in enumerate(charts, start=1))
    made = assemble(chain(_blocks(package, sheets, book), *drawn), page_count=len(names))
    about = properties(package)
    losses = [*book.lost, *(["The text was cut at the limit."] if made.truncated else [])]
    left_out = [worked_out(book.worked_out)] if book.worked_out else []
    left_out += [without_value(book.without_value)] if book.without_value else []
    left_out += [f"{hidden} hidden sheet{'s' * (hidden > 1)} left out."] if hidden else []
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
        parts=parts_of(made, "sheet", names),
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


def _book(root: _Element, package: Package, main: str) -> Book:
    """Read what the cells refer to."""
    relations = package.relations(main)
    strings, styles = first_of(relations, "sharedStrings"), first_of(relations, "styles")
    layout = child(root, "workbookPr")
    return Book(
        strings=list(strings_of(package.read(strings))) if strings is not None and package.has(strings) else (),
        formats=_formats(package.xml(styles)) if styles is not None and package.has(styles) else (),
        from_1904=layout is not None and attribute(layout, "date1904") in ("1", "true"),
    )


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


def _blocks(package: Package, sheets: Iterable[_Sheet], book: Book) -> Iterator[Block]:
    """Yield the blocks of all sheets; a sheet that is damaged is noted and ends there."""
    for number, sheet in enumerate(sheets, start=1):
        is_first = True
        try:
            for block in row_blocks(sheet_rows(package.read(sheet.part), book)):
                if is_first and sheet.name and not _NAMED_BY_PROGRAM.fullmatch(sheet.name):
                    yield Block("heading", sheet.name, 1, page=number)
                yield Block(block.kind, block.text, opens=block.opens or is_first, page=number, cells=block.cells)
                is_first = False
        except Unreadable as error:
            book.lost.append(f"The sheet “{sheet.name}” could not be read to its end: {error.reason}")


def _charts(package: Package, sheets: Iterable[_Sheet]) -> list[tuple[str, list[Block]]]:
    """Return the charts of each sheet that has any, below a name of their own: they are no cells."""
    found: list[tuple[str, list[Block]]] = []
    for sheet in sheets:
        tree = Element("body")
        for drawing in package.relations(sheet.part).values():
            if drawing.kind == "drawing" and package.has(drawing.target):
                for relation in package.relations(drawing.target).values():
                    if relation.kind == "chart":
                        write_graphic(package, ("chart", relation.target), tree)
        if len(tree):
            found.append((f"{sheet.name}, charts", blocks_of(tree)))
    return found
