"""What of the lines of a page a reader sees: nothing twice, and nothing that is not painted."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from services.extractor.reading.layout import Line

_SHIFT = 0.25  # of the letter size: how far apart two paintings of one word stand, for bold letters or a shadow
SCAN = 0.5
"""Share of a page that its pictures cover where they are the page."""

_CONTRAST = 24  # of 255: what differs less than that from its ground is not seen
PALE = 0xE0
"""The least of red, green and blue of letters that can only be seen where something darker lies under them."""

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Picture:
    """A page in shades of grey as it is shown: its bytes, those of one row, and how many pixels a point has."""

    grey: bytes
    stride: int
    width: int
    height: int
    scale: float

    def shows(self, box: Box) -> bool:
        """Tell whether anything can be seen within a box: letters differ from what is around them."""
        x0, x1 = max(0, int(box[0] * self.scale)), min(self.width, int(box[2] * self.scale) + 1)
        inset = 0.15 * (box[3] - box[1])
        y0 = max(0, int((box[1] + inset) * self.scale))
        y1 = min(self.height, max(y0 + 1, int((box[3] - inset) * self.scale) + 1))
        rows = [self.grey[y * self.stride + x0 : y * self.stride + x1] for y in range(y0, y1)]
        rows = [row for row in rows if row]
        return bool(rows) and max(map(max, rows)) - min(map(min, rows)) >= _CONTRAST


def covered(box: Box, texts: Sequence[tuple[int, Box]], covers: Sequence[tuple[int, Box]]) -> bool:
    """Tell whether something may be painted over letters: after all text that stands where they do."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    over = [number for number, cover in covers if _holds(cover, x, y)]
    return bool(over) and max(over) > max((number for number, text in texts if _holds(text, x, y)), default=max(over))


def _holds(box: Box, x: float, y: float) -> bool:
    """Tell whether a point lies in a box."""
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def once(lines: Sequence[Line]) -> list[Line]:
    """Return the lines without those that are painted over themselves."""
    kept: list[Line] = []
    places: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        same = places[line.text]
        if not any(_on_each_other(line, other) for other in same[-8:]):
            kept.append(line)
            same.append(line)
    rows: defaultdict[int, list[Line]] = defaultdict(list)
    for line in kept:
        rows[round(line.base)].append(line)
    return [line for line in kept if not any(_is_within(line, other) for other in rows[round(line.base)])]


def _is_within(line: Line, other: Line) -> bool:
    """Tell whether a line paints words of a longer one again, where they stand there."""
    near = _SHIFT * line.size
    return (
        len(line.text) < len(other.text)
        and other.x0 - near <= line.x0
        and line.x1 <= other.x1 + near
        and abs(line.base - other.base) <= near
        and abs(line.size - other.size) <= near
        and line.text in other.text
    )


def _on_each_other(line: Line, other: Line) -> bool:
    """Tell whether two lines of the same words are one, painted twice."""
    near = _SHIFT * max(line.size, other.size)
    return (
        abs(line.x0 - other.x0) <= near
        and abs(line.x1 - other.x1) <= 2 * near
        and abs(line.base - other.base) <= near
        and line.painted == other.painted
    )


def seen(lines: Sequence[Line], pictures: float) -> list[Line]:
    """Return the lines that are painted, or all: where none is, and for the text layer of a scan.

    `pictures` is the share of the page that pictures cover. A stamp on a scan is painted, but its layer is the longer.
    """
    painted = [line for line in lines if line.painted]
    if not painted or len(painted) == len(lines):
        return list(lines)
    if pictures >= SCAN and _letters(lines) > 2 * _letters(painted):
        return list(lines)
    return painted


def _letters(lines: Sequence[Line]) -> int:
    """Count the letters of lines."""
    return sum(len(line.text) for line in lines)
