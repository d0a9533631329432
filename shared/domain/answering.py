"""Which figures and dates of a text can answer a question that asks for one."""

import re
from collections.abc import Iterable

from shared.domain.numbers import Quantity, missing_quantities
from shared.domain.questions import AnswerKind, Asked, own_words

_FIGURES = frozenset({"number", "percent", "money"})
_ASKS_HOW_MUCH = re.compile(r"how\s+(?:many|much|deep|long|wide|high|tall|far|old|heavy|thick)\b", re.I)
_COUNTS_WITHOUT_A_FIGURE = re.compile(
    r"\b(?:no|none|nobody|nothing|zero|all|both|every|each|half|double|twice|once|free|dozens?|hundreds|thousands|"
    r"millions|billions|century|decades?|years?)\b",
    re.I,
)


def answering(found: Iterable[Quantity], what: Asked) -> tuple[Quantity, ...]:
    """Return the dates where a date is asked for, the other figures where a figure is, else nothing."""
    if what.answer is AnswerKind.DATE:
        return tuple(q for q in found if q.kind == "date")
    if what.answer is AnswerKind.QUANTITY:
        return tuple(q for q in found if q.kind in _FIGURES)
    return ()


def can_answer(text: str, question: str) -> bool:
    """Tell whether a text can answer a question: one for how many or how deep needs a figure or a word that counts.

    A figure that the question gives itself is none. True for all texts where the question asks for something else.
    """
    if not _ASKS_HOW_MUCH.match(own_words(question)):
        return True
    return bool(_COUNTS_WITHOUT_A_FIGURE.search(text)) or bool(missing_quantities(text, (question,)))
