"""Formulas of a sheet that no program has worked out yet: simple ones are, the rest is told.

Cells, ranges, the four operations, powers, percents and a few functions of one sheet; nothing else is guessed.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException, localcontext
from typing import TypeAlias

MAX_FORMULA = 2_000
_MAX_DEPTH = 60
_MAX_STEPS = 2_000_000  # cells looked at for all formulas of a sheet together
_MAX_POWER = 100
_MAX_DIGITS = 300
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)|(?P<range>\$?[A-Z]{1,3}\$?\d{1,7}(?::\$?[A-Z]{1,3}\$?\d{1,7})?)(?![\w(!.])"
    r"|(?P<name>[A-Z][A-Z0-9.]*)(?=\s*\()|(?P<sign>[-+*/^%(),]))",
    re.IGNORECASE,
)
_CELL = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})", re.IGNORECASE)
_OPEN_DOCUMENT = re.compile(r"\[\.([^\]:]+)(?::\.([^\]]+))?\]")

Place: TypeAlias = tuple[int, int]
"""Row and column, from 1."""
Content: TypeAlias = Decimal | str
"""A figure; a formula, which begins with "="; any other text."""
_List: TypeAlias = list[Decimal]


class NotWorkedOut(Exception):
    """A formula is none of those that are worked out."""


def without_value(count: int) -> str:
    """Return the sentence about formulas that could not be worked out."""
    return f"{count} formula{'s have' if count > 1 else ' has'} no stored value and could not be worked out."


def worked_out(count: int) -> str:
    """Return the sentence about formulas that were."""
    return f"{count} formula{'s' * (count > 1)} without a stored value {'were' if count > 1 else 'was'} worked out."


def column_number(letters: str) -> int:
    """Return the number of a column: 1 for A, 27 for AA."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def from_open_document(formula: str) -> str:
    """Return a formula of an OpenDocument workbook as Excel would write it; sheets of others stay what they are."""
    body = formula.partition("=")[2]
    return _OPEN_DOCUMENT.sub(lambda m: f"{m[1]}:{m[2]}" if m[2] else m[1], body).replace(";", ",")


@dataclass(slots=True)
class Sheet:
    """The cells of one sheet, as far as formulas may ask for them."""

    cells: Mapping[Place, Content]
    _known: dict[Place, Decimal | None] = field(default_factory=dict)
    _steps: int = 0

    def value(self, formula: str) -> Decimal | None:
        """Return what a formula (without its "=") comes to, None where that is not known here."""
        try:
            with localcontext(Context(prec=30)):
                found = _Parser(formula, self, 0).run()
                return found if abs(found.adjusted()) <= _MAX_DIGITS else None
        except (NotWorkedOut, DecimalException, RecursionError):
            return None

    def at(self, place: Place, depth: int) -> Decimal | None:
        """Return the figure in a cell, None for words and for nothing; raise where its own formula is not known."""
        self._steps += 1
        if depth > _MAX_DEPTH or self._steps > _MAX_STEPS:
            raise NotWorkedOut
        content = self.cells.get(place)
        if not isinstance(content, str):
            return content
        if not content.startswith("="):
            return None
        if place not in self._known:
            self._known[place] = None  # a cell that refers to itself has no value
            self._known[place] = _Parser(content[1:], self, depth + 1).run()
        found = self._known[place]
        if found is None:
            raise NotWorkedOut
        return found

    def holds(self, place: Place) -> bool:
        """Tell whether a cell holds anything."""
        return place in self.cells

    def places(self, written: str) -> Iterator[Place]:
        """Yield the places of a cell or a range."""
        corners = [(int(m[2]), column_number(m[1])) for m in _CELL.finditer(written)]
        (top, left), (bottom, right) = corners[0], corners[-1]
        if (abs(bottom - top) + 1) * (abs(right - left) + 1) > _MAX_STEPS:
            raise NotWorkedOut
        for row in range(min(top, bottom), max(top, bottom) + 1):
            for column in range(min(left, right), max(left, right) + 1):
                yield row, column


def _average(values: Sequence[Decimal]) -> Decimal:
    return sum(values, Decimal(0)) / len(values)


def _product(values: Sequence[Decimal]) -> Decimal:
    made = Decimal(1)
    for value in values:
        made *= value
    return made


def _rounded(values: Sequence[Decimal]) -> Decimal:
    figure, places = values
    if abs(places) > 20:
        raise NotWorkedOut
    return figure.quantize(Decimal(1).scaleb(-int(places)), rounding=ROUND_HALF_UP)


