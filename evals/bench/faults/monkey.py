"""What goes wrong during a loop: processes killed at random, one frozen, Valkey emptied and killed, Postgres too."""

import contextlib
import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field

from redis.exceptions import RedisError

from evals.bench.faults.world import LEASE_S, World, descendants

KILL_EVERY_S = 0.25
FLUSH_EVERY_S = 5.0
FROZEN_S = LEASE_S * 2.2
CHILD_SHARE = 0.25
"""How often a child of a process is killed in place of the process, where it has one."""


@dataclass(frozen=True, slots=True)
class Killed:
    """A process that was killed: its name, its id, and the time of the clock."""

    name: str
    pid: int
    at: float


@dataclass
class Monkey:
    """Breaks a world for a while; whatever is killed or ends by itself is started again at once.

    To be run in the main thread: the servers die with the thread that started them.
    """

    world: World
    seconds: float
    seed: int
    kills: list[Killed] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    ended: list[str] = field(default_factory=list)
    """Processes that ended without being killed."""
    frozen: str | None = None
    _thaw_at: float = 0.0

    def run(self) -> None:
        """Go on for the time that was given."""
        rnd = random.Random(self.seed)  # noqa: S311
        began = time.monotonic()
        due = [(at * self.seconds, what) for at, what in _PLAN]
        next_flush = FLUSH_EVERY_S
        while (passed := time.monotonic() - began) < self.seconds:
            tick = time.monotonic()
            self.tend()
            while due and due[0][0] <= passed:
                self._do(due.pop(0)[1], rnd)
            if passed >= next_flush:
                next_flush += FLUSH_EVERY_S
                self._flush()
            self._kill(rnd)
            time.sleep(max(KILL_EVERY_S - (time.monotonic() - tick), 0.0))
        self._thaw(force=True)
        self.tend()

    def tend(self) -> None:
        """Start again what has ended, and let a frozen process go on when its time has come."""
        self._thaw()
        for name, process in list(self.world.stack.processes.items()):
            if process.poll() is not None:
                self.ended.append(name)
                self.world.stack.begin(name)

    def _kill(self, rnd: random.Random) -> None:
        name = rnd.choice([n for n in self.world.stack.processes if n != self.frozen])
        process = self.world.stack.processes[name]
        children = descendants(process.pid)
        if children and rnd.random() < CHILD_SHARE:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rnd.choice(children), signal.SIGKILL)
            self.counts["children killed"] += 1
            return
        self.kills.append(Killed(name, process.pid, time.time()))
        self.counts["processes killed"] += 1
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)  # its children, orphaned, have to end by themselves
        process.wait(10)
        self.world.stack.begin(name)

    def _do(self, what: str, rnd: random.Random) -> None:
        self.counts[what] += 1
        if what == "worker frozen":
            self.frozen = rnd.choice(["fetcher", "extractor", "synthesizer", "planner"])
            os.kill(self.world.stack.processes[self.frozen].pid, signal.SIGSTOP)
            self._thaw_at = time.monotonic() + FROZEN_S
        elif what == "Valkey killed":
            self.world.servers.restart_valkey()
        else:
            self.world.servers.restart_postgres()

    def _flush(self) -> None:
        with contextlib.suppress(RedisError):
            self.world.servers.flush()
            self.counts["Valkey flushed"] += 1

    def _thaw(self, *, force: bool = False) -> None:
        if self.frozen is not None and (force or time.monotonic() >= self._thaw_at):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.world.stack.processes[self.frozen].pid, signal.SIGCONT)
            self.frozen = None


_PLAN = (
    (0.10, "worker frozen"),
    (0.30, "Valkey killed"),
    (0.45, "Postgres restarted"),
    (0.60, "worker frozen"),
    (0.80, "Postgres restarted"),
)
"""What happens once, and at which part of the time."""
