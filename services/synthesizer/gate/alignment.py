"""Support without a model for statements that are not verbatim: a logistic score over how they align with their spans.

The weights are in `weights`, fitted by ``python -m evals.truth.train_support`` on pairs that people labelled. The same
statement and spans always give the same score, so a verdict can be repeated offline. 0.5 is where being right is most
likely on both sides; only `EMIT` and more is emitted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp

from services.synthesizer.gate import weights
from services.synthesizer.gate.features import (
    MAX_EVIDENCE_CHARS,
    Checked,
    Sentence,
    Turned,
    features,
    named_terms,
    sentences_of,
)
from services.synthesizer.gate.figures import Unmet, unmet_figures
from services.synthesizer.gate.floor import invented
from services.synthesizer.gate.lines import sentence_lines
from services.synthesizer.gate.names import missing_names, proper_names
from services.synthesizer.gate.quotes import misquoted
from services.synthesizer.gate.turns import turns
from shared.domain.numbers import is_pronoun, quantities
from shared.domain.text import content_terms

ALIGNMENT = "alignment"
ALIGNMENT_VERSION = weights.VERSION
EMIT = weights.EMIT
"""The least score with which a statement is emitted."""

HALF = 0.5
"""The score from which a statement counts as supported where both mistakes weigh the same."""

LEAST = 0.5
"""Which part of its words the evidence has to hold of every clause of a statement that is emitted."""

BARE_ANSWER_TERMS = 2
"""A statement of so few terms is read together with its question."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """How a statement aligns with its spans, and the figures and names that the spans lack."""

    features: Mapping[str, float]
    turned: Turned
    figures: int
    unmet: tuple[Unmet, ...]
    missing: tuple[str, ...]
    score: float
    """The chance, 0 to 1, that people would call the statement supported."""
    turns: tuple[str, ...]
    """What the statement turns, misquotes or invents; looked at from `HALF` on: below it nothing is emitted anyway."""

    @property
    def clean(self) -> bool:
        """Whether nothing forbids that the statement is emitted: a figure, a name, an opposite, a clause, a turn."""
        turned = self.turned
        against = self.unmet or self.missing or turned.denies or turned.opposed or self.turns
        return not against and turned.least >= LEAST

    @property
    def emitted(self) -> bool:
        """Whether the statement may stand in a report."""
        return self.score >= EMIT and self.clean


def assess(statement: str, spans: Sequence[str], question: str | None = None, as_of: str | None = None) -> Assessment:
    """Align a statement with all of its spans together."""
    if question and len(content_terms(statement)) <= BARE_ANSWER_TERMS:
        statement = f"{question} {statement}"
    lines = sentence_lines(statement)
    figures = [q for q in quantities(lines) if not is_pronoun(lines, q)]
    unmet = unmet_figures(lines, [sentence_lines(s) for s in spans], as_of) if figures or as_of else ()
    names = proper_names(statement)
    missing = missing_names(statement, spans) if names else ()
    terms = named_terms([*names, *(q.text for q in figures)])
    checked = Checked(len(figures), len(unmet), len(names), len(missing), terms)
    evidence = sentences_of("\n".join(spans)[:MAX_EVIDENCE_CHARS])
    found, turned = features(statement, evidence, checked, answers=bool(question))
    score = score_of(found)
    against = _against(statement, spans, evidence) if score >= HALF else ()
    return Assessment(found, turned, len(figures), unmet, missing, score, against)


def _against(statement: str, spans: Sequence[str], evidence: Sequence[Sentence]) -> tuple[str, ...]:
    quoted = (f"“{q}” is quoted and stands so in none of the cited excerpts" for q in misquoted(statement, spans))
    return (*turns(statement, evidence), *invented(statement, evidence), *quoted)


def score_of(found: Mapping[str, float]) -> float:
    """Return the score, 0 to 1, of the named figures: logistic over standardized values."""
    total = weights.BIAS
    for name, mean, scale, weight in weights.WEIGHTS:
        total += weight * (found[name] - mean) / scale
    return round(1 / (1 + exp(-max(-40.0, min(40.0, total)))), 6)
