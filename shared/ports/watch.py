"""Hearing that a run has new events; only a hint, the table is the truth."""

from collections.abc import Sequence
from typing import Protocol

from shared.contracts.events import Event
from shared.ports.ledger import WakeUp


class Signals(Protocol):
    """After-commit sends: best effort, bounded in time, never raising."""

    def wake(self, wake_ups: Sequence[WakeUp]) -> int:
        """Send wake-ups; return how many were sent."""
        ...

    def publish(self, events: Sequence[Event]) -> None:
        """Publish events on their run's channel."""
        ...


class Watch(Protocol):
    """Waiting for a run's next event."""

    def wait(self, run_id: str, seconds: float) -> None:
        """Return when the run may have something new, or after ``seconds``."""
        ...
