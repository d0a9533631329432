"""One call at a model's provider: what it is made of, who makes it, and the book that every call is entered in.

`Model.ask` is made of one or two such calls. Whatever concerns single calls (receipts, limits, the record of calls) is
a decorator of `Completions`; a repair is a call of its own.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from shared.domain.ids import sha256_hex
from shared.domain.phases import Phase
from shared.ports.ledger import Lease
from shared.ports.model import TokenUsage


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a call."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call at a provider. ``schema`` asks for native structured output; without it the answer is plain text."""

    phase: Phase
    model: str
    messages: tuple[Message, ...]
    schema_name: str
    schema: Mapping[str, Any] | None
    max_output_tokens: int
    deadline_s: float

    @property
    def sha256(self) -> str:
        """Return the hash that names the request; the deadline is no part of it."""
        parts = {**asdict(self), "deadline_s": None}
        return sha256_hex(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode())


Finish = Literal["stop", "length", "refused", "other"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call gave. ``usage`` is None when the provider did not say; ``latency_s`` is 0 for a kept reply."""

    text: str
    finish: Finish
    usage: TokenUsage | None
    served_model: str
    latency_s: float


class Completions(Protocol):
    """Makes one call at a provider, within its deadline and without retries of its own."""

    def complete(self, call: Call) -> Reply:
        """Return the reply; raises what `Model.ask` does, but `InvalidAnswer` only for a body that is no reply."""
        ...


class CallBook(Protocol):
    """The rows in which every call at a provider is reserved before it is made and settled after."""

    def reserve(self, lease: Lease, call: Call) -> str:
        """Set the worst case of the call aside and return the id of its row.

        Raises `BudgetExhausted` when it does not fit any more, `RateLimited` when it may once calls under way are
        settled, `Transient` when the lease was lost: then no call is to be made.
        """
        ...

    def settle(self, call_id: str, reply: Reply, *, prompt_cut: bool = False) -> None:
        """Book what the call used; without usage, what was set aside. ``prompt_cut`` is told of the run."""
        ...

    def fail(self, call_id: str, outcome: str, *, charged: bool) -> None:
        """Book a call that gave nothing: what was set aside, or nothing when the provider refused to do the work."""
        ...
