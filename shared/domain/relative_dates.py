"""Dates that are told from another day: today, last year, three years ago; read only where that day is known."""

import datetime
import re
from collections.abc import Iterator

from shared.domain.number_words import cardinals_in

_SHIFTS = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
_DAYS = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1}
_DAY = re.compile(r"(?<!\w)(?:yesterday|today|tonight|tomorrow)(?!\w)", re.IGNORECASE)
_NEAR = re.compile(
    r"(?<!\w)(?P<shift>last|previous|past|this|current|next|coming)[^\S\n](?P<unit>year|month)(?!\w|[^\S\n](?:of|to)\b)",
    re.IGNORECASE,
)
_AGO = re.compile(r"(?<!\w)(?P<count>\d{1,3}|[a-z]+(?:-[a-z]+)?)[^\S\n]years?[^\S\n]ago(?!\w)", re.IGNORECASE)


def relative_dates(text: str, as_of: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and ISO form of the relative dates of a text, as told on ``as_of`` (a year, month or day).

    None is more precise than ``as_of`` allows: "yesterday" needs a day, "last month" a month.
    """
    year, month, day = (*(int(part) for part in as_of[:10].split("-")), 0, 0)[:3]
    for match in _NEAR.finditer(text):
        shift = _SHIFTS[match["shift"].casefold()]
        if match["unit"].casefold() == "year":
            yield match.start(), match.end(), f"{year + shift:04}"
        elif month:
            moved = year * 12 + month - 1 + shift
            yield match.start(), match.end(), f"{moved // 12:04}-{moved % 12 + 1:02}"
    for match in _AGO.finditer(text):
        count = match["count"]
        number = int(count) if count.isdecimal() else next((n.value for n in cardinals_in(count)), None)
        if number is not None and number < year:
            yield match.start(), match.end(), f"{year - number:04}"
    if day:
        told = datetime.date(year, month, day)
        for match in _DAY.finditer(text):
            moved_day = told + datetime.timedelta(days=_DAYS[match.group().casefold()])
            yield match.start(), match.end(), moved_day.isoformat()
