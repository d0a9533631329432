"""The sweeper: sends lost wake-ups again, ends expired leases, admits queued runs, moves on what time alone moves.

A loop over Postgres without any state of its own, so that any number of copies may run.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from shared.domain.errors import LeadlineError, RateLimited
from shared.domain.ids import JobId, OwnerId, RunId, StepId
from shared.domain.kinds import KINDS
from shared.ports.ledger import Committed, WakeUp
from shared.ports.observer import UNOBSERVED, Observer
from shared.ports.watch import Signals

log = logging.getLogger(__name__)

BATCH = 100
ADMITTED = 10
"""Owners whose runs are started in one look, so that expired leases do not wait for a crowd."""

MOST_WAITING = 200
"""Messages in a queue to which nothing is added: its workers have enough to do, and may have them all already."""

SHORTEST_SLEEP_S = 0.05
PUT_OFF_S = 30.0

Item = TypeVar("Item", StepId, OwnerId, RunId, JobId)


class Sweep(Protocol):
    """The queries that the sweeper lives on."""

    def due_queues(self) -> Collection[str]:
        """Return the queues for which there is a step to wake a worker for."""
        ...

    def take_due(self, queue: str, limit: int) -> tuple[WakeUp, ...]:
        """Return pending steps of a queue that nobody was woken for, in fair order."""
        ...

    def expired(self, limit: int) -> tuple[StepId, ...]:
        """Return running steps whose lease has run out."""
        ...

    def reclaim(self, step_id: StepId) -> Committed:
        """End the try of such a step."""
        ...

    def owners_with_room(self, limit: int) -> tuple[OwnerId, ...]:
        """Return owners of queued runs that may start some."""
        ...

    def admit(self, owner_id: OwnerId) -> Committed:
        """Start such runs."""
        ...

    def due_runs(self, limit: int) -> tuple[RunId, ...]:
        """Return runs whose time has come."""
        ...

    def advance(self, run_id: RunId) -> Committed:
        """Move such a run on."""
        ...

    def orphaned_jobs(self, limit: int) -> tuple[JobId, ...]:
        """Return jobs at providers that nobody waits for any more."""
        ...

    def cancel_job(self, job_id: JobId) -> Committed:
        """Start the run that cancels such a job."""
        ...

    def put_off(self, item: str, seconds: float) -> None:
        """Leave a step or a run alone for so long."""
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
    all_sent: bool = True
    """Whether every queue had room; if not, what is due stays due, and looking again at once would change nothing."""


class Sweeper:
    """One sweeper; ``longest_sleep_s`` bounds the time between two looks."""

    def __init__(
        self,
        sweep: Sweep,
        signals: Signals,
        waiting: Callable[[], Mapping[str, int]],
        longest_sleep_s: float,
        observer: Observer = UNOBSERVED,
    ) -> None:
        """Take ``waiting`` as what tells how many messages each queue holds; it may raise `LeadlineError`."""
        self._sweep, self._signals, self._waiting = sweep, signals, waiting
        self._longest_sleep_s, self._observer = longest_sleep_s, observer

    def look(self) -> Swept:
        """Do everything that is due now, once; what cannot be done is put off and keeps nothing else waiting."""
        reclaimed = self._each(self._sweep.expired(BATCH), self._sweep.reclaim)
        admitted = self._each(self._sweep.owners_with_room(ADMITTED), self._sweep.admit)
        advanced = self._each(self._sweep.due_runs(BATCH), self._sweep.advance)
        self._each(self._sweep.orphaned_jobs(BATCH), self._sweep.cancel_job)
        due, all_sent = self._wake()
        self._count(reclaimed, due)
        return Swept(len(due), len(reclaimed), len(admitted), len(advanced), all_sent)

    def run(self, stop: threading.Event) -> None:
        """Look until told to stop; an error is logged and looked past, the next look starts afresh."""
        while not stop.is_set():
            wait = self._longest_sleep_s
            try:
                swept = self.look()
                if swept.reclaimed or swept.admitted:
                    log.info("swept: %s", swept)
                if swept.admitted:
                    wait = 0.0
                elif swept.all_sent:
                    wait = self._sweep.seconds_to_next(self._longest_sleep_s)
            except LeadlineError as error:
                log.warning("a sweep failed: %s", error)
            except Exception:  # the sweeper must outlive anything that one look meets
                log.exception("a sweep failed")
            stop.wait(max(wait, SHORTEST_SLEEP_S))

    def _each(self, items: Iterable[Item], deal_with: Callable[[Item], Committed]) -> list[Committed]:
        """Deal with each item by itself and send what its commit left to send."""
        done = []
        for item in items:
            try:
                committed = deal_with(item)
            except Exception as error:  # whatever is wrong with one must not stop the others
                seconds = error.after_s if isinstance(error, RateLimited) else PUT_OFF_S
                bug = not isinstance(error, LeadlineError)
                log.warning("%s is put off for %.0f s: %s", item, seconds, error, exc_info=bug)
                self._sweep.put_off(item, seconds)
            else:
                self._signals.publish(committed.events)
                self._signals.wake(committed.wake_ups)
                done.append(committed)
        return done

    def _wake(self) -> tuple[list[WakeUp], bool]:
        """Wake workers for what is due, as far as their queues have room; tell whether all had."""
        queues = self._sweep.due_queues()
        if not queues:
            return [], True
        try:
            waiting = self._waiting()
        except LeadlineError as error:
            log.warning("no wake-ups are sent now: %s", error)
            return [], False
        rooms = {queue: min(MOST_WAITING - waiting.get(queue, 0), BATCH) for queue in sorted(queues)}
        due = [item for queue, room in rooms.items() if room > 0 for item in self._sweep.take_due(queue, room)]
        self._signals.wake(due)
        return due, all(room > 0 for room in rooms.values())

    def _count(self, reclaimed: Iterable[Committed], due: Iterable[WakeUp]) -> None:
        """Count what should be rare: a commit without events is a lease that was not ours to end after all."""
        for committed in reclaimed:
            if committed.events:
                self._observer.reclaimed()
        for wake_up in due:
            if wake_up.again:
                self._observer.sent_again(KINDS[wake_up.kind].queue)
