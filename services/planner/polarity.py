"""Sides of questions that ask for yes or no, or for what holds now: who affirms, who denies, who names what when."""

import re
from collections.abc import Mapping, Sequence

from shared.contracts.evidence import Evidence, Source
from shared.domain.chains import all_names
from shared.domain.dates import MONTH_NAMES
from shared.domain.questions import CLASS_TERMS
from shared.domain.segments import segment
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
    r"can['’]t|won['’]t|wouldn['’]t|shouldn['’]t|couldn['’]t|unlikely|myth|false|fails?|failed|little\s+evidence)\b",
    re.I,
)
_ASKS = re.compile(r"[?？]\W*$|^\W*whether\b|\b(?:wonder(?:ed|s|ing)?|question(?:s|ed)?|asks?|asked)\b", re.I)
_CLAUSE = re.compile(r"[,;:]\s|\b(?:and|but|so|because|although|while|whereas)\b", re.I)
_NOW_TERMS = frozenset(
    content_terms("latest last newest most recent current currently now today this year season month next so far")
)
_NO_NAMES = frozenset(content_terms(" ".join([*MONTH_NAMES, *(n[:3] for n in MONTH_NAMES), "sept"])))

HELD = 0.6
"""Share of the words of a yes-or-no question that a sentence has to hold to answer it."""

REACH = 4
"""Words before or after a denial in which a word of the question stands that it denies."""

NOW_HELD = 0.5
"""The same for questions for what holds now, beside the words for "now"."""

Spoken = Sequence[tuple[str, Evidence]]
"""Evidence with the voice that it speaks for, the most relevant first."""


def asks_yes_or_no(question: str) -> bool:
    """Tell whether a question is answered by yes or no."""
    return _YES_NO.match(question) is not None


def asks_what_holds_now(question: str) -> bool:
    """Tell whether the answer to a question changes with time."""
    return _NOW.search(question) is not None


def by_polarity(question: str, answers: Spoken) -> dict[str, tuple[Evidence, ...]]:
    """Group answers to a yes-or-no question by whether they deny; every voice speaks once, by its fullest sentence.

    A sentence answers when it states, and does not ask, most of what the question says; it denies when the denial
    stands beside those words.
    """
    wanted = frozenset(content_terms(question))
    best: dict[str, tuple[int, str, Evidence]] = {}
    for voice, item in answers:
        held, side = _side(wanted, item.excerpt)
        if held > best.get(voice, (0,))[0]:
            best[voice] = (held, side, item)
    sides: dict[str, tuple[Evidence, ...]] = {}
    for _, side, item in best.values():
        sides[side] = (*sides.get(side, ()), item)
    return sides


def _side(wanted: frozenset[str], excerpt: str) -> tuple[int, str]:
    """Return how many words of the question the fullest answering sentence holds, and "yes" or "no"; 0 for none."""
    best = (0, "")
    for span in segment(excerpt):
        sentence = excerpt[span.start : span.end]
        held = len(wanted & set(content_terms(sentence)))
        if held > best[0] and held >= HELD * len(wanted) and not _ASKS.search(sentence):
            best = (held, "no" if _denied(wanted, sentence) else "yes")
    return best


def _denied(wanted: frozenset[str], sentence: str) -> bool:
    """Tell whether a denial stands within a few words of a word of the question, in one clause with it."""
    for denial in _DENIES.finditer(sentence):
        before = _CLAUSE.split(sentence[: denial.start()])[-1].split()[-REACH:]
        after = _CLAUSE.split(sentence[denial.end() :])[0].split()[:REACH]
        if wanted & set(content_terms(" ".join((*before, *after)))):
            return True
    return False


def by_time(question: str, answers: Spoken, sources: Mapping[str, Source]) -> dict[str, tuple[Evidence, ...]]:
    """Group answers to a question for what holds now by the first name in each; undated ones are left out.

    A sentence answers when it holds half of what is asked for, with its title; names of months are none.
    """
    asked_for = frozenset(content_terms(question))
    needed = asked_for - _NOW_TERMS - CLASS_TERMS
    sides: dict[str, tuple[Evidence, ...]] = {}
    spoken: set[str] = set()
    for voice, item in answers:
        source = sources.get(item.source_id)
        held = frozenset(content_terms(f"{(source.title if source else None) or ''} {item.excerpt}"))
        names = [n for n in all_names(item.excerpt) if not set(content_terms(n)) & (asked_for | _NO_NAMES)]
        if voice in spoken or not names or source is None or not source.published_at:
            continue
        if len(needed & held) >= NOW_HELD * len(needed):
            spoken.add(voice)
            sides[names[0]] = (*sides.get(names[0], ()), item)
    return sides
