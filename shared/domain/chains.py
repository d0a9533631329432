"""Chains of questions: what a question points back to, and the names that lead from there to its answer.

"Who built the pier, and where were its blocks cast?" The second part names no pier; a source that answers it may know
only the builder. The builder's name, found beside the pier, links the two.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.domain.dates import MONTH_NAMES
from shared.domain.text import content_terms

BESIDE = 0.6
"""Share of the terms of what a question points back to that a text must hold to stand beside it."""

_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'’-]+(?:\s+[A-Z][\w'’-]+)*")


def names_in(text: str) -> list[str]:
    """Return the capitalised names in a text, in order; a capital that opens the text or a sentence is passed over."""
    return _NAME.findall(text)


def beside(text: str, context: frozenset[str]) -> bool:
    """Tell whether a text speaks of what a question points back to."""
    return len(context & set(content_terms(text))) >= BESIDE * len(context)


def linking_names(texts: Sequence[str], context: frozenset[str]) -> frozenset[str]:
    """Return the names that stand beside what a question points back to, that itself apart."""
    found = {name for text in texts if beside(text, context) for name in names_in(text)}
    return frozenset(name for name in found if not set(content_terms(name)) <= context)


def linked(text: str, context: frozenset[str], names: frozenset[str]) -> bool:
    """Tell whether a text speaks of what a question points back to, or of a name that leads there."""
    return beside(text, context) or any(name in text for name in names)


_PHRASE = re.compile(
    r"\b[A-Z][\w'’-]*(?:(?:\s+(?:of|the|de|la|del|von|van|and|for|in)){0,2}\s+[A-Z][\w'’-]*|\s+\d+(?!\d*,\s\d{4}))*"
)
_OPENING = re.compile(r"(?:^|[.!?:;]['\"”’)]?\s+|\n)['\"“‘(]?$")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NO_NAMES = frozenset(content_terms(" ".join([*MONTH_NAMES, *_WEEKDAYS])))


def all_names(text: str) -> list[str]:
    """Return the capitalised names in a text, each once, those of several words that open a sentence too.

    One word that opens a sentence need not be a name; months, days and figures are none.
    """
    found: dict[str, None] = {}
    for match in _PHRASE.finditer(text):
        words = match.group().split()
        while words and not content_terms(words[0]):
            words = words[1:]
        terms = {t for t in content_terms(" ".join(words)) if len(t) > 1 and not t.isdigit()} - _NO_NAMES
        opens = len(words) == 1 and _OPENING.search(text[: match.start()])
        if terms and not opens:
            found[" ".join(words)] = None
    return list(found)


@dataclass(frozen=True, slots=True)
class Told:
    """A span as chains see it: its own terms, those of its title, and the names in it as sets of terms."""

    key: str
    own: frozenset[str]
    title: frozenset[str]
    names: Mapping[str, frozenset[str]]


def told(key: str, text: str, title: str) -> Told:
    """Read a span and the title of its source."""
    names = {name: frozenset(content_terms(name)) for name in all_names(text)}
    return Told(key, frozenset(content_terms(text)), frozenset(content_terms(title)), names)


def leads_to(one: Told, other: Told, wanted: frozenset[str]) -> bool:
    """Tell whether a span brings up a name, not one of the question or of its own title, that another one holds."""
    everything = other.own | other.title
    return any(name <= everything and not name <= wanted | one.title for name in one.names.values())
