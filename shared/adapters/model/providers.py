"""Which providers there are, and models as the holders of leases use them."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from shared.adapters.model.decorators import Booked, Receipted, Strict
from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.structured import Names, StructuredModel
from shared.domain.errors import MODEL_REFUSED, Permanent
from shared.domain.model_names import PROVIDER_NAMES, parse_model_name
from shared.domain.phases import Phase
from shared.ports.completions import Call, CallBook, Completions, Reply
from shared.ports.ledger import Lease, Receipts
from shared.ports.model import Answer, Model, ModelAnswer, ModelRequest
from shared.ports.observer import UNOBSERVED, Observer


class Provider(Completions, Protocol):
    """An adapter that holds connections."""

    def close(self) -> None:
        """Close them."""
        ...


def _openai(endpoint: Endpoint) -> Provider:
    from shared.adapters.model.openai_compatible import openai_compatible  # takes a second to load

    return openai_compatible(endpoint)


def _ollama(endpoint: Endpoint) -> Provider:
    from shared.adapters.model.openai_compatible import ollama  # takes a second to load

    return ollama(endpoint)


def _anthropic(endpoint: Endpoint) -> Provider:
    from shared.adapters.model.anthropic import anthropic  # an extra

    return anthropic(_with_key(endpoint))


def _google(endpoint: Endpoint) -> Provider:
    from shared.adapters.model.google import google  # an extra

    return google(_with_key(endpoint))


PROVIDERS: dict[str, Callable[[Endpoint], Provider]] = dict(
    zip(PROVIDER_NAMES, (_openai, _anthropic, _google, _ollama), strict=True)
)
"""The providers that there are, by name."""


def _with_key(endpoint: Endpoint) -> Endpoint:
    if not endpoint.key:
        raise Permanent(f"{MODEL_REFUSED}key", f"The provider needs a key: set {endpoint.key_name} for this worker.")
    return endpoint


class OnDemand:
    """A provider that is loaded with its first call, so that processes which ask no model never pay for it."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        self._name, self._open, self._endpoint = name, PROVIDERS[name], endpoint
        self._lock = threading.Lock()
        self._provider: Provider | None = None

    def complete(self, call: Call) -> Reply:
        """Return the reply to one call; raises `Permanent` where the provider's library or key is missing."""
        with self._lock:
            if self._provider is None:
                self._provider = self._opened()
            provider = self._provider
        return provider.complete(call)

    def close(self) -> None:
        """Close what was opened."""
        with self._lock:
            provider, self._provider = self._provider, None
        if provider is not None:
            provider.close()

    def _opened(self) -> Provider:
        try:
            return self._open(self._endpoint)
        except ImportError as error:
            told = f"The library for the provider {self._name} is not installed"
            detail = f"{told}: `python -m pip install 'pydantic-ai-slim[{self._name}]'`."
            raise Permanent(f"{MODEL_REFUSED}library", detail) from error


class Switchboard:
    """Sends each call to the provider that its model's name begins with; the provider gets the bare name."""

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        self._providers = {name: OnDemand(name, endpoint) for name, endpoint in endpoints.items()}

    def complete(self, call: Call) -> Reply:
        """Return the reply to one call."""
        name = parse_model_name(call.model)
        return self._providers[name.provider].complete(replace(call, model=name.name))

    def close(self) -> None:
        """Close all providers."""
        for provider in self._providers.values():
            provider.close()


@dataclass(frozen=True, slots=True)
class Records:
    """Where calls are recorded: proof that they were made, what they used, and what an operator sees."""

    receipts: Receipts
    book: CallBook
    observer: Observer = UNOBSERVED


class Models:
    """Gives each step its model: with its receipts, on its run's account."""

    def __init__(
        self,
        provider: Completions,
        names: Mapping[Phase, str],
        records: Records,
        *,
        strict: bool = False,
        patience: float = 1.0,
    ) -> None:
        self._provider, self._records, self._strict, self._patience = provider, records, strict, patience
        self._names = Names(dict(names), set())

    def of(self, lease: Lease) -> Model:
        """Return the model as the holder of a lease may use it."""
        booked = Booked(self._provider, self._records.book, lease, self._records.observer)
        receipted = Receipted(booked, self._records.receipts, lease)
        model = StructuredModel(Strict(receipted) if self._strict else receipted, self._names)
        return model if self._patience == 1 else Patient(model, self._patience)


class Patient:
    """Gives a slow model a multiple of the time that a request sets."""

    def __init__(self, inner: Model, factor: float) -> None:
        self._inner, self._factor = inner, factor

    def name(self, phase: Phase) -> str:
        """Return the model's name."""
        return self._inner.name(phase)

    def ask(self, request: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        """Return the validated answer."""
        return self._inner.ask(replace(request, deadline_s=request.deadline_s * self._factor))


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
