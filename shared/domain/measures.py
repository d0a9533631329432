"""What a question for a figure measures: a dimension, a unit that it names, or the things that are to be counted."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from shared.domain.conversion import dimension_of
from shared.domain.numbers import Quantity, quantities
from shared.domain.questions import own_words
from shared.domain.text import content_terms

COUNT, MONEY, PERCENT = "count", "money", "percent"

_LENGTH = frozenset({"length"})
_TIME = frozenset({"time", "calendar"})
_WORDS: Mapping[str, frozenset[str]] = {
    "deep depth wide width breadth high height tall far distance thick thickness elevation altitude draught": _LENGTH,
    "length": _LENGTH,
    "long": _LENGTH | _TIME,
    "old age duration": _TIME,
    "area surface": frozenset({"area"}),
    "volume capacity": frozenset({"volume", COUNT}),
    "heavy weigh weight mass": frozenset({"mass"}),
    "fast speed": frozenset({"speed"}),
    "hot cold temperature": frozenset({"temperature"}),
    "cost price fee charge toll budget premium salary pay worth earn revenue fare fine rent wage": frozenset({MONEY}),
    "percentage percent share proportion": frozenset({PERCENT}),
    "population": frozenset({COUNT}),
    "rate": frozenset({PERCENT, MONEY}),
}
_MEASURES = {word: dimensions for words, dimensions in _WORDS.items() for word in words.split()}
_SAID_AS = {
    "long length": ("long", "length"),
    "wide width breadth": ("wide", "width", "breadth", "broad"),
    "deep depth": ("deep", "depth", "draught"),
    "high height tall": ("high", "height", "tall"),
    "thick thickness": ("thick", "thickness"),
}
_SIZES = {asked: said for words, said in _SAID_AS.items() for asked in words.split()}
_HOW = re.compile(r"\bhow\s+(?P<word>\w+)(?:\s+(?P<next>\w+))?", re.I)
_COUNTED = re.compile(
    r"\bhow\s+many\s+(?P<noun>\w[\w'’-]*(?:\s+\w[\w'’-]*){0,3}?)"
    r"(?=\s+(?:is|are|was|were|do|does|did|has|have|had|will|would|can|could|should|may|must|of|in|at|on|for|per|"
    r"that|who|which|to|from|with)\b|[?,]|$)",
    re.I,
)
_FIRST = re.compile(r"\bhow\s+many\s+(?P<noun>\w[\w'’-]*)", re.I)
_NUMBER_OF = re.compile(r"\b(?:number|total|amount)\s+of\s+(?P<noun>\w[\w'’-]*)", re.I)
_TAKES_TIME = re.compile(r"\bhow\s+(?:long|much\s+time)\s+(?:do|does|did|will|would|can|could|should|must|may)\b", re.I)
_PERSONS = frozenset(content_terms("people person inhabitant resident citizen population"))


@dataclass(frozen=True, slots=True)
class Measure:
    """What may answer a question for a figure. Empty ``dimensions``: any; ``unit`` and ``nouns`` where it names them.

    ``said`` are the words for the measure ("long", "length"), ``others`` those for measures of the same dimension.
    """

    dimensions: frozenset[str] = frozenset()
    unit: str | None = None
    nouns: frozenset[str] = frozenset()
    said: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def measure_of(question: str) -> Measure:
    """Read what a question for a figure measures."""
    own = own_words(question)
    counted = _COUNTED.search(own) or _FIRST.search(own) or _NUMBER_OF.search(own)
    if counted is not None:
        return _counting(counted["noun"])
    how = _HOW.search(own)
    if _TAKES_TIME.search(own):
        return Measure(_TIME)
    words = re.findall(r"\w+", own.lower())
    named = next((w for w in ([how["word"].lower()] if how else []) + words if w in _MEASURES), None)
    if named is None:
        return Measure(frozenset({MONEY}) if how and how["word"].lower() == "much" else frozenset())
    said = _SIZES.get(named, ())
    return Measure(_MEASURES[named], said=said, others=tuple(w for w in _ALL_SIZES if said and w not in said))


_ALL_SIZES = tuple(dict.fromkeys(word for said in _SAID_AS.values() for word in said))


def _counting(noun: str) -> Measure:
    """Return the measure of "how many …": a unit where the noun is one, else the things that the noun names."""
    found = quantities(f"5 {noun}")
    if found and found[0].unit is not None:
        return Measure(frozenset({dimension_of(found[0].unit) or found[0].unit}), unit=found[0].unit)
    head = content_terms(noun)[-1:]
    return Measure(frozenset({COUNT}), nouns=_PERSONS if set(head) <= _PERSONS else frozenset(head))


def dimension(quantity: Quantity) -> str:
    """Return what a figure measures: a dimension, an amount of money, a share, or a count."""
    if quantity.kind in (MONEY, PERCENT):
        return quantity.kind
    if quantity.unit is None:
        return COUNT
    return dimension_of(quantity.unit) or quantity.unit
