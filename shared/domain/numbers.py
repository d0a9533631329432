"""Figures as values: what numbers, amounts, percentages, dates and ordinals a text states.

Two texts agree on a figure when it has the same value, however it is written: "1.2 million" is 1,200,000, and
"5 March 2024" is 2024-03-05. Where a spelling is ambiguous the reading is fixed and the same on both sides: "1 234" is
one number, "1.234" has three decimals, "05/03/2024" is a date that equals only itself (and its year).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from shared.domain.conversion import converted
from shared.domain.dates import FoundDate, blank, dates_in
from shared.domain.number_words import cardinals_in, ordinals_in
from shared.domain.numerals import MIXED, SCIENTIFIC, mixed_value, scientific_value
from shared.domain.partial_dates import covers
from shared.domain.units import AFTER, CURRENCY_BEFORE, SPACE, currency_name, unit_name

Kind = Literal["number", "percent", "money", "date", "ordinal"]

CLOCK = "clock"
"""Unit of a time of day; its value is in minutes since midnight."""

VERSION = "version"
"""Unit of a dotted number such as 3.11.2, which equals only itself."""


CONVERSION_TOLERANCE = Decimal("0.01")
"""How far, as a part of it, a figure may lie from one in another unit."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure and where it stands: ``text`` is that of the code points from ``start`` to ``end``, end exclusive.

    The value of a date is its year (0 where it names none); the date itself is ISO 8601 in ``date``, as precise as it
    was written: 2024-03-05, 2024-03, 2024, ``--03-05`` without a year, ``199X`` for a decade, ``20XX`` for a century,
    and the forms of `partial_dates`; None where day and month cannot be told apart. Units are canonical names; a
    currency is its code. The exponent of a value is the precision that was written: 1.2 million is 1.2E+6.
    """

    value: Decimal
    unit: str | None
    kind: Kind
    text: str
    start: int
    end: int
    date: str | None = None


_LETTER_BEFORE = (
    r"(?<![A-Za-zÀ-ÖØ-öø-ɏͰ-ӿ_\d])(?<!\d\.)"
    r"(?:(?<![A-Za-z]-)|(?<=\b(?i:mid|pre|non|top)-)|(?<=\b(?i:post|late|over)-)|(?<=\b(?i:early|under)-))"
)
_GROUP = r"[ \u00a0\u2009\u202f]"
_LITERAL = "|".join(
    (
        rf"(?P<scientific>{SCIENTIFIC})",
        rf"(?P<mixed>{MIXED})",
        r"\d+(?:\.\d+)?[eE][-+]?\d{1,2}(?!\w)(?P<power>)",
        r"\d+(?:\.\d+){2,}(?!\d|,\d)(?P<dotted>)",
        r"(?!0)\d{1,3}(?:,\d{3})+(?!\d|,\d)(?:\.\d+)?",
        r"(?!0)\d{1,2}(?:,\d{2})+,\d{3}(?!\d|,\d)(?:\.\d+)?",
        r"(?!0)\d{1,3}(?:\.\d{3})+,\d+(?!\d)(?P<comma_1>)",
        rf"(?<!\d[.,])(?!0)\d{{1,3}}(?:{_GROUP}\d{{3}})+(?![\d])(?:\.\d+|,\d{{1,2}}(?!\d)(?P<comma_2>))?",
        r"(?!0)\d{1,3}(?:['’]\d{3})+(?!\d)(?:\.\d+)?",
        r"(?<!\d[.,])\d+,(?:\d{1,2}|(?<=0,)\d+)(?!\d|,\d|\.\d)(?P<comma_3>)",
        r"\d+\.\d+",
        r"\d+",
    )
)
_GROUPED_BY_DOTS = re.compile(r"(?!0)\d{1,3}(?:\.\d{3}){2,}")
_MAGNITUDES = {
    "hundred": 2,
    "k": 3,
    "thousand": 3,
    "lakh": 5,
    "m": 6,
    "mn": 6,
    "mln": 6,
    "million": 6,
    "crore": 7,
    "b": 9,
    "bn": 9,
    "billion": 9,
    "tn": 12,
    "trillion": 12,
    "万": 4,
    "萬": 4,
    "億": 8,
    "亿": 8,
    "兆": 12,
}
_MAGNITUDE = (
    rf"(?:{SPACE}*|-)(?P<magnitude>(?i:hundred|thousand|lakh|mn|mln|million|crore|bn|billion|tn|trillion)(?![^\W\d_])"
    r"|(?<=[\d½¼¾])[kKMbB](?![^\W\d_])|[万萬億亿兆])"
)
_NUMERAL = re.compile(
    rf"(?:(?P<currency>{CURRENCY_BEFORE}){SPACE}*|{_LETTER_BEFORE}(?:(?<![\w)\]])(?P<sign>[-\u2212]))?)"
    rf"(?:(?P<literal>{_LITERAL})(?P<fraction>[½¼¾⅓⅔⅛⅜⅝⅞])?|(?P<only>[½¼¾⅛⅜⅝⅞]))"
    rf"(?:(?P<ordinal>(?i:st|nd|rd|th))(?!\w)|{_MAGNITUDE}|(?P<million>m)(?![^\W\d_]))?"
)
_CLOCK = re.compile(r"(?<![\d:.,])([01]?\d|2[0-4]):([0-5]\d)(?::[0-5]\d)?(?![\d:])")
_FRACTIONS = {
    "½": Decimal("0.5"),
    "¼": Decimal("0.25"),
    "¾": Decimal("0.75"),
    "⅓": Decimal(1) / 3,
    "⅔": Decimal(2) / 3,
    "⅛": Decimal("0.125"),
    "⅜": Decimal("0.375"),
    "⅝": Decimal("0.625"),
    "⅞": Decimal("0.875"),
}

_RANGE = re.compile(rf"{SPACE}*(?:[-–—~]|\b(?:to|or|and)\b){SPACE}*", re.IGNORECASE)
_SCALE = re.compile(r"(?<![^\W\d_])(?:thousand|mn|mln|million|bn|billion|tn|trillion)(?![^\W\d_])", re.IGNORECASE)
_PRONOUN_BEFORE = re.compile(rf"\b(?:no|the|this|that|any|every|each|which|another|some){SPACE}+\Z", re.IGNORECASE)
_PRONOUN_AFTER = re.compile(rf"{SPACE}+(?:of|another|who|that|which|day)\b|['’]s\b", re.IGNORECASE)


@lru_cache(maxsize=64)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return the figures of `text` in their order; none overlaps another."""
    found = [_from_date(date) for date in dates_in(text)]
    rest = blank(text, found)
    for read in (_clocks, _numerals, _written, _ordinals):
        new = list(read(rest))
        rest = blank(rest, new)
        found += new
    found = [replace(q, text=text[q.start : q.end]) for q in sorted(found, key=lambda q: q.start)]
    return tuple(_with_ranges(text, found))


