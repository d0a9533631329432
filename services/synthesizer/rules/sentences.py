"""Sentences of excerpts: what of an excerpt can stand as a statement, and when two sentences say the same."""

import re
from dataclasses import dataclass

from shared.domain.excerpts import folded, one_line
from shared.domain.fields import field_of
from shared.domain.numbers import Kind, quantities
from shared.domain.segments import ROW_SEPARATOR, segment
from shared.domain.text import content_terms

NEAR_IDENTICAL = 0.85
"""Jaccard similarity of words from which two sentences with the same figures and negations count as one."""

_SHORTEST_TERMS = 3
_WORD = re.compile(r"\w+")
_ITEM = re.compile(r"(?:[-*•‣◦·–]|\d{1,3}[.)])\s+\S")
_NEGATIONS = frozenset(("no", "not", "never", "none", "nor", "neither", "cannot", "without", "t"))


def sentences_of(excerpt: str) -> tuple[str, ...]:
    """Return the sentences of an excerpt, each on one line; neighbouring rows of a table stay one text, row by row.

    Headings and other fragments are left out where the excerpt has anything more.
    """
    found: list[str] = []
    in_table = False
    for span in segment(excerpt):
        text = one_line(excerpt[span.start : span.end])
        row = ROW_SEPARATOR in text
        if row and in_table:
            found[-1] += f"\n{text}"
        else:
            found.append(text)
        in_table = row
    whole = [text for text in found if not _fragment(text)]
    return tuple(whole or found)


def _fragment(text: str) -> bool:
    ended = text.rstrip("\"'”’»)]").endswith((".", "!", "?", "。", "！", "？", "…"))
    return (
        not ended
        and ROW_SEPARATOR not in text
        and not _ITEM.match(text)
        and field_of(text) is None
        and len(content_terms(text)) < _SHORTEST_TERMS
    )


@dataclass(frozen=True, slots=True)
class Gist:
    """What is compared of a sentence: its folded text, its words, its negations and its figures as values."""

    text: str
    words: frozenset[str]
    negations: frozenset[str]
    figures: frozenset[tuple[Kind, str, str | None, str | None]]


def gist_of(sentence: str) -> Gist:
    """Return the gist of a sentence."""
    text = folded(sentence)
    words = frozenset(_WORD.findall(text.casefold()))
    figures = frozenset((q.kind, str(q.value.normalize()), q.unit, q.date) for q in quantities(text))
    return Gist(text, words, words & _NEGATIONS, figures)


def near_identical(one: Gist, other: Gist) -> bool:
    """Tell whether two sentences say the same in nearly the same words; a different figure or negation never does."""
    if one.text == other.text:
        return True
    if one.figures != other.figures or one.negations != other.negations:
        return False
    return len(one.words & other.words) >= NEAR_IDENTICAL * len(one.words | other.words)
