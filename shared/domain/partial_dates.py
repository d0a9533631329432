"""Dates that leave something out: quarters, months and days of the week alone, decades without a century.

They are spelt like ISO 8601 where it has a form: ``2024-Q3`` and ``--Q3`` for quarters, ``--03`` for March, ``-W-5``
for Friday, ``XX5X`` for the fifties, ``2021-S3`` for the autumn of 2021 and ``2021-H1`` for its first half. `covers`
tells whether a date says what a vaguer one says; seasons are those of the north.
"""

import datetime
import re
from collections.abc import Callable, Iterator, Mapping

_SPACE = r"[^\S\n]"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DECADES = ("twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
_QUARTERS = {"f": 1, "s": 2, "t": 3, "1": 1, "2": 2, "3": 3, "4": 4}

_SEASONS = {"sp": 1, "su": 2, "au": 3, "fa": 3, "wi": 4}
_SEASON_MONTHS = {1: "345", 2: "678", 3: "9AB", 4: "C12"}
"""Months of the northern seasons, as hexadecimal digits."""

_OF_YEAR = rf"(?:(?:,|['’]s)?{_SPACE}(?:(?:of|in|the|fiscal|year|FY){_SPACE}?){{0,4}}(?P<year>[12]\d{{3}})(?!\w))"
_SEASON = r"(?P<season>(?i:spring|summer|autumn|fall|winter))"
_HALF = rf"(?:H(?P<half>[12])|(?i:(?P<which>first|second|1st|2nd)(?:{_SPACE}|-)half))"

_QUARTER = (
    r"(?:Q(?P<q>[1-4])|(?P<p>[1-4])Q|(?P<word>(?i:first|second|third|fourth|1st|2nd|3rd|4th))"
    rf"(?:{_SPACE}|-)(?i:quarter))(?!\w)"
)
_MONTH_AFTER = r"in|of|by|to|since|until|till|from|last|next|this|early|late|mid|and|or|between|through|during|every"
_PATTERNS = (
    rf"(?<!\w){_QUARTER}{_OF_YEAR}?",
    rf"(?<![\w.,])(?P<year>[12]\d{{3}})(?:['’]s)?(?:{_SPACE}|-){_QUARTER}",
    rf"(?<!\w){_SEASON}{_OF_YEAR}",
    rf"(?<!\w){_HALF}{_OF_YEAR}",
    r"(?<!\w)(?P<weekday>(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:MON|TUES|WEDNES|THURS|FRI|SATUR|SUN)DAY)s?(?!\w)",
    r"(?<![\w.,])['’]?(?P<tens>[2-9])0['’]?s(?!\w)",
    rf"(?<!\w)(?P<decade>(?i:{'|'.join(_DECADES)}))(?!\w)",
    (
        r"(?<!\w)(?P<month>(?:January|February|April|June|July|August|September|October|November|December)|"
        r"(?:JANUARY|FEBRUARY|APRIL|JUNE|JULY|AUGUST|SEPTEMBER|OCTOBER|NOVEMBER|DECEMBER))(?![^\W_])"
    ),
    rf"(?<!\w)(?i:{_MONTH_AFTER})(?:{_SPACE}|-)(?P<month>March|May)(?![^\W_])",
)


def _quarter(match: re.Match[str]) -> tuple[str, int]:
    groups = match.groupdict()
    word = (groups["word"] or "").casefold()
    number = 4 if word.startswith("fo") else _QUARTERS[(groups["q"] or groups["p"] or word)[0]]
    year = int(groups["year"] or 0)
    return (f"{year:04}-Q{number}" if year else f"--Q{number}"), year


def _season(match: re.Match[str]) -> tuple[str, int]:
    return f"{match['year']}-S{_SEASONS[match['season'][:2].casefold()]}", int(match["year"])


def _half(match: re.Match[str]) -> tuple[str, int]:
    number = match["half"] or ("1" if match["which"][0] in "fF1" else "2")
    return f"{match['year']}-H{number}", int(match["year"])


def _weekday(match: re.Match[str]) -> tuple[str, int]:
    return f"-W-{_WEEKDAYS.index(match['weekday'][:3].casefold()) + 1}", 0


def _tens(match: re.Match[str]) -> tuple[str, int]:
    return f"XX{match['tens']}X", 0


def _decade(match: re.Match[str]) -> tuple[str, int]:
    return f"XX{_DECADES.index(match['decade'].casefold()) + 2}X", 0


def _month(match: re.Match[str]) -> tuple[str, int]:
    return f"--{_MONTHS.index(match['month'][:3].casefold()) + 1:02}", 0


Reader = Callable[[re.Match[str]], tuple[str, int]]

PARTIAL_FORMS: tuple[tuple[re.Pattern[str], Reader, str | None], ...] = tuple(
    (re.compile(pattern), reader, group)
    for pattern, (reader, group) in zip(
        _PATTERNS,
        (
            (_quarter, None),
            (_quarter, None),
            (_season, None),
            (_half, None),
            (_weekday, None),
            (_tens, None),
            (_decade, None),
            (_month, None),
            (_month, "month"),
        ),
        strict=True,
    )
)
"""Pattern, what gives the ISO form and the year (0 for none), and the group that the date is, or the whole match."""


def partial_dates(
    text: str, pattern: re.Pattern[str], reader: Reader, group: str | None
) -> Iterator[tuple[int, int, int, str]]:
    """Yield start, end, year and ISO form of the dates of one of the `PARTIAL_FORMS`."""
    for match in pattern.finditer(text):
        iso, year = reader(match)
        start, end = match.span(group or 0)
        yield start, end, year, iso


def covers(precise: str, vague: str) -> bool:
    """Tell whether a date says what another says, or says it more precisely, both as `FoundDate.iso`.

    2024-03-05 covers 2024-03, --03, 2024-Q1 and -W-2.
    """
    if precise == vague:
        return True
    said = _said(precise)
    return all(said.get(name) == value for name, value in _said(vague).items())


def _said(iso: str) -> Mapping[str, str]:
    """Return what a date says, part by part; a full date also says its quarter, half, season and weekday."""
    if iso.startswith("-W-"):
        return {"weekday": iso[3:]}
    year, rest = ("", iso[2:]) if iso.startswith("--") else (iso[:4], iso[5:])
    parts = {name: digit for name, digit in zip(("c1", "c2", "tens", "ones"), year, strict=False) if digit != "X"}
    if rest.startswith("Q"):
        return {**parts, "quarter": rest[1:], "half": str((int(rest[1:]) + 1) // 2)}
    if rest.startswith(("S", "H")):
        return {**parts, "season" if rest[0] == "S" else "half": rest[1:]}
    month, _, day = rest.partition("-")
    if month:
        parts |= {"month": month, "quarter": str((int(month) + 2) // 3), "half": str((int(month) + 5) // 6)}
        parts["season"] = next(str(n) for n, months in _SEASON_MONTHS.items() if f"{int(month):X}" in months)
    if day:
        parts["day"] = day
    if year and day:
        parts["weekday"] = str(_weekday_of(int(year), int(month), int(day)))
    return parts


def _weekday_of(year: int, month: int, day: int) -> int:
    """Return 1 for Monday to 7 for Sunday, 0 for a day that the year does not have."""
    try:
        return datetime.date(year, month, day).isoweekday()
    except ValueError:
        return 0
