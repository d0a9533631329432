"""The search providers and rerankers as they answer: what became of the last call at each, over all workers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ServiceState:
    """When a service was asked last, and the code of the error that came of it; None when it answered."""

    asked_at: datetime
    failure: str | None


class ServiceStates(Protocol):
    """One row a service."""

    def note(self, name: str, failure: str | None) -> None:
        """Take that a service was asked now; ``failure`` is the code of the error, None when it answered."""
        ...

    def all(self) -> Mapping[str, ServiceState]:
        """Return the services that were ever asked, by name."""
        ...


class NoStates:
    """Remembers nothing, where there is no database."""

    def note(self, name: str, failure: str | None) -> None:
        """Forget it."""

    def all(self) -> Mapping[str, ServiceState]:
        """Return nothing."""
        return {}


NO_STATES = NoStates()
