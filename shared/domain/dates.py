"""Dates in running text, as ISO 8601 at the precision in which they are written.

Read are 2024-03-05, 5 March 2024, March 5th, 2024, 5 to 11 April 2021, March 2024, 5 March, 05.03.2024, 25/03/2024,
2024年3月5日, the 1990s and the year range 2019–21; then those that leave something out (`partial_dates`). Bare years
are read with the other figures, in `numbers`.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.partial_dates import PARTIAL_FORMS, partial_dates

_DIGIT = re.compile(r"\d")
_LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date at a range of code points (end exclusive); ``year`` is 0 where none is named, ``iso`` None if unclear."""

    start: int
    end: int
    year: int
    iso: str | None


class Ranged(Protocol):
    """Anything that stands at a range of a text."""

    @property
    def start(self) -> int:
        """Return the first code point."""
        ...

    @property
    def end(self) -> int:
        """Return the code point after the last."""
        ...


def blank(text: str, found: Sequence[Ranged]) -> str:
    """Return the text with the ranges overwritten by NUL, so that nothing else is read there; offsets stay."""
    for item in found:
        text = text[: item.start] + "\0" * (item.end - item.start) + text[item.end :]
    return text


def dates_in(text: str) -> list[FoundDate]:
    """Return the dates of a text, most explicit forms first; none overlaps another."""
    found: list[FoundDate] = []
    for pattern, read in _FORMS if _DIGIT.search(text) else ():
        new = [date for match in pattern.finditer(text) for date in read(match)]
        text = blank(text, new)
        found += new
    for form in PARTIAL_FORMS:
        new = [FoundDate(start, end, year, iso) for start, end, year, iso in partial_dates(text, *form)]
        text = blank(text, new)
        found += new
    return found


_SPACE = r"[^\S\n]"
MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTHS = {name[:3]: number for number, name in enumerate(MONTH_NAMES, 1)}
_MONTH = (
    "(?P<month>"
    + "|".join(
        [f"{n.capitalize()}|{n.upper()}" for n in MONTH_NAMES]
        + [f"{n[:3].capitalize()}\\.?" for n in MONTH_NAMES]
        + ["Sept\\.?"]
    )
    + r")(?![^\W_])"
)
_DAY = r"(?<![\d.,:/-])(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
_FIRST_DAY = (
    rf"(?:(?<![\d.,:/-])(?P<first>\d{{1,2}})(?:st|nd|rd|th|\.)?{_SPACE}?(?:[-–—/]|(?:to|and|or){_SPACE}){_SPACE}?)?"
)
_TO_DAY = rf"(?:{_SPACE}?(?:[-–—/]|(?:to|and|or){_SPACE}){_SPACE}?(?P<last>\d{{1,2}})(?:st|nd|rd|th)?)?"
_YEAR = r"(?P<year>[12]\d{3})(?![\d]|[.,]\d)"


