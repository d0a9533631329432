"""Which figures of a statement its spans do not bear out: missing ones, denied ones, and ones that count other things.

A figure has to stand in a span with the same value (`shared.domain.numbers.states`). Beyond that

- "more than 900" is met by 943, "nearly 1,000" by 980, "about 1,000" by 1,020, where the span has the bare figure;
- a figure that the statement denies ("not in 2018") must not stand undenied in the spans, and may be missing from them
  where another figure stands in its place;
- a sentence that stands in a span word for word must have the same figures there, one by one;
- a small count must not belong to another thing: "two cities" is not met by "two years" beside "three cities";
- a figure must not stand between the words between which the spans have another figure of its kind.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import zip_longest

from shared.domain.dates import blank
from shared.domain.numbers import Quantity, is_pronoun, quantities, states
from shared.domain.relative_dates import relative_dates
from shared.domain.text import content_terms

APPROXIMATE = Decimal("0.05")
"""How far "about" reaches, as a part of the figure."""
BEYOND = (Decimal("1"), Decimal("2"))
BELOW = (Decimal("0.1"), Decimal("1"))
"""Where a figure may lie, in parts of the one that "more than" or "less than" stands before."""

_CLAUSE = re.compile(r"[,;:()\n]|\s[–—-]\s|\b(?:but|and|although|while|whereas)\b", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(?:not(?! (?:only|just|until|including|(?:more|less|fewer) than))|never|without|neither|nor|cannot)\b|n['’]t\b",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"\b(?:(?<!no )(?<!not )more than|over|at least|(?:no|not) (?:less|fewer) than|above|exceed(?:s|ed|ing)?|beyond|"
    r"(?:greater|larger|higher|longer) than|upwards? of|in excess of|a minimum of|surpass(?:es|ed|ing)?|topp(?:ed|ing))"
    r"\W*\Z",
    re.IGNORECASE,
)
_LESS = re.compile(
    r"\b(?:(?<!no )(?<!not )(?:less|fewer) than|under|below|up to|at most|nearly|almost|(?:no|not) more than|close to|"
    r"(?:smaller|lower|shorter) than|a maximum of|just short of)\W*\Z",
    re.IGNORECASE,
)
_OR_MORE = re.compile(r"\+|[^\S\n]or[^\S\n](?:more|over|above)\b", re.IGNORECASE)
_OR_LESS = re.compile(r"[^\S\n]or[^\S\n](?:less|fewer|under|below)\b", re.IGNORECASE)
_ABOUT = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|some|circa|nearly|almost|close to|an estimated)|~|≈)\W*\Z",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"[^\S\n]{0,2}-?((?:[^\W\d_]+[^\S\n-]?){1,3})")
_WORDS = re.compile(r"[^\W\d_]+")
_LOOK_BACK = 60

SAME_SENTENCE_WORDS = 3
"""Words beside its figures that a sentence needs to be known again."""


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
    line_start: int


@dataclass(frozen=True, slots=True)
class _Range:
    start: int
    end: int


def unmet_figures(statement: str, spans: Sequence[str], as_of: str | None = None) -> tuple[Unmet, ...]:
    """Return the figures that the spans do not bear out; all texts have one sentence a line.

    ``as_of`` is the day from which "last year" and the like are told, in the statement and in the spans.
    """
    stated = list(_figures(statement, as_of))
    wanted = [f for f in stated if not is_pronoun(statement, f.quantity)]
    if not wanted:
        return ()
    by_span = [list(_figures(span, as_of)) for span in spans]
    known = [f for figures in by_span for f in figures]
    other = _otherwise(stated, by_span)
    return tuple(
        Unmet(f.quantity, why)
        for f in wanted
        if (why := _why_unmet(f, known) or ("stands otherwise in that very sentence" if f in other else None))
    )


def _otherwise(stated: Sequence[_Figure], by_span: Sequence[Sequence[_Figure]]) -> list[_Figure]:
    """Return the figures of sentences that a span has word for word, but with other figures."""
    there: dict[tuple[str, ...], list[list[_Figure]]] = {}
    for figures in by_span:
        for words, rows in _by_sentence(figures).items():
            there.setdefault(words, []).extend(rows)
    found: list[_Figure] = []
    for words, sentences in _by_sentence(stated).items():
        if len(words) >= SAME_SENTENCE_WORDS and words in there:
            found += (f for mine in sentences for f in _differing(mine, there[words]))
    return found


def _differing(mine: Sequence[_Figure], rows: Sequence[Sequence[_Figure]]) -> Sequence[_Figure]:
    """Return the figures of a sentence that the nearest of the rows has otherwise; none where one row has all."""
    if any(_same_figures(row, mine) for row in rows):
        return ()
    nearest = max(rows, key=lambda row: sum(_states(f, w) for f, w in zip(row, mine, strict=False)))
    return [w for n, w in enumerate(mine) if n >= len(nearest) or not _states(nearest[n], w)] or mine


def _same_figures(found: Sequence[_Figure], wanted: Sequence[_Figure]) -> bool:
    return len(found) == len(wanted) and all(_states(f, w) for f, w in zip(found, wanted, strict=True))


def _states(found: _Figure, wanted: _Figure) -> bool:
    return states(found.quantity, wanted.quantity)


def _by_sentence(figures: Sequence[_Figure]) -> dict[tuple[str, ...], list[list[_Figure]]]:
    """Return the figures of each sentence, by the words of the sentence that belong to no figure."""
    lines: dict[tuple[str, int], list[_Figure]] = {}
    for figure in figures:
        lines.setdefault((figure.line, figure.line_start), []).append(figure)
    found: dict[tuple[str, ...], list[list[_Figure]]] = {}
    for (line, start), row in lines.items():
        rest = blank(line, [_Range(f.quantity.start - start, f.quantity.end - start) for f in row])
        found.setdefault(tuple(_WORDS.findall(rest.casefold())), []).append(row)
    return found


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
    if _displaced(wanted, same, known):
        return "stands in the place of another figure of the cited excerpts"
    return None


def _meets(found: _Figure, wanted: _Figure) -> bool:
    if states(found.quantity, wanted.quantity):
        return not _contradicts(found, wanted)
    if not wanted.hedge or "date" in (found.quantity.kind, wanted.quantity.kind):
        return False
    if found.hedge and (found.hedge != wanted.hedge or found.hedge == "about"):
        return False
    low, high = _reach(wanted.hedge)
    value = wanted.quantity.value
    alike = replace(wanted.quantity, value=found.quantity.value)
    return value * low <= found.quantity.value <= value * high and states(found.quantity, alike)


def _contradicts(found: _Figure, wanted: _Figure) -> bool:
    """Tell whether a figure that rounds to a bound lies beyond it, or is a bound on the other side."""
    one, other = found.quantity, wanted.quantity
    if {found.hedge, wanted.hedge} == {"more", "less"}:
        return True
    if one.unit != other.unit or "date" in (one.kind, other.kind) or wanted.hedge not in ("more", "less"):
        return False
    return one.value < other.value if wanted.hedge == "more" else one.value > other.value


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


def _displaced(wanted: _Figure, same: Sequence[_Figure], known: Sequence[_Figure]) -> bool:
    """Tell whether another figure stands between the same words in the spans, and this one beside neither of them."""
    if wanted.denied or any(f.line == wanted.line for f in same):
        return False
    before, after = _beside(wanted)
    if not (before and after):
        return False
    if any(before == b or after == a for b, a in map(_beside, same)):
        return False
    kind = (wanted.quantity.kind, wanted.quantity.unit)
    others = (f for f in known if (f.quantity.kind, f.quantity.unit) == kind and not _meets(f, wanted))
    return any(_beside(f) == (before, after) for f in others)


def _beside(figure: _Figure) -> tuple[str, str]:
    """Return the content terms next to a figure in its line, before and after it."""
    start, end = (place - figure.line_start for place in (figure.quantity.start, figure.quantity.end))
    before = content_terms(figure.line[max(start - _LOOK_BACK, 0) : start])
    after = content_terms(figure.line[end : end + _LOOK_BACK])
    return before[-1] if before else "", after[0] if after else ""


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
            hedge=_hedge(before, text, quantity.end),
            counts=_counted(text, quantity),
            line=text[line_start:line_end],
            line_start=line_start,
        )


def _relative_quantities(text: str, as_of: str) -> Iterator[Quantity]:
    for start, end, iso in relative_dates(text, as_of):
        yield Quantity(Decimal(iso[:4]), None, "date", text[start:end], start, end, iso)


def _hedge(before: str, text: str, end: int) -> str:
    """Return "more", "less", "about" or nothing, from the words before and after a figure."""
    if _MORE.search(before) or _OR_MORE.match(text, end):
        return "more"
    if _OR_LESS.match(text, end):
        return "less"
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
