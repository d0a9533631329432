"""What a sentence limits itself to: its years, its places, and what its amount is for; other scopes, no conflict."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from shared.contracts.evidence import Evidence
from shared.domain.dates import MONTH_NAMES
from shared.domain.numbers import quantities
from shared.domain.text import content_terms

_PLACE = re.compile(
    r"\b(?:[Ii]n|[Aa]t|[Nn]ear|[Aa]cross|[Tt]hroughout)\s+(?:the\s+)?"
    r"((?:[A-Z][\w'’-]+)(?:\s+(?:of\s+)?[A-Z][\w'’-]+)*)"
)
_EACH = re.compile(
    r"(?:/|\b(?:per|an?|each|every)\s+)(hour|day|night|week|month|year|person|child|adult|visit|trip|metre|meter|tonne)\b"
    r"|\b(hourly|daily|nightly|weekly|monthly|yearly|annual(?:ly)?)\b",
    re.I,
)
_RATES: Mapping[str, str] = {
    "hourly": "hour",
    "daily": "day",
    "nightly": "night",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
    "annual": "year",
    "annually": "year",
}
_JOINT = re.compile(r";|\.\s|\b(?:and|but|while|whereas)\b")
_OPENING = re.compile(r"\W*(?:In|During|For|Since|By|As\s+of)\b[^,;.]{0,30}")
_PERIOD = re.compile(
    r"\b([12]\d{3})\b(?:\s*[–-]\s*|[^.;:\d]{0,20}\b(?:to|until|till|through)\b(?:\s+\d{1,2})?[^.;:\d]{0,20})([12]\d{3})\b"
    r"|\bbetween\b[^.;:]{0,20}?([12]\d{3})\s+and\b[^.;:]{0,20}?([12]\d{3})\b",
    re.I,
)
LONGEST_PERIOD = 60
"""Years; what is further apart are the ends of no period."""

_NO_PLACES = frozenset(content_terms(" ".join([*MONTH_NAMES, *(n[:3] for n in MONTH_NAMES), "sept"])))


@dataclass(frozen=True, slots=True)
class Scope:
    """The years, places and rates that a sentence names; empty where it names none."""

    years: frozenset[str]
    places: frozenset[str]
    rates: frozenset[str]


def scope_of(item: Evidence, question: str) -> Scope:
    """Return the scope of a piece of evidence; the value itself and the places of the question are none of it."""
    known = frozenset(content_terms(question))
    text = item.excerpt
    years = frozenset[str]() if item.value is not None and item.value.date else years_in(_clause(item))
    places = (frozenset(content_terms(name)) - known - _NO_PLACES for name in _PLACE.findall(text))
    rates = (long or _RATES[short.lower()] for long, short in _EACH.findall(text))
    return Scope(years, frozenset(" ".join(sorted(p)) for p in places if p), frozenset(r.lower() for r in rates))


def _clause(item: Evidence) -> str:
    """Return the clause that the value stands in, and how its sentence opens ("In 2023 …").

    A year in another clause dates something else. Without a value that is all of it.
    """
    text, number = item.excerpt, item.value.number if item.value is not None else None
    at = next((q.start for q in quantities(text) if number is not None and float(q.value) == number), None)
    if at is None:
        return text
    cuts = [0, *(m.start() for m in _JOINT.finditer(text)), len(text)]
    start, end = max(c for c in cuts if c <= at), min(c for c in cuts if c > at)
    opening = _OPENING.match(text)
    return f"{opening.group() if opening else ''} {text[start:end]}"


def years_in(text: str) -> frozenset[str]:
    """Return the years that a text names, in dates, by themselves, or between the ends of a period."""
    dates = (q.date for q in quantities(text) if q.kind == "date" and q.date is not None)
    named = frozenset(date[:4] for date in dates if date[:4].isdigit())
    periods = ((int(m[1] or m[3]), int(m[2] or m[4])) for m in _PERIOD.finditer(text))
    return named.union(*(map(str, range(first, last + 1)) for first, last in periods if last - first <= LONGEST_PERIOD))


def apart(one: Scope, other: Scope) -> bool:
    """Tell whether each of two sentences names its own year, place or rate, so that both can hold."""
    return any(
        mine and theirs and not mine & theirs
        for mine, theirs in (
            (one.years, other.years),
            (one.places, other.places),
            (one.rates, other.rates),
        )
    )
