"""Numbers that are written as English words: cardinals such as "two hundred and five", ordinals up to hundredth."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.domain.units import SPACE


@dataclass(frozen=True, slots=True)
class WordNumber:
    """A number in words and its range of code points, end exclusive."""

    start: int
    end: int
    value: int


_UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINAL_UNITS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_ORDINAL_TEENS = (
    *("tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth"),
    *("sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"),
)
_CARDINALS = {
    "a": 1,
    **{word: n for n, word in enumerate(_UNITS, 1)},
    **{word: n for n, word in enumerate(_TEENS, 10)},
    **{word: n * 10 for n, word in enumerate(_TENS, 2)},
}
_ORDINAL_TENS = ("thirtieth", "fortieth", "fiftieth", "sixtieth", "seventieth", "eightieth", "ninetieth", "hundredth")
_ORDINALS = {
    **{word: n for n, word in enumerate(_ORDINAL_UNITS + _ORDINAL_TEENS, 1)},
    **{word: n * 10 for n, word in enumerate(_ORDINAL_TENS, 3)},
    **{f"{ten} {unit}": n * 10 + m for n, ten in enumerate(_TENS, 2) for m, unit in enumerate(_ORDINAL_UNITS, 1)},
}
_SCALES = {"hundred": 100, "dozen": 12, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

_JOIN = rf"(?:{SPACE}+|-)"
_AND = rf"{_JOIN}(?:and{_JOIN})?"
_ONES = "|".join(_UNITS)
_NO_ORDINAL = rf"(?!{_JOIN}(?:{'|'.join(_ORDINAL_UNITS)})\b)"
_BELOW_100 = rf"(?:(?:{'|'.join(_TENS)})(?:{_JOIN}(?:{_ONES})\b)?{_NO_ORDINAL}|{'|'.join(_TEENS + _UNITS)}|zero)\b"
_BELOW_1000 = rf"(?:(?:{_BELOW_100}|a){_JOIN}(?:hundred|dozen)\b(?:{_AND}{_BELOW_100})?|{_BELOW_100})"
_LARGE = r"(?:thousand|million|billion|trillion)\b"
_WRITTEN = re.compile(
    rf"\b(?:(?:{_BELOW_1000}|a){_JOIN}{_LARGE}(?:{_AND}{_BELOW_1000}(?:{_JOIN}{_LARGE})?)*|{_BELOW_1000})",
    re.IGNORECASE,
)
_WRITTEN_ORDINAL = re.compile(
    rf"(?<![^\W\d_])(?<!per )(?<!-)(?:(?:{'|'.join(_TENS)}){_JOIN}(?:{'|'.join(_ORDINAL_UNITS)})"
    rf"|{'|'.join(_ORDINAL_UNITS + _ORDINAL_TEENS + _ORDINAL_TENS)})(?!\w)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]+")


def cardinals_in(text: str) -> Iterator[WordNumber]:
    """Yield the cardinal numbers of `text` that are written in words."""
    for match in _WRITTEN.finditer(text):
        yield WordNumber(match.start(), match.end(), _value(_WORD.findall(match.group().casefold())))


def ordinals_in(text: str) -> Iterator[WordNumber]:
    """Yield the ordinal numbers of `text` that are written in words; "per second" is none."""
    for match in _WRITTEN_ORDINAL.finditer(text):
        yield WordNumber(match.start(), match.end(), _ORDINALS[" ".join(_WORD.findall(match.group().casefold()))])


def _value(words: Sequence[str]) -> int:
    total = current = 0
    for word in words:
        scale = _SCALES.get(word, 1)
        if scale >= 1000:
            total, current = total + max(current, 1) * scale, 0
        elif scale > 1:
            current = max(current, 1) * scale
        else:
            current += _CARDINALS.get(word, 0)
    return total + current
