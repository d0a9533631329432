"""Lines of a printed page in the order in which a reader takes them: columns, rows of tables, running heads."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from services.extractor.reading.raised import marked, place_of, settle
from shared.domain.segments import ROW_SEPARATOR

_MAX_COLUMN_SPLITS = 4
_MIN_LINES = 8  # fewer lines have no columns worth finding
_CROSSING = 0.2  # share of the lines (titles, wide figures) that may lie across a gutter
_MIN_GUTTER = 5.0  # points
_MAX_STRIPS = 20  # that are looked at, the best first
# Lines of prose fill their column, or are long; cells of a table are neither: (share of the width, letters).
_PROSE = ((0.7, 15), (0.45, 30))
_MARKER = re.compile(r"[•*·▪◦‣–—-]|\(?\d{1,3}(?:\.\d{1,3})*[.)]?|\(?[A-Za-z][.)]|[ivxIVX]{1,5}[.)]")
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(r"\W*(?:p(?:age|\.)?\s*)?(?:#|[ivxlc]{1,6})(?:\s*(?:/|of|von|sur|de)\s*#)?\W*", re.IGNORECASE)
_Key = tuple[str, str]  # where a running head stands, and its words with # for every number
_MARGIN = 0.12  # share of the page's height, at the top and at the bottom, where running heads stand


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its words, its box and base line (points, y grows downwards), its letter size and whether it is bold.

    `cells` says that it is a table row, whose cells `ROW_SEPARATOR` parts. Raised and lowered letters stand between
    marks (`raised`) until `reading_order` has settled them. `painted` is unset where the page shows nothing of it.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    base: float
    size: float
    bold: bool = False
    cells: bool = False
    painted: bool = True


def reading_order(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of one page in reading order, pieces on one base line joined."""
    joined = _joined(lines, lambda before, line: line.x0 - before.x1 < 0.9 * before.size)
    return _ordered([replace(line, text=settle(line.text)) for line in joined], 0)


def without_running_heads(pages: Sequence[Sequence[Line]], height: Sequence[float]) -> list[list[Line]]:
    """Drop page numbers, and the headers and footers that return on at least a quarter of three or more pages.

    A page that has nothing else keeps them.
    """
    if len(pages) < 2:
        return [list(page) for page in pages]
    largest = usual_size(pages) * 1.1  # what is larger is a title, even on every page
    marked = [[_running_key(line, of, largest) for line in page] for page, of in zip(pages, height, strict=True)]
    counts = Counter(key for keys in marked for key in set(keys) if key)
    doomed = {key for key, count in counts.items() if count >= max(3, len(pages) / 4) or _PAGE_NUMBER.fullmatch(key[1])}
    return [_without(page, keys, doomed) for page, keys in zip(pages, marked, strict=True)]


def usual_size(pages: Sequence[Sequence[Line]]) -> float:
    """Return the letter size in which most letters are set."""
    sizes: Counter[int] = Counter()
    for page in pages:
        for line in page:
            sizes[round(line.size)] += len(line.text)
    return max(sizes, key=lambda size: sizes[size], default=0)


def _without(page: Sequence[Line], keys: list[_Key | None], doomed: set[_Key]) -> list[Line]:
    """Return the lines of a page whose key is not among the doomed, or all where none is left."""
    return [line for line, key in zip(page, keys, strict=True) if key not in doomed] or list(page)


def _running_key(line: Line, height: float, largest: float) -> _Key | None:
    """Return what makes a line in the margins comparable between pages, or None for lines elsewhere or too large."""
    zone = "top" if line.y1 < height * _MARGIN else "bottom" if line.y0 > height * (1 - _MARGIN) else ""
    return (zone, _DIGITS.sub("#", line.text.casefold())) if zone and line.size <= largest else None


def _ordered(lines: list[Line], depth: int) -> list[Line]:
    """Order lines; where a gutter parts them, the left column of each band goes before the right one."""
    gutter = _gutter(lines) if depth < _MAX_COLUMN_SPLITS else None
    if gutter is None:
        return _rows(lines)
    ordered: list[Line] = []
    band: list[Line] = []
    across: list[Line] = []
    for line in sorted(lines, key=lambda line: (line.y0, line.x0)):
        if line.x0 < gutter < line.x1:
            ordered += _band(band, gutter, depth)
            band = []
            across.append(line)
        else:
            ordered += _rows(across)
            across = []
            band.append(line)
    return [*ordered, *_rows(across), *_band(band, gutter, depth)]


