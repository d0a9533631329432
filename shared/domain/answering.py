"""Which figures and dates of a text can answer a question that asks for one."""

from collections.abc import Iterable

from shared.domain.numbers import Quantity, missing_quantities
from shared.domain.questions import AnswerKind, Asked

_FIGURES = frozenset({"number", "percent", "money"})


def answering(found: Iterable[Quantity], what: Asked) -> tuple[Quantity, ...]:
    """Return the dates where a date is asked for, the other figures where a figure is, else nothing."""
    if what.answer is AnswerKind.DATE:
        return tuple(q for q in found if q.kind == "date")
    if what.answer is AnswerKind.QUANTITY:
        return tuple(q for q in found if q.kind in _FIGURES)
    return ()


def can_answer(text: str, question: str, what: Asked) -> bool:
    """Tell whether a text holds a figure or a date that the question asks for and does not give itself.

    True for all texts where it asks for something else.
    """
    if what.answer not in (AnswerKind.DATE, AnswerKind.QUANTITY):
        return True
    return bool(answering(missing_quantities(text, (question,)), what))
