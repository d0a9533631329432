"""Notebooks (nbformat 3 and 4) to text: cells in order, prose and code apart, outputs as the text that stands below."""

import json
from collections.abc import Iterator
from typing import Any

from services.extractor.reading import plain, records
from services.extractor.reading.blocks import Block, assemble, on_part, parts_of, squeeze
from services.extractor.reading.charset import decode
from services.extractor.reading.markdown import markdown_blocks
from services.extractor.reading.mime import NOTEBOOK
from services.extractor.reading.result import Reading, Unreadable
from shared.domain.text import clean

MAX_CELLS = 20_000
_MAX_OUTPUT = 20_000  # code points of one output that are kept


def read(data: bytes, content_type: str | None) -> Reading:
    """Read a notebook; what is none is read as JSON."""
    decoded = decode(data, content_type, markup=False)
    book = _book(decoded.text)
    cells = _cells(book)
    if cells is None:
        return records.read(data, content_type)
    if len(cells) > MAX_CELLS:
        raise Unreadable("too_large", f"The notebook has more than {MAX_CELLS:,} cells.")
    names: list[str] = []
    blocks: list[Block] = []
    for number, cell in enumerate(cells, start=1):
        kind = str(cell.get("cell_type") or "raw")
        names.append(f"{kind} {number}")
        blocks += on_part(list(_cell_blocks(cell, kind)), number)
    made = assemble(blocks, page_count=len(names))
    return Reading(
        status="ok" if made.text else "empty",
        reason="The text was cut at the limit." if made.truncated else None if made.text else "The file holds no text.",
        mime=NOTEBOOK,
        reader="notebook",
        encoding=decoded.encoding,
        encoding_source=decoded.source,
        title=_title(book) or (made.headings[0].text if made.headings else None),
        text=made.text,
        headings=made.headings,
        parts=parts_of(made, "cell", names),
        truncated=made.truncated,
    )


def _book(text: str) -> object:
    """Return what a file holds as JSON, None for what is none."""
    try:
        return json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None


def _title(book: object) -> str | None:
    """Return the title that a notebook has beside its cells."""
    about = book.get("metadata") if isinstance(book, dict) else None
    title = about.get("title") if isinstance(about, dict) else None
    return squeeze(title)[:500] if isinstance(title, str) else None


def _cells(book: object) -> list[dict[str, Any]] | None:
    """Return the cells of a notebook, None for any other JSON."""
    if not isinstance(book, dict):
        return None
    found = book.get("cells")
    if not isinstance(found, list):
        sheets = book.get("worksheets")  # as notebooks were until 2015
        if not isinstance(sheets, list) or "nbformat" not in book:
            return None
        listed = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        found = [cell for cells in listed if isinstance(cells, list) for cell in cells]
    return [cell for cell in found if isinstance(cell, dict)]


def _cell_blocks(cell: dict[str, Any], kind: str) -> Iterator[Block]:
    """Yield the blocks of one cell."""
    source = _joined(cell.get("source", cell.get("input")))
    if kind == "heading":
        yield Block("heading", squeeze(source), 1)
    elif kind == "markdown":
        yield from markdown_blocks(source)
    elif kind == "code":
        yield from _lines(source)
        for output in cell.get("outputs") or ():
            yield from _lines(_shown(output) if isinstance(output, dict) else "")
    else:
        yield from plain.blocks_of(source)


def _shown(output: dict[str, Any]) -> str:
    """Return the text that an output shows; pictures have none."""
    if output.get("output_type") in ("error", "pyerr"):
        return f"{output.get('ename', '')}: {output.get('evalue', '')}"
    data = output.get("data")
    kinds = data if isinstance(data, dict) else output
    text = kinds.get("text/plain", kinds.get("text/markdown", output.get("text")))
    return _joined(text)[:_MAX_OUTPUT]


def _joined(text: object) -> str:
    """Return a text that may be written as a list of lines."""
    if isinstance(text, list):
        return "".join(line for line in text if isinstance(line, str))
    return text if isinstance(text, str) else ""


def _lines(text: str) -> Iterator[Block]:
    """Yield lines whose spaces mean something, as one group."""
    opens = True
    for line in clean(text).split("\n"):
        if line.strip():
            yield Block("line", line.expandtabs(4).rstrip(), opens=opens)
            opens = False
