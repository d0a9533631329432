"""Raised and lowered letters of a printed line: exponents, fractions and note marks, told by size and base line.

While a line is put together, such letters stand between marks; `settle` turns them into what a reader takes them for,
so that no figure gets a digit that nobody sees in it: 10⁶ and m² keep theirs, "3½" is a fraction, and the mark of a
note is left out.
"""

import re
from collections.abc import Callable

UP, DOWN, _END = "\ufdd0", "\ufdd1", "\ufdd2"  # noncharacters: never part of a text
_MARKS = re.compile(f"[{UP}{DOWN}{_END}]")
_GROUP = re.compile(f"(?P<place>[{UP}{DOWN}])(?P<text>[^{UP}{DOWN}{_END}]*){_END}")
_ADJACENT = re.compile(f"(?P<place>[{UP}{DOWN}])(?P<text>[^{UP}{DOWN}{_END}]*){_END}(?P=place)")
_SLASHED = re.compile(
    f"{UP}(?P<over>\\d{{1,3}}){_END}\\s?[/\u2044\u2215]\\s?{DOWN}?(?P<under>\\d{{1,4}}){_END}?(?!\\d)"
)
_STACKED = re.compile(f"(?<![^\\W\\d]){UP}(?P<over>\\d{{1,2}}){_END}{DOWN}(?P<under>\\d{{1,3}}){_END}(?!\\d)")
_STACKED_BELOW = re.compile(f"(?<=\\d){DOWN}(?P<under>\\d{{1,3}}){_END}{UP}(?P<over>\\d{{1,2}}){_END}(?!\\d)")
_TYPED = re.compile(r"(?<!\d)(?P<whole>\d{1,4})(?P<over>\d)\u2044(?P<under>\d{1,2})(?!\d)")
_VULGAR = dict(
    zip(
        "1/4 1/2 3/4 1/7 1/9 1/10 1/3 2/3 1/5 2/5 3/5 4/5 1/6 5/6 1/8 3/8 5/8 7/8".split(),
        "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞",
        strict=True,
    )
)
_RAISED = str.maketrans("0123456789+-−–=()nixyT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ⁿⁱˣʸᵀ")
_CAN_BE_RAISED = re.compile(r"[0-9+\-−–=()nixyT]+")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")

_SIGNED = re.compile(r"[+\-−–]\s?\d{1,3}|\d{0,2}[+\-−–]")
_NOTE_NUMBERS = re.compile(r"\[?\(?\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*[)\].,]?")
_NOTE_SIGNS = re.compile(r"[*∗†‡§¶#‖✝✉,\s]+|[a-z](?:\s?,\s?[a-z0-9*∗†‡])*,?")
_RAISED_FRACTION = re.compile(r"(\d{1,3})[/\u2044\u2215](\d{1,3})")
_DEGREE = re.compile(r"[o0◦∘°º](?=[CF]?\Z)")
_ORDINAL = frozenset("st nd rd th e er re es ème eme o a os as ª º d ths".split())
_OPERATOR = r"[=×·⋅*+−^<>≈≤≥±]"
_ELEMENT = re.compile(r"[A-Z][a-z]?(?![a-z])")
_POWER_OF_TEN = re.compile(r"(?<![\d.,])10\Z")
_OF_TWO = re.compile(r"(?<![\d.,])2\Z")
_SHORT_FIGURE = re.compile(r"(?<![\d.,])\d{1,2}\Z")
_AFTER_OPERATOR = re.compile(_OPERATOR + r"\s*\d{1,2}\Z")
_BEFORE_OPERATOR = re.compile(r"\s*" + _OPERATOR)
_VARIABLE = re.compile(r"(?<![\w'’.-])(?:[A-Za-z\u0370-\u03ff]|sin|cos|tan|log|ln)\Z")
_UNIT = re.compile(
    r"(?:(?:(?<=[\d\s/·⋅(×])|^)(?:[kcdmnµμ]?m|ft|yd|mi|kg|[kcd]?pc|Mpc|mol|px|s|h|K|W|V|J|sec)"
    r"|\d\s(?:(?:milli|centi|kilo)?met(?:re|er)s?|foot|feet|inch(?:es)?|yards?|miles?)"
    r"|\d\s*in|/\s*[a-z]{1,3})\Z"
)
_BRACKET = re.compile(r"[)\]|}]\Z")
_CAPITAL_WORD = re.compile(r"(?<![^\W\d_])(?:[IVXLC]+|[A-Z])\Z")


def place_of(base: float, size: float, of_base: float, of_size: float) -> str:
    """Return the mark of letters that stand above or below the base line of the letters they go with, "" for others."""
    rise = of_base - base
    if size <= 0.86 * of_size:
        if rise > 0.15 * of_size:
            return UP
        return DOWN if rise < -0.06 * of_size else ""
    return UP if size <= 1.05 * of_size and 0.25 * of_size < rise < 0.7 * of_size else ""


