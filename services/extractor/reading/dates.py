"""Dates as pages and PDFs write them, to ISO 8601; what could mean two days means none."""

import re
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

_ISO = re.compile(
    r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2}))?"
    r"(?:[T\s]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?)?"
)
_COMPACT = re.compile(r"(?:D:)?(\d{4})(\d{2})(\d{2})(?:T?(\d{2})(\d{2})(\d{2})?)?(Z|[+-]\d{2}'?:?\d{2})?")
_MONTHS = {
    name: number
    for names in (
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "jän feber mär apr mai jun jul aug sept okt nov dez",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "janv févr mars avr mai juin juil aout sept octobre nov déc",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "ene feb mar abr may jun jul ago set oct nov dic",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "gen feb mar apr mag giu lug ago set ott nov dic",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "jan fev mar abr mai jun jul ago set out nov dez",
        "januari februari maart april mei juni juli augustus september oktober november december",
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь",
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
        "styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień",
        "januari februari mars april maj juni juli augusti september oktober november december",
    )
    for number, name in enumerate(names.split(), start=1)
}
_ENGLISH = tuple("january february march april may june july august september october november december".split())
_EAST_ASIAN = re.compile(r"(\d{4})\s*[年년]\s*(?:(\d{1,2})\s*[月월]\s*(?:(\d{1,2})\s*[日일])?)?")
_NAMED = re.compile(
    r"(?:(?P<day1>\d{1,2})(?:st|nd|rd|th|er|º|\.)?\s+(?:de\s+)?)?(?P<month>[^\W\d_]{3,12})\.?\s*"
    r"(?:(?P<day2>\d{1,2})(?:st|nd|rd|th)?\b(?!:))?,?\s+(?:del?\s+)?(?P<year>\d{4})\b"
)
_DAY_FIRST = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})\b")
_YEAR = re.compile(r"\d{4}")


def iso_date(written: str) -> str | None:
    """Return "2019", "2019-05", "2019-05-04" or "2019-05-04T10:30:00+02:00", as precise as `written`; None if unclear.

    A time without a zone is dropped, because it names no moment. Years before 1000 and after 2199 are refused.
    """
    text = " ".join(written.split())[:100]
    for read in (_from_iso, _from_compact, _from_header, _from_named, _from_numbers):
        found = read(text)
        if found is not None:
            return found
    return None


def _made(year: int, month: int | None, day: int | None, clock: str = "") -> str | None:
    """Return the date if there is such a day."""
    if not 1000 <= year <= 2199:
        return None
    try:
        datetime(year, month or 1, day or 1)  # noqa: DTZ001  # asked only whether the day exists
    except ValueError:
        return None
    if month is None:
        return f"{year:04d}"
    return f"{year:04d}-{month:02d}" + ("" if day is None else f"-{day:02d}{clock}")


def _clock(hour: str | None, minute: str | None, second: str | None, zone: str | None) -> str:
    """Return "T10:30:00+02:00", or "" where the moment is incomplete or impossible."""
    if not (hour and minute and zone) or int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
        return ""
    digits = re.sub(r"\D", "", zone)
    offset = f"{zone[0]}{digits[:2]}:{digits[2:4]}" if len(digits) == 4 and digits != "0000" else "Z"
    return f"T{int(hour):02d}:{minute}:{second or '00'}{offset}"


def _from_iso(text: str) -> str | None:
    """Read 2019-05-04, 2019/05/04 10:30, 2019-05-04T10:30:00Z and 2019-05."""
    match = _ISO.match(text)
    if match is None:
        return _made(int(text), None, None) if _YEAR.fullmatch(text) else None
    day = match.group("day")
    clock = _clock(*match.group("hour", "minute", "second", "zone"))
    return _made(int(match.group("year")), int(match.group("month")), int(day) if day else None, clock)


def _from_compact(text: str) -> str | None:
    """Read 20190504 and the PDF form D:20190504103000+02'00'."""
    match = _COMPACT.match(text)
    if match is None or (len(match.group()) != len(text) and not text.startswith("D:")):
        return None
    year, month, day, hour, minute, second, zone = match.groups()
    return _made(int(year), int(month), int(day), _clock(hour, minute, second, zone))


def _from_header(text: str) -> str | None:
    """Read the form of mail and HTTP headers."""
    if not re.match(r"[A-Za-z]{3},? \d|\d{1,2} [A-Za-z]{3} \d{4} \d", text):
        return None
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError):
        return None
    clock = "" if moment.tzinfo is None else moment.strftime("T%H:%M:%S") + _offset(moment)
    return _made(moment.year, moment.month, moment.day, clock)


def _offset(moment: datetime) -> str:
    """Return "Z" or "+02:00"."""
    minutes = int((moment.utcoffset() or timedelta()).total_seconds() // 60)
    return "Z" if not minutes else f"{'+' if minutes > 0 else '-'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _from_named(text: str) -> str | None:
    """Read names of months: May 4, 2019; 4 May 2019; May 2019; 4. Mai 2019; 4 de mayo de 2019; 2019年5月4日."""
    eastern = _EAST_ASIAN.match(text)
    if eastern is not None:
        year, in_year, in_month = (int(part) if part else None for part in eastern.groups())
        return _made(year or 0, in_year, in_month)
    for match in _NAMED.finditer(text):
        month = _month(match.group("month").lower())
        day = match.group("day2") or match.group("day1")
        if month is not None:
            return _made(int(match.group("year")), month, int(day) if day else None)
    return None


def _month(name: str) -> int | None:
    """Return the number of a month by its name, whole or, in English, cut short."""
    found = _MONTHS.get(name)
    if found is not None or len(name) < 3:
        return found
    return next((number for number, whole in enumerate(_ENGLISH, start=1) if whole.startswith(name)), None)


def _from_numbers(text: str) -> str | None:
    """Read 4.5.2019 (day first by custom), and 25/12/2019 or 12/25/2019 where only one order is possible."""
    match = _DAY_FIRST.match(text)
    if match is None:
        return None
    first, separator, second, year = int(match[1]), match[2], int(match[3]), int(match[4])
    if separator == "." or first > 12 or first == second:
        return _made(year, second, first)
    return _made(year, first, second) if second > 12 else None
