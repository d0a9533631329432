"""Chains of questions: what a question points back to, and the names that lead from there to its answer.

"Who built the pier, and where were its blocks cast?" The second part names no pier; a source that answers it may know
only the builder. The builder's name, found beside the pier, links the two.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.domain.dates import MONTH_NAMES
from shared.domain.rank import CorpusStats
from shared.domain.text import content_terms

_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'’-]+(?:\s+[A-Z][\w'’-]+)*")


def names_in(text: str) -> list[str]:
    """Return the capitalised names in a text, in order; a capital that opens the text or a sentence is passed over."""
    return _NAME.findall(text)


_PHRASE = re.compile(
    r"\b[A-Z][\w'’-]*(?:(?:\s+(?:of|the|de|la|del|von|van|and|for|in)){0,2}\s+[A-Z][\w'’-]*|\s+\d+(?!\d*,\s\d{4}))*"
)
_JOINT = re.compile(r"\s+(?:of|and|for|in|the)\b\s*")
_OPENING = re.compile(r"(?:^|[.!?:;]['\"”’)]?\s+|\n)['\"“‘(]?$")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NO_NAMES = frozenset(content_terms(" ".join([*MONTH_NAMES, *_WEEKDAYS])))


def all_names(text: str) -> list[str]:
    """Return the capitalised names in a text, each once, those of several words that open a sentence too.

    A name that others are joined in ("Eastern Region of Tarnby") comes first, then its parts. One word that opens a
    sentence need not be a name; months, days and figures are none.
    """
    found: dict[str, None] = {}
    for match in _PHRASE.finditer(text):
        for name in dict.fromkeys((match.group(), *_JOINT.split(match.group()))):
            words = name.split()
            while words and not content_terms(words[0]):
                words = words[1:]
            opens = len(words) == 1 and match.group().startswith(name) and _OPENING.search(text[: match.start()])
            if _names_something(words) and not opens:
                found[" ".join(words)] = None
    return list(found)


def _names_something(words: Sequence[str]) -> bool:
    return bool({t for t in content_terms(" ".join(words)) if len(t) > 1 and not t.isdigit()} - _NO_NAMES)


def question_names(question: str) -> tuple[frozenset[str], ...]:
    """Return the names that a question gives, each as its terms: where a chain can start."""
    return tuple(frozenset(content_terms(name)) for name in all_names(question))


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


def link_weight(one: Told, other: Told, wanted: frozenset[str], stats: CorpusStats) -> float:
    """Return the weight of the rarest name that a span brings up and another one holds; 0 where there is none.

    A name of the question or of the span's own title links nothing. A name weighs as its rarest term does.
    """
    everything = other.own | other.title
    links = (n for n in one.names.values() if n <= everything and not n <= wanted | one.title)
    return max((stats.weight(term) for name in links for term in name), default=0.0)


def compared(one: Told, other: Told, names: Sequence[frozenset[str]]) -> bool:
    """Tell whether each of two spans holds a name of the question that the other one lacks: the question links them."""
    mine, theirs = ({name for name in names if name <= span.own | span.title} for span in (one, other))
    return bool(mine - theirs) and bool(theirs - mine)
