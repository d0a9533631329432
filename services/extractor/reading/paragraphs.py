"""Lines of printed pages, in reading order, to headings, paragraphs, list items and table rows."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from services.extractor.reading.blocks import Block, Kind, squeeze
from services.extractor.reading.layout import Line
from services.extractor.reading.lines import continues, ends_sentence, glue, join_lines, starts_item

_LARGER = 1.15  # times the body's letter size makes a heading
_MAX_HEADING = 200
_MAX_BOLD_HEADING = 100


@dataclass(frozen=True, slots=True)
class _Type:
    """The type of a document: the body's letter size, whether the body is bold, and heading sizes from the largest."""

    body: float
    bold: bool
    sizes: tuple[float, ...]

    def level(self, line: Line) -> int:
        """Return the level of a heading, 0 for other lines."""
        if line.cells or len(line.text) > _MAX_HEADING or not any(character.isalpha() for character in line.text):
            return 0
        size = _rounded(line.size)
        if size >= self.body * _LARGER:
            return min(6, 1 + self.sizes.index(size)) if size in self.sizes else 6
        if _is_capitals(line.text) and size >= self.body * 0.95:
            return min(6, 1 + len(self.sizes))
        bold = line.bold and not self.bold and size >= self.body * 0.95
        if bold and len(line.text) <= _MAX_BOLD_HEADING and not ends_sentence(line.text) and not starts_item(line.text):
            return min(6, 1 + len(self.sizes))
        return 0


def _is_capitals(text: str) -> bool:
    """Tell whether a short line is written in capitals, as headings are."""
    letters = [character for character in text if character.isalpha()]
    return (
        len(letters) >= 6
        and len(text) <= _MAX_BOLD_HEADING
        and text == text.upper() != text.lower()
        and not ends_sentence(text)
    )


def blocks_of(pages: Sequence[Sequence[Line]]) -> list[Block]:
    """Return the blocks of a document, whose pages hold their lines in reading order.

    A paragraph that goes on over a column or a page is one sentence run: its second part carries the `glue`.
    """
    kinds = _type_of(pages)
    blocks: list[Block] = []
    for number, page in enumerate(pages, start=1):
        for group in _groups(page, kinds):
            _append(blocks, group, kinds.level(group[0]), number)
    return blocks


def _append(blocks: list[Block], group: list[Line], level: int, page: int) -> None:
    """Add one group of lines as a block."""
    text = squeeze(join_lines([line.text for line in group]))
    if not text:
        return
    if level and _reads_as_prose(text, len(group)):
        level = 0
    kind: Kind = "heading" if level else "row" if group[0].cells else "item" if starts_item(text) else "paragraph"
    last = blocks[-1] if blocks else None
    between = None
    if last is not None and kind == "paragraph" and last.kind in ("paragraph", "item") and continues(last.text, text):
        before, between = glue(last.text, text)
        blocks[-1] = replace(last, text=before)
    blocks.append(Block(kind, text, level, opens=last is None or last.kind != kind, page=page, glue=between))


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
    level = kinds.level(line)
    gap = line.y0 - before.y1
    if level or kinds.level(before):
        return level != kinds.level(before) or gap > line.size or _rounded(line.size) != _rounded(before.size)
    if line.cells or before.cells:
        return True
    short = before.x1 < right - 0.12 * (right - left)
    if starts_item(line.text):  # unless a wrapped sentence only happens to go on with "10. "
        return not line.text[:1].isdigit() or short or ends_sentence(before.text) or abs(line.x0 - before.x0) > 1
    if gap > usual + 0.4 * line.size or abs(line.size - before.size) > 0.15 * max(line.size, before.size):
        return not continues(before.text, line.text)
    if not ends_sentence(before.text):
        return False
    indented = line.x0 > left + 0.7 * line.size and before.x0 <= left + 0.3 * line.size
    return indented or short
