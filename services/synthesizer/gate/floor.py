"""The floor: what no model can overrule. A statement that its spans do not hold at all is refused, whoever vouches.

Three things are looked for, each far below what being supported takes, so that other wordings stay above them:

- too few of the statement's content words stand in its spans, in any form, figures aside; and words that are thrown
  together, of which hardly any two stand side by side in a span;
- a sentence that is taken from a span, with a tail of which no word stands in any span;
- a clause of which no word stands in any span, in a statement that is otherwise nearly all there.

How many labelled statements stay above it: ``python -m evals.truth.floor``.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from services.synthesizer.gate.context import Check
from services.synthesizer.gate.features import MAX_EVIDENCE_CHARS, PREFIX, Sentence, sentences_of
from services.synthesizer.gate.wordlists import CLAUSE_BREAK
from shared.domain.text import content_terms, terms

FEW = 5
"""From so many content words on, `LEAST_HELD` of them have to be held; of fewer, one."""
LEAST_HELD = 0.1
MANY = 10
"""From so many on, a statement of which less than `LOOSE_HELD` is held has to share two words side by side."""
LOOSE_HELD = 0.2
SHUFFLED_HELD = 0.8
SHUFFLED = 0.15
"""A statement of which so much is held has this part of its neighbouring words side by side in a span."""
TAKEN = 4
"""Content words in a row that show that a part of a sentence was taken from a span."""
INVENTED = 2
"""Content words in a row, none of them in any span, that make an invented tail."""
MOSTLY = 0.7
"""Which part of a statement is held where a clause without any word in the spans is taken for invented."""

_TOLD_BY = re.compile(
    r"\A(?:according to (?:the|its|this|these) (?:cited )?(?:sources?|documents?|pages?|reports?)\s*,?"
    r"|(?:the|these|this) (?:cited )?(?:sources?|documents?|pages?|reports?) "
    r"(?:say|state|report|note|add|show|find|tell)s?(?: that)?\s*,?)\s+",
    re.I,
)
"""How a sentence begins that only says that the sources say what follows: no span says so of itself."""

NOTHING_HELD = "hardly any of its words stand in the cited excerpts"
THROWN_TOGETHER = "its words stand in the cited excerpts here and there, no two of them side by side"


def check_floor(statement: str, excerpts: Iterable[str], *, concludes: bool = False) -> Check:
    """Refuse a statement that its excerpts do not hold at all, or one part of which they do not hold at all.

    One that ``concludes``, from other statements or by a computation, may have a part and a few words of its own.
    """
    if concludes and len(content_terms(statement)) < FEW:
        return Check("pass")
    evidence = sentences_of("\n".join(excerpts)[:MAX_EVIDENCE_CHARS])
    found = loose(statement, evidence) or (() if concludes else invented(statement, evidence))
    return Check("fail", found) if found else Check("pass")


def loose(statement: str, evidence: Sequence[Sentence]) -> tuple[str, ...]:
    """Return why the statement as a whole has nothing to do with its spans."""
    reason = _loose(statement, _Held(evidence), evidence)
    return (reason,) if reason else ()


def invented(statement: str, evidence: Sequence[Sentence]) -> tuple[str, ...]:
    """Return the parts of which no span holds a word, in sentences that are otherwise there."""
    words = _Held(evidence)
    parts = (_invented(here, words, evidence) for here in sentences_of(_TOLD_BY.sub("", statement)))
    return tuple(f"of “{part}” no word stands in the cited excerpts" for part in parts if part)


class _Held:
    """The words of the spans; another form of a word counts as the word."""

    def __init__(self, evidence: Sequence[Sentence]) -> None:
        self._words = frozenset().union(*(s.words for s in evidence))
        self._starts = frozenset(w[:PREFIX] for w in self._words if len(w) >= PREFIX)

    def holds(self, term: str) -> bool:
        return term in self._words or (len(term) >= PREFIX and term[:PREFIX] in self._starts)


def _loose(statement: str, words: _Held, evidence: Sequence[Sentence]) -> str | None:
    every = dict.fromkeys(content_terms(statement))
    wanted = [term for term in every if not term[0].isdigit()] or list(every)
    held = sum(map(words.holds, wanted))
    share = held / max(len(wanted), 1)
    if not held or (len(wanted) >= FEW and share < LEAST_HELD):
        return NOTHING_HELD
    beside = _side_by_side(statement, evidence) if share < LOOSE_HELD or share >= SHUFFLED_HELD else 1.0
    return THROWN_TOGETHER if _is_thrown_together(len(wanted), share, beside) else None


def _is_thrown_together(wanted: int, share: float, beside: float) -> bool:
    """Tell whether words are there but not in this order: nearly all of them shuffled, or few of many, none beside."""
    shuffled = wanted >= FEW and share >= SHUFFLED_HELD and beside < SHUFFLED
    return shuffled or (wanted >= MANY and share < LOOSE_HELD and not beside)


def _side_by_side(statement: str, evidence: Sequence[Sentence]) -> float:
    """Return which part of the statement's neighbouring words are neighbours in a span."""
    wanted = list(pairwise(terms(statement)))
    there = frozenset(pair for s in evidence for pair in pairwise(terms(s.text)))
    return sum(pair in there for pair in wanted) / len(wanted) if wanted else 1.0


def _invented(here: Sentence, words: _Held, evidence: Sequence[Sentence]) -> str | None:
    """Return the words of a part that nothing holds, of a sentence of which the rest was taken from a span."""
    held = [words.holds(term) for term in here.content]
    if all(held):
        return None
    size = len(held)
    tail = next(n for n in range(size + 1) if n == size or held[size - 1 - n])
    head = here.content[max(size - tail - TAKEN, 0) : size - tail]
    if tail >= INVENTED and len(head) == TAKEN and _taken(head, evidence):
        return " ".join(here.content[size - tail :])
    if sum(held) < MOSTLY * len(held):
        return None
    for clause in CLAUSE_BREAK.split(here.text):
        content = content_terms(clause)
        if len(content) >= INVENTED and not any(map(words.holds, content)):
            return " ".join(clause.split())
    return None


def _taken(row: Sequence[str], evidence: Sequence[Sentence]) -> bool:
    """Tell whether the words stand in a row in a sentence of the spans."""
    wanted = tuple(row)
    return any(
        s.content[n : n + len(wanted)] == wanted
        for s in evidence
        if s.words.issuperset(wanted)
        for n in range(len(s.content) - len(wanted) + 1)
    )