def _band(lines: list[Line], gutter: float, depth: int) -> list[Line]:
    """Order the two sides of a gutter."""
    left = [line for line in lines if line.x1 <= gutter]
    right = [line for line in lines if line.x1 > gutter]
    return _ordered(left, depth + 1) + _ordered(right, depth + 1)


def _gutter(lines: Sequence[Line]) -> float | None:
    """Return the x of the strip that parts two columns of prose with the fewest lines across it, or None."""
    if len(lines) < _MIN_LINES:
        return None
    left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
    for _, start, end in sorted(_strips(lines), key=lambda strip: (strip[0], strip[1] - strip[2]))[:_MAX_STRIPS]:
        middle = (start + end) / 2
        if _parts_prose(lines, left, middle, right):
            return middle
    return None


def _strips(lines: Sequence[Line]) -> Iterator[tuple[int, float, float]]:
    """Yield the wide enough ranges of x that only few lines lie across: how many, from where, to where."""
    crossing, before = 0, 0.0
    for x, change in sorted([(line.x0, 1) for line in lines] + [(line.x1, -1) for line in lines]):
        if x - before >= _MIN_GUTTER and crossing <= len(lines) * _CROSSING:
            yield crossing, before, x
        crossing, before = crossing + change, x


def _parts_prose(lines: Sequence[Line], left: float, middle: float, right: float) -> bool:
    """Tell whether both sides hold enough lines that fill the width of their side."""
    if not left + (right - left) * 0.15 < middle < right - (right - left) * 0.15:
        return False
    for side, start, end in (
        ([line for line in lines if line.x1 <= middle], left, middle),
        ([line for line in lines if line.x0 >= middle], middle, right),
    ):
        if len(side) < max(4, len(lines) * 0.1):
            return False
        filled = median(line.x1 - line.x0 for line in side) / (end - start)
        letters = median(len(line.text) for line in side)
        if not any(filled >= share and letters >= least for share, least in _PROSE):
            return False
    return True


def _joined(lines: Sequence[Line], close: Callable[[Line, Line], bool]) -> list[Line]:
    """Join neighbours on one base line that stand close together."""
    joined: list[Line] = []
    for row in _base_lines(lines):
        for number, line in enumerate(row):
            if number and close(joined[-1], line):
                joined[-1] = _merged(joined[-1], line, " " if line.x0 - joined[-1].x1 > 0.1 * line.size else "")
            else:
                joined.append(line)
    return joined


def _base_lines(lines: Sequence[Line]) -> list[list[Line]]:
    """Group lines by their base line, raised and lowered letters included, each group from left to right."""
    groups: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.base):
        last = groups[-1][-1] if groups else None
        if last is not None and line.base - last.base < 0.45 * max(line.size, last.size):
            groups[-1].append(line)
        else:
            groups.append([line])
    return [sorted(group, key=lambda line: line.x0) for group in groups]


def _rows(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of one column from top to bottom; pieces far apart on one base line are the cells of a row."""
    rows: list[Line] = []
    for group in _base_lines(lines):
        row = group[0]
        for line in group[1:]:
            is_cell = line.x0 - row.x1 > 1.5 * line.size and not (row is group[0] and _MARKER.fullmatch(row.text))
            row = _merged(row, line, ROW_SEPARATOR if is_cell else " ")
        rows.append(row)
    return rows


def _merged(first: Line, second: Line, between: str) -> Line:
    """Return two pieces of one line as one."""
    longer, shorter = (first, second) if len(first.text) >= len(second.text) else (second, first)
    place = place_of(shorter.base, shorter.size, longer.base, longer.size) if between != ROW_SEPARATOR else ""
    texts = [marked(line.text, place) if line is shorter else line.text for line in (first, second)]
    return replace(
        longer,
        text=between.join(texts),
        x0=min(first.x0, second.x0),
        y0=min(first.y0, second.y0),
        x1=max(first.x1, second.x1),
        y1=max(first.y1, second.y1),
        bold=first.bold and second.bold,
        cells=first.cells or second.cells or between == ROW_SEPARATOR,
    )
