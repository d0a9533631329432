"""Runs of letters that are set alike, as libraries give them, to the lines of a page: upright, with true sizes."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby
from typing import NamedTuple

from services.extractor.reading.blocks import squeeze
from services.extractor.reading.layout import Line
from services.extractor.reading.raised import marked, place_of

_LEAST_SIZE = 1.0  # points; smaller letters are a trick, nobody reads them
_EM = 2.1  # times the usual width of a letter is the size it is set in
_BELIEVED = 2.0  # points; no page is set smaller, so a font that tells less may count in units of its own
_FAR_OFF = 3.0
_NO_LETTERS = re.compile(r"[\ufdd0-\ufdd2\x01-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]|\(cid:\d+\)")
# Signs of the fonts Symbol and Wingdings, as office programs write them.
_SYMBOLS = str.maketrans(
    dict.fromkeys("\uf0b7\uf0a7\uf0d8\uf06e\uf076\uf0a8\uf06c\uf0be\uf02d", "\u2022")
) | str.maketrans(
    {
        "\uf0e0": "→",
        "\uf0e8": "→",
        "\uf0fc": "✓",
        "\uf0b0": "°",
        "\uf0b1": "±",
        "\uf0b4": "×",
        "\uf0a3": "≤",
        "\uf0b3": "≥",
        "\uf06d": "μ",
    }
)
_SYMBOL = re.compile("[\uf020-\uf0ff]")
_ENOUGH = 1  # letters that a size is told from


class Run(NamedTuple):
    """Letters that follow each other and are set alike: their box, base line and size, and whether they are painted."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    base: float
    size: float
    font: str = ""
    bold: bool = False
    painted: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """The runs of one line, in their order; `turn` says by how many quarters it is turned clockwise, None for others.

    Where it is turned, `base` of a run is the x of its base line.
    """

    runs: tuple[Run, ...]
    turn: int | None = 0


def lines_of(rows: Sequence[Row], width: float, height: float) -> list[Line]:
    """Return the lines of a page that is so wide and high; those set otherwise than the rest come last, in their order.

    A page all of whose lines are turned is turned back first.
    """
    usual = _usual_turn(rows)
    level: list[Line] = []
    others: list[Line] = []
    for row in _truly_sized(rows):
        is_level = row.turn == usual
        runs = [_turned_back(run, usual, width, height) for run in row.runs] if usual and is_level else row.runs
        (level if is_level else others).extend(_lines(runs, level=is_level))
    return [*level, *_stacked(others, level)]


def _usual_turn(rows: Sequence[Row]) -> int:
    """Return how far most letters of a page are turned: not at all, unless nearly all are."""
    letters: Counter[int | None] = Counter()
    for row in rows:
        letters[row.turn] += sum(len(run.text.strip()) for run in row.runs)
    turn = max(letters, key=lambda turn: letters[turn], default=0)
    return turn if turn and letters[turn] > 0.8 * letters.total() else 0


def _turned_back(run: Run, turn: int, width: float, height: float) -> Run:
    """Return a run of a page that stands on its side, or on its head, as if it did not."""
    if turn == 1:
        return run._replace(x0=run.y0, x1=run.y1, y0=width - run.x1, y1=width - run.x0, base=width - run.base)
    if turn == 3:
        return run._replace(x0=height - run.y1, x1=height - run.y0, y0=run.x0, y1=run.x1)
    x0, x1, y0, y1 = width - run.x1, width - run.x0, height - run.y1, height - run.y0
    return run._replace(x0=x0, x1=x1, y0=y0, y1=y1, base=height - run.base)


