"""Asking a language model, as an engine sees it: a question in, validated data out. A model gets no tools."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

from shared.domain.phases import Phase
from shared.ports.ledger import Lease

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ModelRequest(Generic[Answer]):
    """A question to a model.

    ``instructions`` are the same for every call of a phase, so that providers can cache them; everything that changes
    stands in ``input``. ``deadline_s`` bounds the whole of it, a repair included.
    """

    phase: Phase
    instructions: str
    input: str
    output: type[Answer]
    max_output_tokens: int
    deadline_s: float


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens as the provider counted them; ``cached`` is the part of ``input`` that came from its cache."""

    input: int = 0
    output: int = 0
    cached: int = 0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        """Return both together."""
        return TokenUsage(self.input + other.input, self.output + other.output, self.cached + other.cached)


@dataclass(frozen=True, slots=True)
class ModelAnswer(Generic[Answer]):
    """A validated answer. ``served_model`` is what the provider says it used; ``usage`` covers a repair too."""

    value: Answer
    usage: TokenUsage
    requested_model: str
    served_model: str
    latency_s: float
    repaired: bool


class Model(Protocol):
    """A model as engines know it."""

    def name(self, phase: Phase) -> str:
        """Return the name of the model that answers in this phase."""
        ...

    def ask(self, request: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        """Return a validated answer.

        Raises `RateLimited` (the provider named a time), `Transient` (it failed in a way that may pass), `Permanent`
        (it refuses this key, model or request), `InvalidAnswer` (also after one repair), `BudgetExhausted`.
        """
        ...


ModelOf = Callable[[Lease], Model]
"""Gives the model as the holder of a lease may use it: on that step's account and with its receipts."""
