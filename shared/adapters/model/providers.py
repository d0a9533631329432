"""Which providers there are, and models as the holders of leases use them."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from shared.adapters.model.decorators import Booked, Receipted
from shared.adapters.model.structured import Names, StructuredModel
from shared.domain.errors import MODEL_REFUSED, Permanent
from shared.domain.phases import Phase
from shared.ports.completions import Call, CallBook, Completions, Reply
from shared.ports.ledger import Lease, Receipts
from shared.ports.model import Answer, Model, ModelAnswer, ModelRequest
from shared.ports.observer import UNOBSERVED, Observer


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where models are asked, and with which key."""

    base_url: str
    key: str | None


class Provider(Completions, Protocol):
    """An adapter that holds connections."""

    def close(self) -> None:
        """Close them."""
        ...


def _openai_compatible(endpoint: Endpoint) -> Provider:
    from shared.adapters.model.openai_compatible import OpenAICompatible  # takes a second to load

    return OpenAICompatible(endpoint.base_url, endpoint.key)


PROVIDERS: dict[str, Callable[[Endpoint], Provider]] = {"openai": _openai_compatible}
"""The providers that there are, by name."""


class OnDemand:
    """A provider that is loaded with its first call, so that processes which ask no model never pay for it."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        self._open, self._endpoint = PROVIDERS[name], endpoint
        self._lock = threading.Lock()
        self._provider: Provider | None = None

    def complete(self, call: Call) -> Reply:
        """Return the reply to one call."""
        with self._lock:
            if self._provider is None:
                self._provider = self._open(self._endpoint)
            provider = self._provider
        return provider.complete(call)

    def close(self) -> None:
        """Close what was opened."""
        with self._lock:
            provider, self._provider = self._provider, None
        if provider is not None:
            provider.close()


@dataclass(frozen=True, slots=True)
class Records:
    """Where calls are recorded: proof that they were made, what they used, and what an operator sees."""

    receipts: Receipts
    book: CallBook
    observer: Observer = UNOBSERVED


class Models:
    """Gives each step its model: with its receipts, on its run's account."""

    def __init__(self, provider: Completions, names: Mapping[Phase, str], records: Records) -> None:
        self._provider, self._records = provider, records
        self._names = Names(dict(names), set())

    def of(self, lease: Lease) -> Model:
        """Return the model as the holder of a lease may use it."""
        booked = Booked(self._provider, self._records.book, lease, self._records.observer)
        return StructuredModel(Receipted(booked, self._records.receipts, lease), self._names)


class NoModel:
    """Stands where no model is configured."""

    def name(self, phase: Phase) -> str:
        """Refuse: there is none."""
        raise self._refusal(phase)

    def ask(self, request: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        """Refuse: there is none."""
        raise self._refusal(request.phase)

    def _refusal(self, phase: Phase) -> Permanent:
        detail = f"No model is configured for the {phase}: set LEADLINE_MODEL (and OPENAI_BASE_URL) for this worker."
        return Permanent(f"{MODEL_REFUSED}none", detail)


def no_model(_: Lease) -> Model:
    """Return the model of a process that has none."""
    return NoModel()