def missing_quantities(statement: str, spans: Sequence[str]) -> tuple[Quantity, ...]:
    """Return the figures of `statement` whose value stands in none of the spans.

    A unit, currency or kind that the statement gives must be there too. A date is met by one that is the same or more
    precise: a year by any day of it, a month by a day of that month, never the other way round. The pronoun "one"
    ("one of them", "no one") is not a figure.
    """
    known = [q for span in spans for q in quantities(span)]
    stated = (q for q in quantities(statement) if not is_pronoun(statement, q))
    return tuple(q for q in stated if not any(states(found, q) for found in known))


def states(found: Quantity, wanted: Quantity) -> bool:
    """Tell whether the figure `found` says what `wanted` says, or says it more precisely.

    A figure in another unit of the same dimension is converted and may differ by 1 %; one that was written more
    precisely may be rounded to what is wanted, unless that is a plain number of one digit or in words.
    """
    if wanted.kind == "date" or found.kind == "date":
        return _states_date(found, wanted)
    if found.kind != wanted.kind:
        return False
    if VERSION in (found.unit, wanted.unit):
        return found.text == wanted.text
    if wanted.unit is None or wanted.unit == found.unit:
        return found.value == wanted.value or _rounds_to(found, wanted)
    if found.unit is None or found.kind != "number":
        return False
    value = converted(found.value, found.unit, wanted.unit)
    return value is not None and abs(value - wanted.value) <= CONVERSION_TOLERANCE * abs(wanted.value)


def _rounds_to(found: Quantity, wanted: Quantity) -> bool:
    """Tell whether `found` is written more precisely and is `wanted` when it is rounded to the precision of that."""
    places, finer = wanted.value.as_tuple(), found.value.as_tuple()
    short = len(places.digits) == 1 and wanted.kind == "number" and wanted.unit is None and places.exponent == 0
    if short or not wanted.text[:1].strip("-\u2212$€£¥").isdecimal() or int(finer.exponent) >= int(places.exponent):
        return False
    return abs(found.value - wanted.value) * 2 <= Decimal(1).scaleb(int(places.exponent))


def _states_date(found: Quantity, wanted: Quantity) -> bool:
    """Compare where at least one side is a date; a bare year may also be a plain number."""
    if found.kind != wanted.kind:
        date, number = (found, wanted) if found.kind == "date" else (wanted, found)
        plain = number.kind == "number" and number.unit is None
        return plain and date.date == str(date.value) and date.value == number.value
    if wanted.date is None:
        return found.text == wanted.text
    if found.date is None:
        return wanted.date == str(found.value)
    return covers(found.date, wanted.date)


def is_pronoun(text: str, quantity: Quantity) -> bool:
    """Tell whether the figure is the word "one" in a place where it counts nothing."""
    if quantity.text.casefold() != "one":
        return False
    return bool(_PRONOUN_BEFORE.search(text[: quantity.start]) or _PRONOUN_AFTER.match(text, quantity.end))


def _from_date(found: FoundDate) -> Quantity:
    return Quantity(Decimal(found.year), None, "date", "", found.start, found.end, found.iso)


def _clocks(text: str) -> Iterator[Quantity]:
    for match in _CLOCK.finditer(text):
        minutes = int(match.group(1)) * 60 + int(match.group(2))
        yield Quantity(Decimal(minutes), CLOCK, "number", "", match.start(), match.end())


