"""The sweeper: sends lost wake-ups again, ends expired leases, admits queued runs, moves on what time alone moves.

A loop over Postgres without any state of its own, so that any number of copies may run.
"""

import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from shared.domain.errors import LeadlineError
from shared.domain.ids import StepId
from shared.domain.kinds import KINDS
from shared.ports.ledger import Committed, WakeUp
from shared.ports.observer import UNOBSERVED, Observer
from shared.ports.watch import Signals

log = logging.getLogger(__name__)

BATCH = 200
SHORTEST_SLEEP_S = 0.05


class Sweep(Protocol):
    """The queries that the sweeper lives on."""

    def take_due(self, limit: int) -> tuple[WakeUp, ...]:
        """Return pending steps that nobody was woken for, in fair order."""
        ...

    def expired(self, limit: int) -> tuple[StepId, ...]:
        """Return running steps whose lease has run out."""
        ...

    def reclaim(self, step_id: StepId) -> Committed:
        """End the try of such a step."""
        ...

    def admit_queued(self, limit: int) -> tuple[Committed, ...]:
        """Start queued runs where there is room."""
        ...

    def advance_due(self, limit: int) -> tuple[Committed, ...]:
        """Move on runs whose time has come."""
        ...

    def seconds_to_next(self, longest: float) -> float:
        """Return the seconds until the next thing falls due."""
        ...


@dataclass(frozen=True, slots=True)
class Swept:
    """What one look found."""

    woken: int
    reclaimed: int
    admitted: int
    advanced: int


class Sweeper:
    """One sweeper; ``longest_sleep_s`` bounds the time between two looks."""

    def __init__(self, sweep: Sweep, signals: Signals, longest_sleep_s: float, observer: Observer = UNOBSERVED) -> None:
        self._sweep, self._signals, self._longest_sleep_s, self._observer = sweep, signals, longest_sleep_s, observer

    def look(self) -> Swept:
        """Do everything that is due now, once."""
        reclaimed = [self._sweep.reclaim(step_id) for step_id in self._sweep.expired(BATCH)]
        admitted = self._sweep.admit_queued(BATCH)
        advanced = self._sweep.advance_due(BATCH)
        self._send([*reclaimed, *admitted, *advanced])
        due = self._sweep.take_due(BATCH)
        self._signals.wake(due)
        self._count(reclaimed, due)
        return Swept(len(due), len(reclaimed), len(admitted), len(advanced))

    def run(self, stop: threading.Event) -> None:
        """Look until told to stop; an error is logged and looked past, the next look starts afresh."""
        while not stop.is_set():
            wait = self._longest_sleep_s
            try:
                swept = self.look()
                if swept.reclaimed or swept.admitted:
                    log.info("swept: %s", swept)
                wait = max(self._sweep.seconds_to_next(self._longest_sleep_s), SHORTEST_SLEEP_S)
            except LeadlineError as error:
                log.warning("a sweep failed: %s", error)
            except Exception:  # the sweeper must outlive anything that one look meets
                log.exception("a sweep failed")
            stop.wait(wait)

    def _count(self, reclaimed: Iterable[Committed], due: Iterable[WakeUp]) -> None:
        """Count what should be rare: a commit without events is a lease that was not ours to end after all."""
        for committed in reclaimed:
            if committed.events:
                self._observer.reclaimed()
        for wake_up in due:
            if wake_up.again:
                self._observer.sent_again(KINDS[wake_up.kind].queue)

    def _send(self, commits: Iterable[Committed]) -> None:
        for committed in commits:
            self._signals.publish(committed.events)
            self._signals.wake(committed.wake_ups)