def _median(values: Sequence[Decimal]) -> Decimal:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


_FUNCTIONS: Mapping[str, tuple[int, int | None, Callable[[Sequence[Decimal]], Decimal]]] = {
    "SUM": (0, None, lambda values: sum(values, Decimal(0))),
    "AVERAGE": (1, None, _average),
    "MIN": (0, None, lambda values: min(values, default=Decimal(0))),
    "MAX": (0, None, lambda values: max(values, default=Decimal(0))),
    "COUNT": (0, None, lambda values: Decimal(len(values))),
    "PRODUCT": (1, None, _product),
    "MEDIAN": (1, None, _median),
    "ABS": (1, 1, lambda values: abs(values[0])),
    "SQRT": (1, 1, lambda values: values[0].sqrt()),
    "ROUND": (2, 2, _rounded),
}
"""By name: how many figures it takes at least and at most, and what it makes of them."""


class _Parser:
    """Reads one formula from left to right."""

    def __init__(self, formula: str, sheet: Sheet, depth: int) -> None:
        if len(formula) > MAX_FORMULA:
            raise NotWorkedOut
        self._sheet = sheet
        self._depth = depth
        self._tokens = list(_tokens(formula))
        self._next = 0

    def run(self) -> Decimal:
        """Return the value of the whole formula."""
        value = self._sum()
        if self._peek() != ("", ""):
            raise NotWorkedOut
        return value

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._next] if self._next < len(self._tokens) else ("", "")

    def _take(self, *signs: str) -> str:
        """Take the next sign if it is one of these, else return ""."""
        kind, text = self._peek()
        if kind == "sign" and text in signs:
            self._next += 1
            return text
        return ""

    def _sum(self) -> Decimal:
        value = self._term()
        while sign := self._take("+", "-"):
            value = value + self._term() if sign == "+" else value - self._term()
        return value

    def _term(self) -> Decimal:
        value = self._power()
        while sign := self._take("*", "/"):
            value = value * self._power() if sign == "*" else value / self._power()
        return value

    def _power(self) -> Decimal:
        value = self._signed()
        while self._take("^"):
            exponent = self._signed()
            if abs(exponent) > _MAX_POWER:
                raise NotWorkedOut
            value = value**exponent
        return value

    def _signed(self) -> Decimal:
        if sign := self._take("-", "+"):
            return -self._signed() if sign == "-" else self._signed()
        value = self._atom()
        while self._take("%"):
            value /= 100
        return value

    def _atom(self) -> Decimal:
        kind, text = self._peek()
        self._next += 1
        if kind == "number":
            return Decimal(text)
        if kind == "range" and ":" not in text:
            return self._cell(text)
        if kind == "name":
            return self._call(text.upper())
        if (kind, text) == ("sign", "("):
            value = self._sum()
            if not self._take(")"):
                raise NotWorkedOut
            return value
        raise NotWorkedOut

    def _cell(self, text: str) -> Decimal:
        """Return the figure of one cell; an empty one counts as 0, words have none."""
        place = next(self._sheet.places(text))
        value = self._sheet.at(place, self._depth)
        if value is None and self._sheet.holds(place):
            raise NotWorkedOut
        return value or Decimal(0)

    def _call(self, name: str) -> Decimal:
        known = _FUNCTIONS.get(name)
        if known is None or not self._take("("):
            raise NotWorkedOut
        values: _List = []
        while not self._take(")"):
            values += self._argument()
            if not self._take(",") and self._peek() != ("sign", ")"):
                raise NotWorkedOut
        least, most, function = known
        if len(values) < least or (most is not None and len(values) > most):
            raise NotWorkedOut
        return function(values)

    def _argument(self) -> _List:
        """Return the figures of a range, or of one expression."""
        kind, text = self._peek()
        following = self._tokens[self._next + 1] if self._next + 1 < len(self._tokens) else ("", "")
        if kind == "range" and following in (("sign", ","), ("sign", ")")):
            self._next += 1
            found = (self._sheet.at(place, self._depth) for place in self._sheet.places(text))
            return [value for value in found if value is not None]
        return [self._sum()]


def _tokens(formula: str) -> Iterator[tuple[str, str]]:
    """Yield kind and text of each token; raise for what is none that is known here."""
    place, formula = 0, formula.strip()
    while place < len(formula):
        found = _TOKEN.match(formula, place)
        if found is None or found.lastgroup is None:
            raise NotWorkedOut
        yield found.lastgroup, found[found.lastgroup]
        place = found.end()
