"""What every call at a provider passes through on a step's account: its receipt first, then the book of calls."""

import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from shared.domain.errors import MODEL_REFUSED, InvalidAnswer, NotSent, Permanent, RateLimited, StepError
from shared.domain.model_names import is_served_as
from shared.domain.spending import CUT_SHARE, least_tokens
from shared.ports.completions import Call, CallBook, Completions, Reply
from shared.ports.ledger import Lease, Receipts
from shared.ports.model import TokenUsage
from shared.ports.observer import Observer


class Receipted:
    """Gives the kept reply to a call that this step made before, and keeps every new one."""

    def __init__(self, inner: Completions, receipts: Receipts, lease: Lease) -> None:
        self._inner, self._receipts, self._lease = inner, receipts, lease

    def complete(self, call: Call) -> Reply:
        """Return the reply to one call, made at most once within step and epoch unless its receipt was lost."""
        request = call.sha256
        kept = self._receipts.find(self._lease, request)
        if kept is not None:
            return _reply_of(kept)
        reply = self._inner.complete(call)
        self._receipts.keep(self._lease, request, "model", asdict(reply))
        return reply


class Strict:
    """Refuses what another model than the one that was asked for has answered; the call stays booked and proved."""

    def __init__(self, inner: Completions) -> None:
        self._inner = inner

    def complete(self, call: Call) -> Reply:
        """Return the reply to one call; raises `Permanent` when the provider switched the model."""
        reply = self._inner.complete(call)
        if not is_served_as(call.model, reply.served_model):
            detail = (
                f"The provider answered with {reply.served_model} where {call.model} was asked for; "
                "LEADLINE_MODEL_STRICT forbids that."
            )
            raise Permanent(f"{MODEL_REFUSED}switched", detail)
        return reply


class Booked:
    """Reserves the worst case of a call before it is made, and books what it used after."""

    def __init__(self, inner: Completions, book: CallBook, lease: Lease, observer: Observer) -> None:
        self._inner, self._book, self._lease, self._observer = inner, book, lease, observer

    def complete(self, call: Call) -> Reply:
        """Return the reply to one call; raises `BudgetExhausted` without making it when it does not fit."""
        call_id = self._book.reserve(self._lease, call)
        started = time.monotonic()
        try:
            reply = self._inner.complete(call)
        except StepError as error:
            self._book.fail(call_id, error.code, charged=not _refused(error))
            self._observer.asked(call.phase, error.code, None)
            raise
        reply = replace(reply, latency_s=time.monotonic() - started)
        self._book.settle(call_id, reply, prompt_cut=was_prompt_cut(call, reply))
        self._observer.asked(call.phase, reply.finish, reply.usage)
        return reply


def was_prompt_cut(call: Call, reply: Reply) -> bool:
    """Tell whether the server can hardly have read all of a prompt: it counts fewer tokens than that has words."""
    read = reply.usage.input if reply.usage is not None else 0
    return 0 < read < CUT_SHARE * least_tokens(message.text for message in call.messages)


def _refused(error: StepError) -> bool:
    """Tell whether a call never left, or was refused before any work was done for it, so that nothing is charged."""
    return isinstance(error, RateLimited | Permanent | NotSent) and not isinstance(error, InvalidAnswer)


def _reply_of(kept: Mapping[str, Any]) -> Reply:
    usage = TokenUsage(**kept["usage"]) if kept["usage"] is not None else None
    return Reply(**{**kept, "usage": usage, "latency_s": 0.0})
