"""What a cell of a workbook shows: a stored number and its format, to the words that a reader sees.

Figures keep all their digits (the 15 that a workbook has), whatever the format rounds to: 12.5 % for 0.125, EUR and
other words of the format stay. Dates become ISO 8601. See ECMA-376-1, 18.8.30 and 18.17.4.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Literal

from services.extractor.reading.rows import ValueKind

_BUILT_IN = {
    **dict.fromkeys((9, 10), "0%"),
    **dict.fromkeys((14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58), "yyyy-mm-dd"),
    **dict.fromkeys((18, 19, 20, 21, 45, 47), "hh:mm:ss"),
    22: "yyyy-mm-dd hh:mm",
    46: "[h]:mm:ss",
}
_SECTION = re.compile(r'(?:"[^"]*"|\\.|[^;"\\])*')
_CURRENCY = re.compile(r"\[\$([^\]-]*)(?:-[^\]]*)?\]")
_BRACKETS = re.compile(r"\[(?!h+\]|m+\]|s+\])[^\]]*\]", re.IGNORECASE)
_PADDING = re.compile(r"[_*].")
_LITERAL = re.compile(r'"([^"]*)"|\\(.)')
_DIGITS = re.compile(r"[0#?][0#?,. ]*")
_DATE_LETTERS = re.compile(r"[ydmhs]", re.IGNORECASE)
_PLAIN_WORDS = re.compile(r"[$€£¥₹%\w .°/²³-]*")
_DAY_S = 86_400
_LAST_DAY = 2_958_466  # the year 10000
_LEAP_BUG = 60  # the day 29 February 1900, which only workbooks have
Kind = Literal["number", "percent", "date", "time"]


@dataclass(frozen=True, slots=True)
class Format:
    """What a format makes of a number, and the words that it puts around it."""

    kind: Kind = "number"
    prefix: str = ""
    suffix: str = ""


def format_of(number: int, code: str | None) -> Format:
    """Return a format by the number of a built-in one, or by its code."""
    code = code if code is not None else _BUILT_IN.get(number, "")
    match = _SECTION.match(code)
    section = _BRACKETS.sub("", _CURRENCY.sub(r'"\1"', match.group() if match else ""))
    bare = _LITERAL.sub("", _PADDING.sub("", section))
    if _DATE_LETTERS.search(bare) and "general" not in bare.lower() and not re.search(r"[0#]", bare.replace(".0", "")):
        return Format("date" if re.search(r"[yd]", bare, re.IGNORECASE) else "time")
    if "%" in bare:
        return Format("percent")
    return _with_words(_PADDING.sub("", section))


def _with_words(section: str) -> Format:
    """Return the format of a figure with the words before and behind its digits; one that scales shows no words."""
    digits = _DIGITS.search(_LITERAL.sub(lambda match: "\x00" * len(match.group()), section))
    if digits is None or digits.group().rstrip(" ").endswith(","):
        return Format()
    before, after = section[: digits.start()], section[digits.start() + len(digits.group().rstrip(" ")) :]
    prefix, suffix = (_LITERAL.sub(r"\1\2", part) for part in (before, after))
    if not (_PLAIN_WORDS.fullmatch(prefix) and _PLAIN_WORDS.fullmatch(suffix)) or re.search(r"E[+-]", after):
        return Format()
    return Format("number", prefix.lstrip(), suffix.rstrip())


def shown(stored: str, how: Format, *, from_1904: bool) -> tuple[str, ValueKind]:
    """Return what a cell with this stored number shows, and what kind of value that is."""
    try:
        value = Decimal(stored)
    except InvalidOperation:
        return stored, "text"
    if not value.is_finite():
        return stored, "text"
    if how.kind in ("date", "time") and 0 <= value < _LAST_DAY:
        return _moment(float(value), how.kind, from_1904=from_1904), "date" if how.kind == "date" else "number"
    if how.kind == "percent":
        return f"{_plain(value * 100)}%", "number"
    sign, figure = ("-", _plain(-value)) if value < 0 else ("", _plain(value))
    return f"{sign}{how.prefix}{figure}{how.suffix}", "number"


def _plain(value: Decimal) -> str:
    """Return a number with at most 15 digits, without an exponent unless it is far from 1."""
    rounded = Decimal(f"{value:.15g}")
    if not -12 < rounded.adjusted() < 21:
        return f"{value:.15g}"
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _moment(serial: float, kind: Kind, *, from_1904: bool) -> str:
    """Return a day, a moment, or a time (which may have more than 24 hours) from days since the workbook's epoch."""
    seconds = round(serial * _DAY_S)
    if kind == "time":
        return f"{seconds // 3600}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"
    epoch = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 31 if serial < _LEAP_BUG else 30)  # noqa: DTZ001
    moment = epoch + timedelta(seconds=seconds)
    return moment.date().isoformat() if seconds % _DAY_S == 0 else moment.isoformat(" ")
