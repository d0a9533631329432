"""How sure it is that a sentence answers a question: two logistic scores over a few named figures.

The weights are fitted by `evals.reader.calibrate` on the encyclopaedia articles of the test data (five languages for
words alone, English for the reader); its output is the table here. Both scores are judged on articles left out, and on
sets that nothing was fitted on (`evals.truth.answers`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import exp

from shared.domain.answering import can_answer
from shared.domain.questions import AnswerKind, asked
from shared.domain.rank import CorpusStats
from shared.domain.text import content_terms, terms

EVERY_TERM = 0.5
"""What every term weighs beside its rarity: over a few texts about one thing, how rare a word is says little of it."""

_FIGURE = re.compile(r"\d")
_NAME_INSIDE = re.compile(r"(?<=[^.!?] )[A-ZÀ-ÖØ-Þ]\w+")
_ENGLISH = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how|is|are|were|does|did|the|and|have|can)\b",
    re.I,
)

WORDS: Mapping[str, float] = {
    "own": 8.221, "near": 0.342, "above": 4.185, "pairs": 2.285, "asked": 0.992, "kind": -0.176, "other kind": -1.014,
    "bias": -7.628,
}  # fmt: skip
"""Fitted on 1,500 questions in five languages."""

READER: Mapping[str, float] = {
    "above": 0.771, "asked": 1.477, "inside": 2.171, "kind": 0.627, "margin": 0.889, "near": -0.005,
    "other kind": 0.12, "own": 2.434, "pairs": 1.151, "verdict": 0.084, "bias": -3.325,
}  # fmt: skip
"""Fitted on the English questions."""


@dataclass(frozen=True, slots=True)
class Sought:
    """A question as sentences are held against it: the weights of its terms, and its pairs of neighbouring terms."""

    text: str
    weights: Mapping[str, float]
    pairs: frozenset[tuple[str, str]]
    kind: AnswerKind

    def share(self, held: frozenset[str]) -> float:
        """Return the share of the question's weight that these terms hold, 0 to 1."""
        total = sum(self.weights.values())
        return sum(weight for term, weight in self.weights.items() if term in held) / total if total else 0.0


def sought(question: str, stats: CorpusStats) -> Sought:
    """Read a question."""
    order = terms(question)
    weights = {term: EVERY_TERM + stats.weight(term) for term in sorted(set(content_terms(question)))}
    return Sought(question, weights, frozenset(pairwise(order)), asked(question).answer)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence with the one before it and what stands above it (title, heading)."""

    text: str
    before: str
    above: str


def figures_of(candidate: Candidate, question: Sought) -> dict[str, float]:
    """Return what words alone say of a sentence, each figure from 0 to about 1."""
    own = frozenset(content_terms(candidate.text))
    near = own | frozenset(content_terms(candidate.before))
    everything = near | frozenset(content_terms(candidate.above))
    order = terms(candidate.text)
    pairs = question.pairs & frozenset(pairwise(order))
    fits = _fits(candidate.text, question, own)
    return {
        "own": question.share(own),
        "near": question.share(near),
        "above": question.share(everything),
        "pairs": len(pairs) / len(question.pairs) if question.pairs else 0.0,
        "asked": min(len(question.weights), 20) / 10,
        "kind": float(fits is True),
        "other kind": float(fits is False),
    }


def _fits(text: str, question: Sought, own: frozenset[str]) -> bool | None:
    """Tell whether a sentence holds the kind of thing that is asked for; None where any kind would do."""
    if question.kind is AnswerKind.ANY:
        return None
    if question.kind is AnswerKind.NAME:
        found = _NAME_INSIDE.findall(text)
        return any(not frozenset(content_terms(name)) <= question.weights.keys() for name in found)
    if question.kind is AnswerKind.QUANTITY:
        return can_answer(text, question.text) and any(_FIGURE.search(t) for t in own - question.weights.keys())
    return any(_FIGURE.search(term) for term in own - question.weights.keys())


def certainty(figures: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the probability, 0 to 1, that a sentence with these figures answers."""
    total = weights.get("bias", 0.0) + sum(weights.get(name, 0.0) * value for name, value in figures.items())
    return 1 / (1 + exp(-max(min(total, 30.0), -30.0)))


def with_reading(figures: Mapping[str, float], verdict: float, margin: float, inside: float) -> dict[str, float]:
    """Add what the reader says, log-odds over ten.

    Of the best text that holds the sentence: its verdict, and how far its best span is above none; and the same of the
    best span that stands in the sentence itself.
    """
    return {**figures, "verdict": verdict / 10, "margin": margin / 10, "inside": max(inside, -10.0) / 10}


def reads(question: str) -> bool:
    """Tell whether the reader can read a question: it knows English."""
    letters = [c for c in question if c.isalpha()]
    if not letters or sum(c.isascii() for c in letters) < 0.9 * len(letters):
        return False
    return bool(_ENGLISH.search(question)) or len(question.split()) <= 3
