"""What the alignment score knows of a statement and its spans: eleven named figures, most between 0 and 1.

Words are search terms (`shared.domain.text`): folded, stemmed, stop words left out. Everything is counted in one pass
over the evidence, and nothing depends on chance or order. Tried and left out, because no labelled set lost a point
without them: the order of words, the worst clause, quantifiers, hedges, and how much of the sentence is not used. What
those catch is in `turns`, which forbids and does not weigh.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log1p

from services.synthesizer.gate.wordlists import CLAUSE_BREAK, DENIAL, opposites
from shared.domain.segments import segment
from shared.domain.text import content_terms, terms

MAX_EVIDENCE_CHARS = 60_000
"""What is read of the evidence of one statement."""

PREFIX = 5
"""Words that begin with the same five letters are taken for forms of one word."""

WINDOW = 2
"""Neighbouring sentences that are looked at together."""

_OPPOSITE = {
    term: frozenset(t for other in others for t in terms(other))
    for word, others in opposites().items()
    for term in terms(word)
}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or a part of one, and its content terms in order."""

    text: str
    content: tuple[str, ...]
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Checked:
    """What the checks of figures and names found: how many the statement has, and how many are not borne out.

    ``terms`` are the content terms that belong to figures and names; they weigh double.
    """

    figures: int
    unmet: int
    names: int
    missing: int
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Turned:
    """What speaks against a statement that has most of its words in the evidence.

    ``denies``: it denies and the nearest sentence does not; ``opposed``: how many of its words the nearest sentences
    have the opposite of; ``least``: which part of its words the evidence holds of the clause that it holds least of.
    """

    denies: bool
    opposed: int
    least: float


def sentences_of(text: str) -> tuple[Sentence, ...]:
    """Split a text, evidence of `MAX_EVIDENCE_CHARS` at most, into sentences with their terms."""
    return tuple(sentence_of(text[span.start : span.end]) for span in segment(text))


def sentence_of(text: str) -> Sentence:
    """Return a sentence, or a part of one, with its terms."""
    content = tuple(content_terms(text))
    return Sentence(text, content, frozenset(content))


def named_terms(words: Iterable[str]) -> frozenset[str]:
    """Return the content terms of names and figures."""
    return frozenset(term for word in words for term in content_terms(word))


def features(
    statement: str, sentences: Sequence[Sentence], checked: Checked, *, answers: bool
) -> tuple[dict[str, float], Turned]:
    """Return the named figures, and how the statement turns; ``answers`` says that it was given as an answer."""
    wanted = tuple(dict.fromkeys(content_terms(statement)))
    held = frozenset().union(*(s.words for s in sentences)) if sentences else frozenset()
    share, place = _best_window(wanted, sentences)
    turned = _turned(statement, wanted, sentences[place : place + WINDOW], held)
    found = {
        **_recall(wanted, held, checked.terms),
        "window": share,
        "length": log1p(len(wanted)),
        "evidence_length": log1p(sum(len(s.content) for s in sentences)),
        "names_missing": checked.missing / checked.names if checked.names else 0.0,
        "names_any": float(checked.missing > 0),
        "figures_unmet": checked.unmet / checked.figures if checked.figures else 0.0,
        "figures_any": float(checked.unmet > 0),
        "denies_alone": float(turned.denies),
        "answers": float(answers),
    }
    return found, turned


def _recall(wanted: Sequence[str], held: frozenset[str], heavy: frozenset[str]) -> dict[str, float]:
    """Return which part of the statement's words the evidence holds: names double, and with other forms of a word."""
    if not wanted:
        return {"recall_weighted": 1.0, "recall_soft": 1.0}
    weight = {t: 2 if t in heavy else 1 for t in wanted}
    starts = {t[:PREFIX] for t in held if len(t) >= PREFIX}
    soft = sum(t in held or (len(t) >= PREFIX and t[:PREFIX] in starts) for t in wanted)
    return {
        "recall_weighted": sum(w for t, w in weight.items() if t in held) / sum(weight.values()),
        "recall_soft": soft / len(wanted),
    }


def _best_window(wanted: Sequence[str], sentences: Sequence[Sentence]) -> tuple[float, int]:
    """Return the largest share of the words that neighbouring sentences hold together, and where they begin."""
    own = frozenset(wanted)
    hits = [s.words & own for s in sentences]
    best, place = 0, 0
    for index in range(len(hits)):
        count = len(frozenset().union(*hits[index : index + WINDOW]))
        if count > best:
            best, place = count, index
    return (best / len(own) if own else 1.0), place


def _turned(statement: str, wanted: Sequence[str], nearest: Sequence[Sentence], held: frozenset[str]) -> Turned:
    """Compare the statement with the sentences that hold most of it."""
    own = frozenset(wanted) | frozenset(terms(statement))
    turning = own & _OPPOSITE.keys()
    there = frozenset(t for s in nearest for t in terms(s.text)) if turning else frozenset()
    opposed = sum(1 for t in turning if t not in there and _OPPOSITE[t] & (there - own))
    denied = any(DENIAL.search(s.text) for s in nearest[:1])
    return Turned(DENIAL.search(statement) is not None and not denied, opposed, _least_clause(statement, held))


def _least_clause(statement: str, held: frozenset[str]) -> float:
    """Return which part the evidence holds of the clause that it holds least of, clauses of one word aside."""
    parts = CLAUSE_BREAK.split("\n".join(statement[s.start : s.end] for s in segment(statement)))
    clauses = [c for part in parts if len(c := content_terms(part)) >= 2]
    return min((sum(t in held for t in clause) / len(clause) for clause in clauses), default=1.0)