def _valid(month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= _LONGEST_MONTHS[month - 1]


def _iso(year: int, month: int, day: int | None) -> str:
    head = f"{year:04}" if year else "-"
    return f"{head}-{month:02}" if day is None else f"{head}-{month:02}-{day:02}"


def _numeric(match: re.Match[str]) -> Iterator[FoundDate]:
    """Read year, month and day in digits."""
    year, month, day = int(match.group("y")), int(match.group("m")), int(match.group("d"))
    if _valid(month, day):
        yield FoundDate(match.start(), match.end(), year, _iso(year, month, day))


def _slashed(match: re.Match[str]) -> Iterator[FoundDate]:
    """Read 25/03/2024 or 03/25/2024; where both readings are possible and differ, the date stays unclear."""
    one, two, year = int(match.group("d")), int(match.group("m")), int(match.group("y"))
    readings = {(m, d) for d, m in ((one, two), (two, one)) if _valid(m, d)}
    if len(readings) == 1:
        ((month, day),) = readings
        yield FoundDate(match.start(), match.end(), year, _iso(year, month, day))
    elif readings:
        yield FoundDate(match.start(), match.end(), year, None)


def _named(match: re.Match[str]) -> Iterator[FoundDate]:
    """Read a date whose month is a word, with one day, two days of a range, or none."""
    groups = match.groupdict()
    month = _MONTHS[groups["month"][:3].casefold()]
    year = int(groups.get("year") or 0)
    days = [(name, int(groups[name])) for name in ("first", "day", "last") if groups.get(name)]
    if not days and "day" not in groups:
        yield FoundDate(match.start(), match.end(), year, _iso(year, month, None))
    elif days and all(_valid(month, day) for _, day in days):
        yield from _days(match, year, month, days)


def _days(match: re.Match[str], year: int, month: int, days: Sequence[tuple[str, int]]) -> Iterator[FoundDate]:
    """Yield the days of one match side by side: the day with the month takes what the others leave."""
    start, end = match.span()
    for name, day in days:
        iso = _iso(year, month, day)
        if name == "first":
            yield FoundDate(match.start("first"), match.end("first"), year, iso)
            start = match.start("day")
        elif name == "last":
            yield FoundDate(match.start("last"), match.end(), year, iso)
        else:
            yield FoundDate(start, match.start("last") if match.groupdict().get("last") else end, year, iso)


def _cjk(match: re.Match[str]) -> Iterator[FoundDate]:
    year, month, day = (int(match.group(name) or 0) for name in ("y", "m", "d"))
    if not month:
        yield FoundDate(match.start(), match.end(), year, f"{year:04}")
    elif _valid(month, day or 1):
        yield FoundDate(match.start(), match.end(), year, _iso(year, month, day or None))


def _decade(match: re.Match[str]) -> Iterator[FoundDate]:
    year = int(match.group("y"))
    iso = f"{year // 100}XX" if year % 100 == 0 else f"{year // 10}X"
    yield FoundDate(match.start(), match.end(), year, iso)


def _year_month(match: re.Match[str]) -> Iterator[FoundDate]:
    year = int(match.group("y"))
    yield FoundDate(match.start(), match.end(), year, _iso(year, int(match.group("m")), None))


def _year_range(match: re.Match[str]) -> Iterator[FoundDate]:
    """Read 2019–21 and 2019/20 as two years."""
    first, short = int(match.group("y")), int(match.group("z"))
    if short > first % 100:
        last = first - first % 100 + short
        yield FoundDate(match.start("y"), match.end("y"), first, f"{first:04}")
        yield FoundDate(match.start("z"), match.end("z"), last, f"{last:04}")


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Iterator[FoundDate]]], ...] = (
    (
        re.compile(r"(?<![\d.,/-])(?P<y>[12]\d{3})(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})(?![\d/-]|[.,]\d)"),
        _numeric,
    ),
    (
        re.compile(r"(?<![\d.,/-])(?P<d>\d{1,2})\.[^\S\n]?(?P<m>\d{1,2})\.[^\S\n]?(?P<y>[12]\d{3})(?![\d/-]|[.,]\d)"),
        _numeric,
    ),
    (
        re.compile(r"(?<![\d.,/-])(?P<d>\d{1,2})(?P<sep>[/-])(?P<m>\d{1,2})(?P=sep)(?P<y>[12]\d{3})(?![\d/-]|[.,]\d)"),
        _slashed,
    ),
    (re.compile(r"(?:(?<!\d)(?P<y>[12]\d{3})年)(?:(?P<m>\d{1,2})月(?:(?P<d>\d{1,2})日)?)?"), _cjk),
    (re.compile(r"(?<!\d)(?P<y>)(?P<m>\d{1,2})月(?P<d>\d{1,2})日"), _cjk),
    (re.compile(rf"{_FIRST_DAY}{_DAY}(?:{_SPACE}|-)?(?:of{_SPACE})?{_MONTH}(?:,?{_SPACE}|-){_YEAR}"), _named),
    (re.compile(rf"(?<!\w){_MONTH}{_SPACE}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?{_TO_DAY},?{_SPACE}{_YEAR}"), _named),
    (re.compile(rf"(?<!\w){_MONTH}(?:,?{_SPACE}(?:of{_SPACE})?|-|/){_YEAR}"), _named),
    (re.compile(rf"{_FIRST_DAY}{_DAY}{_SPACE}?(?:of{_SPACE})?{_MONTH}"), _named),
    (
        re.compile(rf"(?<!\w){_MONTH}{_SPACE}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?{_TO_DAY}(?!\w|[.,:]\d|{_SPACE}?%)"),
        _named,
    ),
    (re.compile(r"(?<![\w.,-])(?P<y>[12]\d{2}0)(?:[^\S\n]?['’])?s(?!\w)"), _decade),
    (re.compile(r"(?<![\w.,/-])(?P<y>[12]\d{3})-(?P<m>0[1-9]|1[0-2])(?![\w/-]|[.,]\d)"), _year_month),
    (re.compile(r"(?<![\w.,/-])(?P<y>1\d{3}|20\d{2})[-–/](?P<z>\d{2})(?![\w/%-]|[.,]\d)"), _year_range),
)
