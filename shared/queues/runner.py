"""The runner: claim a step, run its handler, commit the outcome. Written once for every service and kind."""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from shared.domain.errors import LeadlineError, Transient
from shared.domain.ids import StepId
from shared.domain.kinds import ASKS_A_MODEL, KINDS
from shared.domain.states import StepKind
from shared.ports.ledger import Committed, Lease, Ledger, Outcome
from shared.ports.observer import UNOBSERVED, Observer
from shared.ports.watch import Signals
from shared.queues.turns import Turns

log = logging.getLogger(__name__)

Handler = Callable[[Any, Lease], Outcome]

MOST_CLAIMS = 4
"""Steps that one wake-up tries to claim; other workers may have been quicker with the first ones."""

STUCK_EXIT_CODE = 70
"""Exit code of a worker that ended itself because a step would not end by its deadline."""


class Overdue(Transient):
    """A step that would not end; its process has to, since a thread cannot be stopped."""

    def __init__(self, deadline_s: float) -> None:
        super().__init__("deadline", f"The step did not end within {deadline_s:.0f} seconds.")


def deadline_of(kind: StepKind, patience: float = 1.0) -> float:
    """Return the seconds that one try of a kind may take; ``patience`` multiplies those of kinds that ask a model."""
    return KINDS[kind].deadline_s * (patience if kind in ASKS_A_MODEL else 1.0)


@dataclass(frozen=True, slots=True)
class HeldLease:
    """A lease that this process works on, and the monotonic second by which its step must have ended."""

    lease: Lease
    deadline: float


class Heartbeat:
    """Extends the leases of this process from one thread, and ends the process when a step runs past its deadline."""

    def __init__(
        self,
        ledger: Ledger,
        interval_s: float,
        end_process: Callable[[int], None] = os._exit,
        observer: Observer = UNOBSERVED,
        deadline_s: Callable[[StepKind], float] = deadline_of,
    ) -> None:
        self._ledger, self._interval_s, self._end_process, self._observer = ledger, interval_s, end_process, observer
        self._deadline_s = deadline_s
        self._held: dict[str, HeldLease] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def hold(self, lease: Lease) -> None:
        """Keep a lease alive until it is released or its kind's deadline has passed."""
        with self._lock:
            self._held[lease.token] = HeldLease(lease, time.monotonic() + self._deadline_s(lease.kind))

    def release(self, lease: Lease) -> None:
        """Stop keeping a lease alive."""
        self._release(lease)

    def _release(self, lease: Lease) -> bool:
        """Forget a lease; False when its step has ended meanwhile."""
        with self._lock:
            return self._held.pop(lease.token, None) is not None

    def held(self) -> tuple[Lease, ...]:
        """Return the leases that are being worked on."""
        with self._lock:
            return tuple(item.lease for item in self._held.values())

    def close(self) -> None:
        """Stop the thread; leases that are still held run out."""
        self._stop.set()
        self._thread.join(self._interval_s + 5)

    def _run(self) -> None:
        while not self._stop.wait(self._interval_s):
            with self._lock:
                held = tuple(self._held.values())
            now = time.monotonic()
            if any(now > item.deadline for item in held):
                self._end(held, now)
            for item in held:
                self._beat(item)

    def _end(self, held: Sequence[HeldLease], now: float) -> None:
        """End the process for a step that is past its deadline: say so of that step, and give the others back."""
        try:
            for item in held:
                if now > item.deadline:
                    log.error("step %s ran past its deadline; this process ends", item.lease.step_id)
                    self._ledger.fail(item.lease, Overdue(self._deadline_s(item.lease.kind)))
                else:
                    self._ledger.hand_back(item.lease)
        except LeadlineError as error:
            log.warning("leases of this process will run out: %s", error)
        finally:
            self._end_process(STUCK_EXIT_CODE)

    def _beat(self, item: HeldLease) -> None:
        try:
            alive = self._ledger.heartbeat(item.lease)
        except Exception as error:  # no error may end this thread: every lease of the process would run out
            log.warning("a heartbeat of step %s failed: %s", item.lease.step_id, error, exc_info=_is_bug(error))
            self._observer.heartbeat_failed()
            return
        if not alive and self._release(item.lease):
            log.warning("the lease of step %s is lost; its result will be refused", item.lease.step_id)


class Runner:
    """Runs steps of the kinds in its table of handlers."""

    def __init__(
        self,
        ledger: Ledger,
        signals: Signals,
        heartbeat: Heartbeat,
        handlers: Mapping[StepKind, Handler],
        worker: str,
        observer: Observer = UNOBSERVED,
    ) -> None:
        self._ledger, self._signals, self._heartbeat = ledger, signals, heartbeat
        self._handlers, self._worker, self._observer = handlers, worker, observer

    def run(self, step_id: StepId, deps: Any) -> bool:
        """Run a step if it can be claimed; False for a wake-up that came late, twice or for an unknown kind."""
        return self._run_first([step_id], deps, lambda _: nullcontext())

    def run_in_turn(self, step_id: StepId, deps: Any, turns: Turns) -> bool:
        """Run the step whose turn it is, once there is a place for it; the wake-up may have been for another one."""
        with turns.place() as got:
            if not got:
                return False
            waiting = self._ledger.waiting(self._handlers.keys())
            return self._run_first(turns.order(waiting, step_id)[:MOST_CLAIMS], deps, turns.counted)

    def _run_first(
        self, step_ids: Sequence[StepId], deps: Any, around: Callable[[Lease], AbstractContextManager[None]]
    ) -> bool:
        """Run the first of some steps that can be claimed; False when none can."""
        claims = (self._ledger.claim(i, self._handlers.keys(), self._worker) for i in step_ids)
        claimed = next((c for c in claims if c is not None), None)
        if claimed is None:
            self._observer.claim_refused()
            return False
        lease, sent = claimed
        self._heartbeat.hold(lease)
        try:
            self.after_commit(sent)
            with around(lease):
                self.after_commit(self._work(lease, deps))
        finally:
            self._heartbeat.release(lease)
        return True

    def hand_back_all(self) -> int:
        """Give back every step that still runs, for a process that stops; return how many there were."""
        held = self._heartbeat.held()
        for lease in held:
            self.after_commit(self._ledger.hand_back(lease))
        return len(held)

    def after_commit(self, committed: Committed | None) -> None:
        """Send what a commit left to send; nothing of it is needed for the run to end."""
        if committed is None:
            return
        self._signals.publish(committed.events)
        self._signals.wake(committed.wake_ups)
        if committed.admit is not None:
            self.after_commit(self._ledger.admit(committed.admit))

    def _work(self, lease: Lease, deps: Any) -> Committed | None:
        started = time.monotonic()
        try:
            outcome = self._handlers[lease.kind](deps, lease)
            committed = self._ledger.commit(lease, outcome)
        except Exception as error:  # any error of a handler, or of what it gave, becomes a decision about the step
            log.warning("step %s (%s) failed: %s", lease.step_id, lease.kind, error, exc_info=_is_bug(error))
            committed = self._ledger.fail(lease, error)
        else:
            for fetch in outcome.fetches if committed is not None else ():
                self._observer.fetched(fetch)
        self._observer.worked(lease.kind, time.monotonic() - started)
        if committed is None:
            log.warning("the result of step %s came after its lease was lost and was refused", lease.step_id)
            self._observer.result_refused(lease.kind)
        return committed


def _is_bug(error: Exception) -> bool:
    return not isinstance(error, LeadlineError)
