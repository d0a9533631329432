"""Turns at the processes of a worker: a step is claimed once a process is free for it, the next one in turn first.

A wake-up says that there is work, not whose turn it is. So a step that waits for a process is one that nobody has
claimed: it costs no try, its clock stands, and another worker may take it.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from shared.domain.ids import StepId
from shared.domain.turns import Shares, Waiting, in_turn
from shared.ports.cpu import Cpu, CpuLimits
from shared.ports.ledger import Lease

T = TypeVar("T")

LONGEST_WAIT_S = 300.0
"""How long a wake-up waits for a place; then it is dropped, and the sweeper sends another one. Less than the broker's
own patience with a message that nobody has confirmed."""

GUESS_S = 1.0
"""What a step counts as long as it is under way."""


class Turns:
    """As many places as there are processes.

    A thread holds one while it works on a step, until the step's task in a process has ended, or the step itself has.
    """

    def __init__(
        self, places: int, wait_s: float = LONGEST_WAIT_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._free, self._wait_s, self._clock = places, wait_s, clock
        self._changed = threading.Condition()
        self._stopped = False
        self._mine = threading.local()
        self._shares, self._faded_at = Shares(), clock()

    @contextmanager
    def place(self) -> Iterator[bool]:
        """Hold a place; False when none became free in time, or the worker stops."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._free > 0, self._wait_s)
            got = self._free > 0 and not self._stopped
            self._free -= got
        self._mine.held = got
        try:
            yield got
        finally:
            self.leave()

    def leave(self) -> None:
        """Free the place of this thread, if it holds one."""
        if not getattr(self._mine, "held", False):
            return
        self._mine.held = False
        with self._changed:
            self._free += 1
            self._changed.notify()

    def stop(self) -> None:
        """Let nobody have a place any more: the worker takes up no further step."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def order(self, waiting: Sequence[Waiting], woken_for: StepId) -> list[StepId]:
        """Return the steps in the order of their turns; the one that a wake-up names comes last if it is not listed."""
        with self._changed:
            known = [item.step_id for item in in_turn(waiting, self._now())]
        return known if woken_for in known else [*known, woken_for]

    @contextmanager
    def counted(self, lease: Lease) -> Iterator[None]:
        """Count the time until this thread leaves its place, or the block ends, as had by the step's owner and run."""
        began = self._clock()
        self._count(lease, GUESS_S)
        self._mine.left_at = None
        try:
            yield
        finally:
            left_at: float | None = self._mine.left_at
            self._count(lease, (left_at if left_at is not None else self._clock()) - began - GUESS_S)

    def task_ended(self) -> None:
        """Free the place of this thread: what its step still has to do needs no process."""
        if getattr(self._mine, "held", False):
            self._mine.left_at = self._clock()
        self.leave()

    def _count(self, lease: Lease, seconds: float) -> None:
        with self._changed:
            self._shares = self._now().had(lease.owner_id, lease.run_id, seconds)

    def _now(self) -> Shares:
        now = self._clock()
        self._shares, self._faded_at = self._shares.after(now - self._faded_at), now
        return self._shares


class TurnedCpu:
    """A `Cpu` whose tasks free the place that their step had in its turn."""

    def __init__(self, cpu: Cpu, turns: Turns) -> None:
        self._cpu, self._turns = cpu, turns

    def run(self, function: Callable[..., T], *args: object, limits: CpuLimits) -> T:
        """Run the task; see the port."""
        try:
            return self._cpu.run(function, *args, limits=limits)
        finally:
            self._turns.task_ended()

    def close(self) -> None:
        """Stop all processes."""
        self._cpu.close()
