"""Which figures of a statement its spans do not bear out: missing ones, denied ones, and ones that count other things.

A figure has to stand in a span with the same value (`shared.domain.numbers.states`). Beyond that

- "more than 900" is met by 943, "nearly 1,000" by 980, and "about 1,000" by 1,020, where the span has the bare figure;
- a figure that the statement denies ("not in 2018") must not stand undenied in the spans, and may be missing from them
  where another figure stands in its place;
- a small count must not belong to another thing: "two cities" is not met by "two years" beside "three cities".
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import zip_longest

from shared.domain.numbers import Quantity, is_pronoun, quantities, states
from shared.domain.relative_dates import relative_dates
from shared.domain.text import content_terms

APPROXIMATE = Decimal("0.05")
"""How far "about" reaches, as a part of the figure."""
BEYOND = (Decimal("1"), Decimal("1.5"))
BELOW = (Decimal("0.1"), Decimal("1"))
"""Where a bare figure may lie, in parts of the one that "more than" or "less than" stands before."""

_CLAUSE = re.compile(r"[,;:()\n]|\s[–—-]\s|\b(?:but|and|although|while|whereas)\b", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(?:not(?! (?:only|just|until|including))|never|without|neither|nor|cannot)\b|n['’]t\b", re.IGNORECASE
)
_MORE = re.compile(
    r"\b(?:more than|over|at least|above|exceed(?:s|ed|ing)?|greater than|upwards? of)\W*\Z", re.IGNORECASE
)
_LESS = re.compile(
    r"\b(?:less than|fewer than|under|below|up to|at most|nearly|almost|no more than|close to)\W*\Z", re.IGNORECASE
)
_ABOUT = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|some|circa|nearly|almost|close to|an estimated)|~|≈)\W*\Z",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"[^\S\n]{0,2}-?((?:[^\W\d_]+[^\S\n-]?){1,3})")
_LOOK_BACK = 60


@dataclass(frozen=True, slots=True)
class Unmet:
    """A figure that the spans do not bear out, and why, in words that follow it."""

    quantity: Quantity
    why: str


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure with what stands around it: whether it is denied, its hedge, what it counts, and its sentence.

    A denial is about the last figure of its clause: "not the first contract in 2014" denies 2014.
    """

    quantity: Quantity
    denied: bool
    hedge: str
    counts: frozenset[str]
    line: str


def unmet_figures(statement: str, spans: Sequence[str], as_of: str | None = None) -> tuple[Unmet, ...]:
    """Return the figures that the spans do not bear out; all texts have one sentence a line.

    ``as_of`` is the day from which "last year" and the like are told, in the statement and in the spans.
    """
    wanted = [f for f in _figures(statement, as_of) if not is_pronoun(statement, f.quantity)]
    if not wanted:
        return ()
    known = [f for span in spans for f in _figures(span, as_of)]
    return tuple(Unmet(f.quantity, why) for f in wanted if (why := _why_unmet(f, known)) is not None)


def _why_unmet(wanted: _Figure, known: Sequence[_Figure]) -> str | None:
    same = [f for f in known if _meets(f, wanted)]
    if not same:
        if wanted.denied and any(_replaces(f, wanted) for f in known):
            return None
        return "stands in none of the cited excerpts"
    if all(f.denied != wanted.denied for f in same):
        return "is denied by the cited excerpts" if not wanted.denied else "is denied here and stated there"
    if _counts_other(wanted, same, known):
        return "counts something else in the cited excerpts"
    return None


def _meets(found: _Figure, wanted: _Figure) -> bool:
    if states(found.quantity, wanted.quantity):
        return True
    if not wanted.hedge or found.hedge or "date" in (found.quantity.kind, wanted.quantity.kind):
        return False
    low, high = _reach(wanted.hedge)
    value = wanted.quantity.value
    alike = replace(wanted.quantity, value=found.quantity.value)
    return value * low <= found.quantity.value <= value * high and states(found.quantity, alike)


def _reach(hedge: str) -> tuple[Decimal, Decimal]:
    if hedge == "more":
        return BEYOND
    return BELOW if hedge == "less" else (1 - APPROXIMATE, 1 + APPROXIMATE)


def _replaces(found: _Figure, wanted: _Figure) -> bool:
    """Tell whether a figure of the spans is of the kind that the statement denies, in a sentence about the same."""
    alike = found.quantity.kind == wanted.quantity.kind and found.quantity.unit == wanted.quantity.unit
    return alike and len(frozenset(content_terms(found.line)) & frozenset(content_terms(wanted.line))) >= 2


def _counts_other(wanted: _Figure, same: Sequence[_Figure], known: Sequence[_Figure]) -> bool:
    """Tell whether the spans count the same thing with another figure, and another thing with this one."""
    if not wanted.counts or wanted.quantity.kind not in ("number", "ordinal") or wanted.quantity.unit is not None:
        return False
    if any(f.counts & wanted.counts or not f.counts for f in same):
        return False
    return any(f.counts & wanted.counts and f.quantity.kind == wanted.quantity.kind for f in known)


def _figures(text: str, as_of: str | None) -> Iterator[_Figure]:
    found = [*quantities(text), *(_relative_quantities(text, as_of) if as_of else ())]
    starts = [0, *(m.end() for m in re.finditer(r"\n", text))]
    found.sort(key=lambda q: (q.start, q.end))
    for quantity, following in zip_longest(found, found[1:]):
        place = bisect_right(starts, quantity.start)
        line_start = starts[place - 1]
        line_end = starts[place] - 1 if place < len(starts) else len(text)
        before = text[max(line_start, quantity.start - _LOOK_BACK) : quantity.start]
        between = text[quantity.end : following.start] if following else "\n"
        yield _Figure(
            quantity=quantity,
            denied=_CLAUSE.search(between) is not None and _DENIAL.search(_CLAUSE.split(before)[-1]) is not None,
            hedge=_hedge(before),
            counts=_counted(text, quantity),
            line=text[line_start:line_end],
        )


def _relative_quantities(text: str, as_of: str) -> Iterator[Quantity]:
    for start, end, iso in relative_dates(text, as_of):
        yield Quantity(Decimal(iso[:4]), None, "date", text[start:end], start, end, iso)


def _hedge(before: str) -> str:
    """Return "more", "less", "about" or nothing, from the words before a figure."""
    if _MORE.search(before):
        return "more"
    if _ABOUT.search(before):
        return "about"
    return "less" if _LESS.search(before) else ""


def _counted(text: str, quantity: Quantity) -> frozenset[str]:
    """Return the search terms of the one to three words after a count; empty where a stop word follows at once."""
    if quantity.kind not in ("number", "ordinal") or quantity.unit is not None:
        return frozenset()
    after = _COUNTED.match(text, quantity.end)
    if after is None:
        return frozenset()
    counted: list[str] = []
    for word in re.split(r"[\s-]+", after.group(1)):
        new = content_terms(word)
        if not new:
            break
        counted += new
    return frozenset(counted)