def _truly_sized(rows: Sequence[Row]) -> Sequence[Row]:
    """Return rows with sizes by the width of the letters where a font's own says nothing: Type 3 fonts tell 0.12."""
    widths: defaultdict[tuple[str, float], float] = defaultdict(float)
    letters: Counter[tuple[str, float]] = Counter()
    for row in rows:
        for run in row.runs:
            if run.size < _BELIEVED and row.turn is not None:
                widths[_key(run)] += run.y1 - run.y0 if row.turn % 2 else run.x1 - run.x0
                letters[_key(run)] += len(run.text)
    sizes = {key: _EM * width / letters[key] for key, width in widths.items() if letters[key] >= _ENOUGH}
    doubtful = {key: size for key, size in sizes.items() if size > _FAR_OFF * key[1]}
    if not doubtful:
        return rows
    return [Row(tuple(_sized(run, doubtful, row.turn) for run in row.runs), row.turn) for row in rows]


def _key(run: Run) -> tuple[str, float]:
    """Return what is set alike: the font, and the size that it tells."""
    return run.font, round(run.size, 3)


def _sized(run: Run, sizes: dict[tuple[str, float], float], turn: int | None) -> Run:
    """Return a run with its true size, and with a box of that height."""
    size = sizes.get(_key(run))
    if size is None:
        return run
    if turn == 1:
        return run._replace(size=size, x0=run.base - 0.25 * size, x1=run.base + 0.75 * size)
    if turn == 3:
        return run._replace(size=size, x0=run.base - 0.75 * size, x1=run.base + 0.25 * size)
    if turn == 2:
        return run._replace(size=size, y0=run.base - 0.25 * size, y1=run.base + 0.75 * size)
    return run._replace(size=size, y0=run.base - 0.75 * size, y1=run.base + 0.25 * size)


def _lines(runs: Sequence[Run], *, level: bool) -> list[Line]:
    """Return the runs of one row as a line; what is painted and what is not make lines of their own.

    Lines that are not `level` have no raised letters that could be told.
    """
    made = (_line(list(group), level=level) for _, group in groupby(runs, key=lambda run: run.painted))
    return [line for line in made if line is not None]


def _line(runs: Sequence[Run], *, level: bool) -> Line | None:
    """Return a line: its words, its box, and the base line and size that most of its letters have."""
    runs = [run for run in runs if run.text and run.size >= _LEAST_SIZE]
    shown = [run for run in runs if not run.text.isspace()]
    if not shown:
        return None
    main = shown[0] if len(shown) == 1 else max(shown, key=lambda run: (len(run.text.strip()), run.size))
    words = squeeze(legible(main.text) if len(runs) == 1 else "".join(_marked(run, main, level) for run in runs))
    if not words:
        return None
    return Line(
        words,
        *_box(shown),
        main.base,
        main.size,
        all(run.bold for run in shown),
        painted=main.painted,
    )


def _box(runs: Sequence[Run]) -> tuple[float, float, float, float]:
    """Return the box around all runs."""
    return (
        min(run.x0 for run in runs),
        min(run.y0 for run in runs),
        max(run.x1 for run in runs),
        max(run.y1 for run in runs),
    )


def _marked(run: Run, main: Run, level: bool) -> str:
    """Return the text of a run, between marks where it is raised or lowered against the letters of the line."""
    text = legible(run.text)
    if not level or run is main or (run.base == main.base and run.size == main.size):
        return text
    return marked(text, place_of(run.base, run.size, main.base, main.size))


def legible(text: str) -> str:
    """Return text with U+FFFD for codes that are no letters: left out, "12000" would become "000"."""
    if _SYMBOL.search(text):
        text = text.translate(_SYMBOLS)
    return _NO_LETTERS.sub("\ufffd", text) if _NO_LETTERS.search(text) else text


def _stacked(turned: Iterable[Line], level: Iterable[Line]) -> list[Line]:
    """Place turned lines one below the other under the rest, so that they keep their order and disturb no column."""
    top = max((line.y1 for line in level), default=0.0) + 100
    return [
        replace(line, x0=0.0, x1=500.0, y0=place, y1=place + 12, base=place + 10, size=12.0)
        for place, line in zip(count(top, 30), turned, strict=False)
    ]