def _literal(match: re.Match[str]) -> tuple[Decimal, str | None]:
    """Return the value of the digits of a numeral, and the unit `VERSION` where they are no number."""
    text = match.group("literal")
    if match.group("scientific") is not None:
        return scientific_value(text), None
    if match.group("mixed") is not None:
        return mixed_value(text), None
    if match.group("power") is not None:
        return Decimal(text), None
    if match.group("dotted") is not None:
        if not _GROUPED_BY_DOTS.fullmatch(text):
            return Decimal(".".join(text.split(".")[:2])), VERSION
        return Decimal(text.replace(".", "")), None
    if any(match.group(name) is not None for name in ("comma_1", "comma_2", "comma_3")):
        whole, _, decimals = text.rpartition(",")
        return Decimal(f"{re.sub(r'[^0-9]', '', _ascii(whole))}.{decimals}"), None
    return Decimal(re.sub(r"[^0-9.]", "", _ascii(text))), None


def _ascii(digits: str) -> str:
    """Return the digits of any script as ASCII ones."""
    return "".join(str(int(c)) if c.isdecimal() else c for c in digits)


def _numerals(text: str) -> Iterator[Quantity]:
    """Yield the figures that are written in digits."""
    position = 0
    while match := _NUMERAL.search(text, position):
        quantity = _numeral(text, match)
        position = quantity.end
        yield quantity


def _numeral(text: str, match: re.Match[str]) -> Quantity:
    value, unit = _literal(match) if match.group("literal") else (Decimal(0), None)
    value += _FRACTIONS.get(match.group("fraction") or match.group("only") or "", Decimal(0))
    currency = match.group("currency")
    end = match.end()
    if match.group("million") and not currency:
        end = match.start("million")
    magnitude = (match.group("magnitude") or (match.group("million") if currency else None) or "").casefold()
    value = value.scaleb(_MAGNITUDES.get(magnitude, 0))
    value = -value if match.group("sign") else value
    if match.group("ordinal"):
        return Quantity(value, None, "ordinal", "", match.start(), end)
    if currency:
        return Quantity(value, currency_name(currency), "money", "", match.start(), end)
    return _with_unit(text, Quantity(value, unit, "number", "", match.start(), end), plain=end == match.end("literal"))


def _with_unit(text: str, quantity: Quantity, *, plain: bool = False) -> Quantity:
    """Read the unit after a figure; a ``plain`` numeral of four digits without one is a year."""
    after = AFTER.match(text, quantity.end)
    if after is None:
        return _as_year(text, quantity) if plain else quantity
    if after.group("percent"):
        return replace(quantity, kind="percent", end=after.end())
    if after.group("money"):
        return replace(quantity, kind="money", unit=currency_name(after.group("money")), end=after.end())
    unit = unit_name(after.group("unit"))
    if after.group("per"):
        unit = f"{unit}/{unit_name(after.group('per'))}"
    return replace(quantity, unit=unit, end=after.end())


def _as_year(text: str, quantity: Quantity) -> Quantity:
    written = text[quantity.start : quantity.end]
    if len(written) == 4 and written.isdecimal() and 1000 <= quantity.value <= 2100:
        return replace(quantity, kind="date", date=str(quantity.value))
    return quantity


def _written(text: str) -> Iterator[Quantity]:
    """Yield the figures that are written in words."""
    for found in cardinals_in(text):
        yield _with_unit(text, Quantity(Decimal(found.value), None, "number", "", found.start, found.end))


def _ordinals(text: str) -> Iterator[Quantity]:
    for found in ordinals_in(text):
        yield Quantity(Decimal(found.value), None, "ordinal", "", found.start, found.end)


def _scaled(one: Quantity, two: Quantity) -> Decimal:
    """Return the lower end of a range in the magnitude of the upper: "5–10 million" starts at 5,000,000."""
    scale, own = _SCALE.search(two.text), _SCALE.search(one.text)
    if scale is None or own is not None or abs(one.value) >= 1000:
        return one.value
    return one.value.scaleb(_MAGNITUDES[scale.group().casefold()])


def _with_ranges(text: str, found: Sequence[Quantity]) -> Iterator[Quantity]:
    """Give both ends of a range what only one of them has: "5 to 10 km" is 5 km and 10 km, "$5–10" two amounts."""
    settled = list(found)
    for i in range(len(settled) - 2, -1, -1):
        one, two = settled[i], settled[i + 1]
        if (
            not _RANGE.fullmatch(text, one.end, two.start)
            or "date" in (one.kind, two.kind)
            or CLOCK in (one.unit, two.unit)
        ):
            continue
        if one.kind == "number" and one.unit is None and two.kind in ("number", "percent", "money"):
            settled[i] = replace(one, kind=two.kind, unit=two.unit, value=_scaled(one, two))
        elif one.kind == "money" and two.kind == "number" and two.unit is None:
            settled[i] = replace(one, value=_scaled(one, two))
            settled[i + 1] = replace(two, kind="money", unit=one.unit)
    yield from settled
