"""What is needed of a reader: does a text answer a question, and where; does evidence support a statement."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.errors import LeadlineError


@dataclass(frozen=True, slots=True)
class Pair:
    """A question (or a statement) and a text to read it with; `title` names what the text is of."""

    query: str
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader makes of a pair.

    `verdict` are the log-odds that the text answers the question; `start` and `end` bound the best span in `text` (code
    points, end exclusive), whatever the verdict, and `margin` says how far, in log-odds, it is above no span at all.
    All are 0 where there is no span.
    """

    verdict: float
    margin: float
    start: int
    end: int


class ReaderUnavailable(LeadlineError):
    """There is no reader here, or its file is not the one that belongs to this version."""


class Reader(Protocol):
    """Reads pairs; any number of threads may call it at once."""

    def read(self, pairs: Sequence[Pair]) -> tuple[Reading, ...]:
        """Return one reading for each pair, in their order.

        Raises ReaderUnavailable.
        """
        ...

    def supports(self, pairs: Sequence[Pair]) -> tuple[float, ...]:
        """Return for each statement and its evidence the probability, 0 to 1, that the evidence supports it.

        Raises ReaderUnavailable.
        """
        ...
