"""Turns: a statement that has the words of its evidence and says something else by one of them.

Clauses of the statement are laid beside those clauses of the evidence that share most words with them, and so is a
whole sentence that is nearly one of the evidence. A denial on one side only, a possibility told as a fact, a part made
a whole, words that have changed places, and a name in the place of another forbid that the statement is emitted. The
lists of words are English. What the rules catch and cost: ``python -m evals.truth.turned``.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from services.synthesizer.gate.context import Check
from services.synthesizer.gate.features import Sentence, sentence_of, sentences_of
from services.synthesizer.gate.names import proper_names
from services.synthesizer.gate.wordlists import DENIAL, HEDGE, PASSIVE, POSSIBLE, TURN_BREAK, UNIVERSAL, WHOLE
from shared.domain.text import content_terms

SHARED = 0.6
"""Which part of its words a clause shares with the clause that it is laid beside, at least."""

ALIKE = 0.8
"""From which part of common words on a sentence is taken for one of the evidence, changed or cut short."""

NEAR = 0.5
"""Which part of its words a sentence shares with the sentence whose names it is compared with, at least."""


def check_turns(statement: str, excerpts: Iterable[str]) -> Check:
    """Refuse a statement that turns what its excerpts say, whatever a model thinks of it."""
    found = turns(statement, sentences_of("\n".join(excerpts)))
    return Check("fail", found) if found else Check("pass")


def turns(statement: str, evidence: Sequence[Sentence]) -> tuple[str, ...]:
    """Return what the statement turns, each as a sentence's end; nothing for one that only says less or otherwise."""
    there = [sentence for sentence in evidence if sentence.words]
    clauses = [clause for sentence in there for clause in _clauses(sentence, 1)]
    found: dict[str, None] = {}
    for here in sentences_of(statement):
        found.update(dict.fromkeys(_in_clauses(here, clauses)))
        nearest = max(there, key=lambda sentence: len(sentence.words & here.words), default=None)
        if nearest is not None:
            found.update(dict.fromkeys(_as_a_whole(here, nearest)))
    return tuple(found)


def _in_clauses(here: Sentence, clauses: Sequence[Sentence]) -> Iterator[str]:
    """Yield what a sentence turns in each clause; of clauses that are equally near, one may bear it out."""
    for one, others in _aligned(here, clauses):
        told = [set(_turned(one.text, other.text)) for other in others]
        yield from sorted(set.intersection(*told))


def _as_a_whole(here: Sentence, nearest: Sentence) -> Iterator[str]:
    """Yield what a sentence turns that is nearly one of the evidence, changed or cut short."""
    shared = len(here.words & nearest.words)
    if shared >= ALIKE * len(here.words | nearest.words):
        yield from _turned(here.text, nearest.text)
    words = _exchanged(here, nearest) if shared >= ALIKE * len(here.words) else None
    if words:
        yield f"“{words[0]}” and “{words[1]}” stand the other way round in the evidence"
    names = _replaced(here, nearest) if shared >= NEAR * len(here.words) else None
    if names:
        yield f"it says of “{names[0]}” what the evidence says of “{names[1]}”"


def _clauses(sentence: Sentence, least: int) -> Iterator[Sentence]:
    for part in TURN_BREAK.split(sentence.text):
        clause = sentence_of(part)
        if len(clause.words) >= least:
            yield clause


def _aligned(here: Sentence, clauses: Sequence[Sentence]) -> Iterator[tuple[Sentence, list[Sentence]]]:
    """Yield each clause of a sentence with the clauses of the evidence that share most with it."""
    for clause in _clauses(here, 2):
        shared = [len(c.words & clause.words) for c in clauses]
        most = max(shared, default=0)
        if most >= max(2, SHARED * len(clause.words)):
            yield clause, [c for c, count in zip(clauses, shared, strict=True) if count == most]


def _turned(here: str, there: str) -> Iterator[str]:
    """Yield how one wording turns another that has its words."""
    if _count(DENIAL, here) != _count(DENIAL, there):
        yield "one of them denies what the other says"
    if _count(POSSIBLE, there) > _count(HEDGE, here):
        yield "it tells as a fact what the evidence calls possible"
    if _count(WHOLE, here) > _count(UNIVERSAL, there):
        yield "it tells of all or always what the evidence tells of some or sometimes"


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in pattern.finditer(text))


def _exchanged(here: Sentence, there: Sentence) -> tuple[str, str] | None:
    """Return two words that have changed places around the same words, unless one of the wordings is passive."""
    if (PASSIVE.search(here.text) is None) != (PASSIVE.search(there.text) is None):
        return None
    one, other = here.content, there.content
    places = {term: place for place, term in enumerate(other)}
    for i, first in enumerate(one):
        for j in range(i + 2, len(one)):
            k, n = places.get(one[j], -1), places.get(first, -1)
            if 0 <= k < n - 1 and (one[i + 1], one[j - 1]) == (other[k + 1], other[n - 1]):
                return first, one[j]
    return None


def _replaced(here: Sentence, there: Sentence) -> tuple[str, str] | None:
    """Return a name that stands here beside the word beside which another name stands there that is missing here."""
    one, other = here.content, there.content
    names, known = _names(here.text) - there.words, _names(there.text) - here.words
    if not (names and known):
        return None
    beside = {(step, word): other[at - step] for step in (-1, 1) for at, word in _inner(other, step)}
    for step in (-1, 1):
        for at, word in _inner(one, step):
            instead = beside.get((step, word))
            if one[at - step] in names and instead in known:
                return one[at - step], instead
    return None


def _inner(words: Sequence[str], step: int) -> Iterator[tuple[int, str]]:
    """Yield the words that have one ``step`` before them, and their places."""
    return ((at, word) for at, word in enumerate(words) if 0 <= at - step < len(words))


def _names(text: str) -> frozenset[str]:
    return frozenset(term for name in proper_names(text) for term in content_terms(name))
