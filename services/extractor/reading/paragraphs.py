"""Lines of printed pages, in reading order, to headings, paragraphs, list items and table rows."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from services.extractor.reading.blocks import Block, Kind, squeeze
from services.extractor.reading.hyphens import Vocabulary
from services.extractor.reading.layout import Line
from services.extractor.reading.lines import continues, ends_sentence, glue, is_capitals, join_lines, starts_item

_LETTER = re.compile(r"[^\W\d_]")
_LARGER = 1.15  # times the body's letter size makes a heading
_MAX_HEADING = 200
_MAX_PLAIN_HEADING = 100  # of the body's own size, by being bold or in capitals


@dataclass(frozen=True, slots=True)
class _Type:
    """The type of a document: the body's letter size, whether the body is bold, and heading sizes from the largest."""

    body: float
    bold: bool
    sizes: tuple[float, ...]

    def level(self, line: Line) -> int:
        """Return the level of a heading, 0 for other lines."""
        size = _rounded(line.size)
        if line.cells or len(line.text) > _MAX_HEADING or not _LETTER.search(line.text):
            return 0
        if size >= self.body * _LARGER:
            return min(6, 1 + self.sizes.index(size)) if size in self.sizes else 6
        if len(line.text) > _MAX_PLAIN_HEADING or size < self.body * 0.95 or ends_sentence(line.text):
            return 0
        marked = is_capitals(line.text) or (line.bold > self.bold and not starts_item(line.text))
        return min(6, 1 + len(self.sizes)) if marked else 0


@dataclass(frozen=True, slots=True)
class _Group:
    """Lines that belong together, their level as a heading, and their page."""

    lines: list[Line]
    level: int
    page: int


def blocks_of(pages: Sequence[Sequence[Line]]) -> list[Block]:
    """Return the blocks of a document, whose pages hold their lines in reading order.

    A paragraph that goes on over a column or a page is one sentence run: its second part carries the `glue`.
    """
    kinds = _type_of(pages)
    words = Vocabulary(line.text for page in pages for line in page)
    blocks: list[Block] = []
    for number, page in enumerate(pages, start=1):
        for group in _groups(page, kinds):
            _append(blocks, _Group(group, kinds.level(group[0]), number), words)
    return blocks


def _append(blocks: list[Block], group: _Group, words: Vocabulary) -> None:
    """Add one group of lines as a block."""
    text = squeeze(join_lines([line.text for line in group.lines], words))
    if not text:
        return
    level = 0 if group.level and _reads_as_prose(text, len(group.lines)) else group.level
    kind = _kind(text, level, cells=group.lines[0].cells)
    last = blocks[-1] if blocks else None
    opens = last is None or last.kind != kind
    between = None
    if last is not None and kind == "paragraph" and last.kind in ("paragraph", "item") and continues(last.text, text):
        before, between = glue(last.text, text, words)
        blocks[-1] = replace(last, text=before)
    blocks.append(Block(kind, text, level, opens=opens, page=group.page, glue=between))


def _kind(text: str, level: int, *, cells: bool) -> Kind:
    """Return what a block is."""
    if level:
        return "heading"
    return "row" if cells else "item" if starts_item(text) else "paragraph"


def _reads_as_prose(text: str, lines: int) -> bool:
    """Tell whether what looks like a heading is too long, or too much of a sentence, to be one."""
    return lines > 3 or len(text) > 150 or text[0].islower() or (len(text) > 60 and text.endswith((".", ",", ";")))


def _type_of(pages: Sequence[Sequence[Line]]) -> _Type:
    """Measure the type of a document by its letters; tables count only where there is nothing else."""
    letters: Counter[tuple[float, bool]] = Counter()
    for page in pages:
        for line in page:
            letters[_rounded(line.size), line.bold] += 1 if line.cells else 100 * len(line.text)
    sizes: Counter[float] = Counter()
    for (size, _), count in letters.items():
        sizes[size] += count
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    bold = letters[body, True] > letters[body, False]
    return _Type(body, bold, tuple(sorted((size for size in sizes if size >= body * _LARGER), reverse=True)))


def _rounded(size: float) -> float:
    """Return a letter size to half a point."""
    return round(size * 2) / 2


def _groups(page: Sequence[Line], kinds: _Type) -> Iterator[list[Line]]:
    """Yield the lines that belong together: one heading, paragraph, item or row each."""
    for run in _runs(page):
        left, right = min(line.x0 for line in run), max(line.x1 for line in run)
        gaps = [after.y0 - before.y1 for before, after in pairwise(run)]
        usual = median(gaps) if gaps else 0.0
        group: list[Line] = []
        for line in run:
            if group and _parts(group[-1], line, kinds, (left, right, usual)):
                yield group
                group = []
            group.append(line)
        yield group


def _runs(page: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the runs of lines that go down the page: one a column."""
    run: list[Line] = []
    for line in page:
        if run and line.y0 < run[-1].y0 - line.size:
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _parts(before: Line, line: Line, kinds: _Type, column: tuple[float, float, float]) -> bool:
    """Tell whether a new group begins at `line`; `column` is left edge, right edge and the usual gap between lines."""
    left, right, usual = column
    gap = line.y0 - before.y1
    levels = {kinds.level(before), kinds.level(line)}
    if levels != {0}:
        return len(levels) == 2 or gap > line.size or _rounded(line.size) != _rounded(before.size)
    if line.cells or before.cells:
        return True
    short = before.x1 < right - 0.12 * (right - left)
    if starts_item(line.text):
        return _begins_item(before, line, short=short)
    if gap > usual + 0.4 * line.size or abs(line.size - before.size) > 0.15 * max(line.size, before.size):
        return not continues(before.text, line.text)
    indented = line.x0 > left + 0.7 * line.size and before.x0 <= left + 0.3 * line.size
    return (indented or short) and ends_sentence(before.text)


def _begins_item(before: Line, line: Line, *, short: bool) -> bool:
    """Tell a list item from a wrapped sentence that only happens to go on with "10. "; `short`: the line before was."""
    if not line.text[:1].isdigit():
        return True
    return short or ends_sentence(before.text) or abs(line.x0 - before.x0) > 1