def marked(text: str, place: str) -> str:
    """Put letters between marks, the white space around them outside."""
    core = text.strip()
    if not place or not core or UP in core or DOWN in core:
        return text
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{before}{place}{core}{_END}{after}"


def settle(text: str) -> str:
    """Return a line with what its raised and lowered letters mean instead of the marks."""
    if "\u2044" in text:
        text = _TYPED.sub(_mixed_number, text)
    if UP not in text and DOWN not in text:
        return text
    while (joined := _ADJACENT.sub(r"\g<place>\g<text>", text)) != text:
        text = joined
    for fraction in (_SLASHED, _STACKED, _STACKED_BELOW):
        text = fraction.sub(_fraction, text)
    done, start = "", 0
    for found in _GROUP.finditer(text):
        done += text[start : found.start()]
        start = found.end()
        meaning: Callable[[str, str, str], str] = _of_raised if found["place"] == UP else _of_lowered
        done += meaning(found["text"], done, _MARKS.sub("", text[start:]))
    return _MARKS.sub("", done + text[start:])


def _fraction(found: re.Match[str]) -> str:
    """Return a fraction in such a way that it is not taken for more digits of the figure before it."""
    return _written(found["over"], found["under"], found.string[: found.start()])


def _written(over: str, under: str, before: str) -> str:
    """Return a fraction as one character, or set apart from a figure before it."""
    written = f"{over}/{under}"
    return _VULGAR.get(written) or (f" {written}" if before[-1:].isdigit() else written)


def _mixed_number(found: re.Match[str]) -> str:
    """Return "31⁄2" as three and a half; what can be one fraction stays: 11⁄16."""
    if int(found["whole"] + found["over"]) < int(found["under"]) or int(found["over"]) >= int(found["under"]):
        return found[0]
    return found["whole"] + _written(found["over"], found["under"], found["whole"])


def _of_lowered(text: str, before: str, _: str) -> str:
    """Return lowered letters: as letters of their word, but digits after a figure as such."""
    return text.translate(_LOWERED) if text.isdigit() and before[-1:].isdigit() else text


def _of_raised(text: str, before: str, after: str) -> str:
    """Return raised letters: an exponent raised, letters of a word as they are, and nothing for the mark of a note."""
    if not before.strip() or before.endswith("| "):
        return _opening(text, after)
    if _is_exponent(text, before, after):
        return _raised(text)
    if fraction := _RAISED_FRACTION.fullmatch(text):
        return _raised(text) if _VARIABLE.search(before) else _written(fraction[1], fraction[2], before)
    letters = _of_letters(text, before)
    if letters is not None:
        return letters
    if _NOTE_NUMBERS.fullmatch(text) or _NOTE_SIGNS.fullmatch(text):
        return " " if before[-1].isalnum() and after[:1].isalnum() else ""
    return text


def _is_exponent(text: str, before: str, after: str) -> bool:
    """Tell whether a raised number is an exponent: it has a sign, or stands after something that can have one."""
    if _SIGNED.fullmatch(text):
        return True
    return text.isdigit() and len(text) <= 3 and _is_base(before, text, after)


def _of_letters(text: str, before: str) -> str | None:
    """Return raised letters that go with the figure, the word or the variable before them; None for any others."""
    if before[-1].isdigit() and _DEGREE.match(text):
        return "°" + text[1:]
    if before[-1].isdigit() and text.casefold() in _ORDINAL:
        return text
    if text in ("TM", "SM"):
        return "™"
    if _CAPITAL_WORD.search(before) and text.isalpha() and text.islower():
        return text
    if _VARIABLE.search(before) and text.isascii() and not _NOTE_NUMBERS.fullmatch(text):
        return _raised(text)
    return None


def _opening(text: str, after: str) -> str:
    """Return what is raised at the beginning of a line: the number of a note itself, or that of an isotope."""
    if text.isdigit() and _ELEMENT.match(after):
        return _raised(text)
    return f"{text} " if after[:1].isalnum() else text


def _is_base(before: str, text: str, after: str) -> bool:
    """Tell whether a number that is raised after `before` is an exponent: of ten, a unit, a variable, in a sum."""
    if _POWER_OF_TEN.search(before) or (_OF_TWO.search(before) and int(text) >= 5):
        return True
    if text in "234" and _UNIT.search(before):
        return True
    if _VARIABLE.search(before):
        return True
    in_a_sum = _BEFORE_OPERATOR.match(after) is not None
    if _SHORT_FIGURE.search(before):
        return in_a_sum or _AFTER_OPERATOR.search(before) is not None
    return _BRACKET.search(before) is not None and (in_a_sum or re.search(_OPERATOR, before) is not None)


def _raised(text: str) -> str:
    """Return a text in raised characters, or after a caret where there are none for it."""
    text = text.replace(" ", "")
    if _CAN_BE_RAISED.fullmatch(text):
        return text.translate(_RAISED)
    return f"^{text}" if len(text) == 1 else f"^({text})"
