"""What a raised or lowered piece of text is, by the text around it: a note's mark, an exponent, a fraction, an ordinal.

Pure rules: a reader must find in the text no figure with a digit that the page does not show in it. Marks of notes go,
exponents become "10⁶" or "2^(n+k)", fractions "3 1/2".
"""

import re
from typing import Final

_RAISED = str.maketrans("0123456789+-−–()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁽⁾ⁿⁱ")
_HAS_RAISED = re.compile(r"[0-9+\-−–()ni]+")
_LOWERED = str.maketrans("0123456789+-−–", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋")

MARK: Final = re.compile(
    r"[\[(]?(?:\d{1,3}|[a-z]{1,2}|[ivxl]{1,6}|[*†‡§¶#‖]{1,4}|note \d{1,3}|n\.? ?\d{1,3})"
    r"(?:\s*[,;–-]\s*(?:\d{1,3}|[a-z]))*[\])]?",
    re.IGNORECASE,
)
"""What the mark of a note looks like."""
_SURE_MARK = re.compile(r"[*†‡§¶#‖]+|\[.*\]|\(\s*(?:\d{1,3}|[a-z*†‡])\s*\)|\d{1,3}\)|\d{1,3}(?:\s*[,;–]\s*\d{1,3})+")
_ORDINAL = re.compile(
    r"st|nd|rd|th|er|re|ers|res|e|es|[eè]me|[eè]mes|i[eè]me|ndes?|o|os|as|mo|ma|r|rs|ts?|me|mes|lle|lles|tm|sm|®|™|º|ª|ª",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d{1,4}")
_SIGNED = re.compile(r"[+\-−–]\d*|\d+[+\-−–]")
_TERM = re.compile(r"(?=.*[\d+\-−=/])[\w+\-−–=/().]{1,12}")
_NUMBER = re.compile(r"\d[\d.,]*\Z")
_PLAIN_BASE = re.compile(r"\d|10+")
_OPERATOR_BEFORE = re.compile(r"[×·*^=+(−/]\s*\d[\d.,]*\Z")
_OPERATOR_AFTER = re.compile(r"\s*[=×·*^+<>≈−]")
_WORD = re.compile(r"[^\W\d_]+\Z")
_VOWEL = re.compile(r"[aeiouyáéíóúäöüаеиоуыэюя]", re.IGNORECASE)
_UNITS = frozenset(
    """
    mm cm dm dam hm km nm µm μm pm ft in yd mi nmi mph kg mg µg lb oz ms ns min hr mol cd hz khz mhz ghz pa kpa mpa
    hpa kw mw gw kwh ev kev mev gev rad sr lux bar ha au pc kpc mpc ly lm wb px ppm км см мм дм кг сек
    """.split()
)
_UNIT_WORDS = re.compile(
    r"(?:(?:kilo|centi|milli|deci|hecto|micro|nano|zenti|dezi|hekto)?(?:met(?:re|er)s?|metern|m[eè]tres?|metros?|metri)"
    r"|feet|foot|fuß|fu(?:ss|ß)|inch(?:es)?|miles?|yards?|meilen?|seconds?|sekunden?|secondes?|segundos?|метр\w{0,3})",
    re.IGNORECASE,
)
_SLASH = re.compile(r"\s?[/⁄∕]\s?(?=\d|\Z)")
_ISOTOPE = re.compile(r"[A-Z][a-z]?(?![a-z])")
_FRACTION = re.compile(r"(\d{1,4})\s*[/⁄∕]\s*(\d{1,4})")
_MATHS = re.compile(r"[+\-−×·*/=^]|\b[a-z]\b")


def raised(text: str, before: str, after: str, *, linked: bool) -> str:
    """Return what stands for raised text between two ends of its line; ``linked`` says that it leads to a note."""
    if (linked and MARK.fullmatch(text)) or _SURE_MARK.fullmatch(text):
        return ""
    figure = _raised_figure(text, before, after)
    return figure if figure is not None else _raised_letters(text, before, after)


def _raised_figure(text: str, before: str, after: str) -> str | None:
    """Return what stands for a raised figure: part of a fraction, an exponent, a note's mark; None for other text."""
    last = before[-1:]
    if fraction := _FRACTION.fullmatch(text):
        return _spaced(f"{fraction[1]}/{fraction[2]}", last) if not last.isalpha() else exponent(text)
    if text.isdigit() and _SLASH.match(after):
        return _spaced(text, last)
    if _SIGNED.fullmatch(text):
        return exponent(text)
    if _DIGITS.fullmatch(text):
        return exponent(text) if _is_exponent(text, before, after) else ""
    return None


def _raised_letters(text: str, before: str, after: str) -> str:
    """Return what stands for raised text that is no figure: a degree, an ordinal, a term, a remark."""
    last = before[-1:]
    if text == "o" and after[:1] in ("C", "F") and last.isdigit():
        return "°"
    if len(text) == 1 and text.isalpha():
        return _letter(text, before)
    if _ORDINAL.fullmatch(text):
        return text
    if (last.isalnum() or last == ")") and _TERM.fullmatch(text):
        return exponent(text)
    return _spaced(text, last) if last.isdigit() or text[0].isdigit() else text


def lowered(text: str, before: str) -> str:
    """Return what stands for lowered text: "CO2", "3 1/2"; after a digit the signs for it, so that none is added."""
    return text.translate(_LOWERED) if text[0].isdigit() and before[-1:].isdigit() else text


def exponent(text: str) -> str:
    """Return an exponent: raised signs where there are, else "^"."""
    text = "".join(text.split())
    if _HAS_RAISED.fullmatch(text) and any(character.isalnum() or character in "+-−–" for character in text):
        return text.translate(_RAISED)
    return f"^{text}" if text.isalnum() else f"^({text})"


def mixed(whole: str, above: str, below: str) -> str:
    """Return a fraction after the character or figure before it: "3 1/2"."""
    return f"{_spaced(above, whole[-1:])}/{below}"


def _letter(text: str, before: str) -> str:
    """Return what stands for one raised letter: of an ordinal, an exponent, or a note's mark."""
    word = _WORD.search(before)
    if before[-1:].isdigit():
        if text in "eort":
            return text
        return "" if text in "abcdfgh" else exponent(text)
    if word is None:
        return "" if before.strip() else text
    if len(word.group()) == 1:
        return exponent(text) if word.group().islower() else text
    return ""


def _is_exponent(text: str, before: str, after: str) -> bool:
    """Tell whether raised digits are an exponent, or the number of an isotope; else they are a note's mark."""
    if not before or not before[-1:].strip():
        return _ISOTOPE.match(after) is not None
    number = _NUMBER.search(before)
    if number is not None:
        known = _PLAIN_BASE.fullmatch(number.group()) is not None and not before[: number.start()].endswith((".", ","))
        return known or bool(_OPERATOR_BEFORE.search(before) or _OPERATOR_AFTER.match(after))
    word = _WORD.search(before)
    if word is not None:
        return _is_base(word.group(), text)
    if before.endswith((")", "]")):
        return _MATHS.search(before[before.rfind("(") :]) is not None and "(" in before
    return before.endswith(("°", "′", "Å", "Ω"))


def _is_base(word: str, text: str) -> bool:
    """Tell whether letters before raised digits are a unit or a variable."""
    if _UNIT_WORDS.fullmatch(word):
        return text in ("2", "3")
    return len(word) == 1 or word.lower() in _UNITS or (len(word) <= 3 and not _VOWEL.search(word))


def _spaced(text: str, last: str) -> str:
    """Return text apart from a letter or digit before it."""
    return f" {text}" if last.isalnum() else text
