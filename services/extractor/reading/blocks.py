"""Blocks of text, and how they become one text with its maps: headings, pages or other parts, rows of sheets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from services.extractor.reading.result import MAX_TEXT
from shared.domain.maps import Heading, Page, Part, PartKind, Row
from shared.domain.text import clean

Kind = Literal["heading", "paragraph", "item", "row", "line"]
_CLOSE_TOGETHER = frozenset(("item", "row", "line"))


@dataclass(frozen=True, slots=True)
class Block:
    """One line of the text: what it is, its words on a single line, a heading's level, and the page it begins on.

    `opens` marks the first item, row or line of a group, which an empty line parts from a group before it. `glue` is
    set where the block goes on with the sentence of the one before (the next page of a PDF): it is put between the two
    instead of a line break. `page` also numbers sheets, slides and chapters. `cells` are row, first and last column of
    a row of a sheet, counted from 1.
    """

    kind: Kind
    text: str
    level: int = 0
    opens: bool = False
    page: int | None = None
    glue: str | None = None
    cells: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Assembled:
    """One text with its maps; `truncated` says that blocks beyond `MAX_TEXT` were left out."""

    text: str
    headings: tuple[Heading, ...]
    pages: tuple[Page, ...]
    truncated: bool
    rows: tuple[Row, ...] = ()


def squeeze(text: str) -> str:
    """Return cleaned text on one line, with single spaces."""
    return " ".join(clean(text).split())


def assemble(blocks: Iterable[Block], *, page_count: int = 0, limit: int = MAX_TEXT) -> Assembled:
    """Join blocks: one line each, an empty line between two unless both belong to the same list, table or run of lines.

    With `page_count`, every page from 1 to it gets its range, pages without text an empty one. At most `limit` code
    points are kept.
    """
    parts: list[str] = []
    headings: list[Heading] = []
    rows: list[Row] = []
    starts: list[tuple[int, int]] = []
    length, truncated, last = 0, False, None
    for block in blocks:
        whole = block.text if last is not None else block.text.lstrip()  # a text begins with a word
        if not whole:
            continue
        separator = _separator(last, block)
        start = length + len(separator)
        text = whole[: max(0, limit - start)].rstrip()
        truncated = len(text) < len(whole)
        if not text:
            break
        if block.page is not None and (not starts or starts[-1][0] != block.page):
            starts.append((block.page, start))
        if block.kind == "heading":
            headings.append(Heading(block.level, text, start, start + len(text)))
        if block.cells is not None:
            rows.append(Row(start, *block.cells))
        parts += (separator, text)
        length, last = start + len(text), block
        if truncated:
            break
    return Assembled("".join(parts), tuple(headings), _pages(starts, page_count, length), truncated, tuple(rows))


def on_part(blocks: Sequence[Block], number: int) -> list[Block]:
    """Return the blocks of one sheet, slide or chapter; they never run on from those of the part before."""
    return [replace(block, page=number, opens=block.opens or place == 0) for place, block in enumerate(blocks)]


def parts_of(made: Assembled, kind: PartKind, names: Sequence[str]) -> tuple[Part, ...]:
    """Return the parts of a text that was assembled with as many pages as there are names."""
    return tuple(
        Part(kind, name, page.number, page.start, page.end) for name, page in zip(names, made.pages, strict=True)
    )


def _separator(last: Block | None, block: Block) -> str:
    """Return what stands between two blocks."""
    if last is None:
        return ""
    if block.glue is not None:
        return block.glue
    return "\n" if last.kind == block.kind and block.kind in _CLOSE_TOGETHER and not block.opens else "\n\n"


def _pages(starts: list[tuple[int, int]], count: int, length: int) -> tuple[Page, ...]:
    """Return the range of each page; a page ends where the next one with text begins."""
    begins = dict(starts)
    pages: list[Page] = []
    end = length
    for number in range(count, 0, -1):
        start = begins.get(number, end)
        pages.append(Page(number, start, end))
        end = start
    return tuple(reversed(pages))
