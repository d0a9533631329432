"""Sides of questions that ask for yes or no, or for what holds now: who affirms, who denies, who names what when."""

import re
from collections.abc import Mapping, Sequence

from shared.contracts.evidence import Evidence, Source
from shared.domain.chains import all_names
from shared.domain.text import content_terms

_YES_NO = re.compile(
    r"^(?:do|does|did|is|are|was|were|can|could|will|would|should|has|have|had|may|might|must)\b(?!.*\bor\b)", re.I
)
_NOW = re.compile(
    r"\b(?:latest|last|newest|(?:most\s+)?recent|current|currently|now|today|this\s+(?:year|season|month)|next|so\s+far)\b",
    re.I,
)
_DENIES = re.compile(
    r"\b(?:not|no|never|cannot|nor|neither|without|isn['’]t|aren['’]t|wasn['’]t|weren['’]t|don['’]t|doesn['’]t|didn['’]t|"
    r"can['’]t|won['’]t|wouldn['’]t|unlikely|myth|false|fails?|failed|little\s+evidence)\b",
    re.I,
)


def asks_yes_or_no(question: str) -> bool:
    """Tell whether a question is answered by yes or no."""
    return _YES_NO.match(question) is not None


def asks_what_holds_now(question: str) -> bool:
    """Tell whether the answer to a question changes with time."""
    return _NOW.search(question) is not None


def by_polarity(answers: Sequence[Evidence]) -> dict[str, tuple[Evidence, ...]]:
    """Group answers to a yes-or-no question by whether they deny."""
    sides: dict[str, tuple[Evidence, ...]] = {}
    for item in answers:
        side = "no" if _DENIES.search(item.excerpt) else "yes"
        sides[side] = (*sides.get(side, ()), item)
    return sides


def by_time(
    question: str, answers: Sequence[Evidence], sources: Mapping[str, Source]
) -> dict[str, tuple[Evidence, ...]]:
    """Group answers to a question for what holds now by the first name in each; undated ones are left out."""
    asked_for = frozenset(content_terms(question))
    sides: dict[str, tuple[Evidence, ...]] = {}
    for item in answers:
        source = sources.get(item.source_id)
        names = [n for n in all_names(item.excerpt) if not set(content_terms(n)) & asked_for]
        if names and source is not None and source.published_at:
            sides[names[0]] = (*sides.get(names[0], ()), item)
    return sides
