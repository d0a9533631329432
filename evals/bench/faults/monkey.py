"""What goes wrong during a loop: processes killed at random, one frozen, Valkey emptied and killed, Postgres too."""

import contextlib
import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field

from redis.exceptions import RedisError
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from evals.bench.faults.takeover import Killed, holders, kill
from evals.bench.faults.world import LEASE_S, World, descendants
from infra.standalone import system

KILL_EVERY_S = 0.25
FLUSH_EVERY_S = 5.0
FROZEN_S = LEASE_S * 2.2
SPARED_S = 2.0
"""How long a process that was frozen is left alive afterwards, so that it can try to finish what it had."""
CHILD_SHARE = 0.25
"""How often a child of a process is killed in place of the process, where it has one."""


@dataclass
class Monkey:
    """Breaks a world for a while; whatever is killed or ends by itself is started again at once.

    To be run in the main thread: the servers die with the thread that started them.
    """

    world: World
    engine: Engine
    seconds: float
    seed: int
    kills: list[Killed] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    ended: list[tuple[str, str]] = field(default_factory=list)
    """Processes that ended without being killed, and what each wrote last."""
    frozen: str | None = None
    """The process that stands still, or did a moment ago."""
    _thaw_at: float = 0.0
    _spared_until: float = 0.0
    _children: dict[int, str] = field(default_factory=dict)
    _bereft: set[int] = field(default_factory=set)
    """Processes that a child was taken from, by number."""

    def run(self) -> None:
        """Go on for the time that was given."""
        rnd = random.Random(self.seed)
        began = time.monotonic()
        due = [(at * self.seconds, what) for at, what in _PLAN]
        next_flush = FLUSH_EVERY_S
        while (passed := time.monotonic() - began) < self.seconds:
            tick = time.monotonic()
            self.tend()
            while due and due[0][0] <= passed:
                self._do(due.pop(0)[1])
            if self.frozen is None and self.seconds * FREEZING[0] <= passed <= self.seconds * FREEZING[1]:
                self._freeze()
            if passed >= next_flush:
                next_flush += FLUSH_EVERY_S
                self._flush()
            self._kill(rnd)
            time.sleep(max(KILL_EVERY_S - (time.monotonic() - tick), 0.0))
        for _, what in due:  # a slow machine has not come to everything in time
            self._do(what)
        self._thaw(force=True)
        self.tend()

    def tend(self) -> None:
        """Start again what has ended, and let a frozen process go on when its time has come."""
        self._thaw()
        for name, process in list(self.world.stack.processes.items()):
            if process.poll() is not None:
                if name.startswith("gateway") and process.pid in self._bereft:
                    self.counts["gateways that ended as their child was killed"] += 1  # it is all that they serve with
                else:
                    self.ended.append((name, self.world.stack.log(name).rstrip().rpartition("\n")[2]))
                self.world.stack.begin(name)

    def orphans(self) -> list[str]:
        """Return the children of killed processes that still live: nobody would ever end them."""
        alive = {pid for process in self.world.stack.processes.values() for pid in descendants(process.pid)}
        return [f"{name}: {pid}" for pid, name in self._children.items() if pid not in alive and _lives(pid)]

    def _kill(self, rnd: random.Random) -> None:
        name = rnd.choice([n for n in self.world.stack.processes if n != self.frozen])
        process = self.world.stack.processes[name]
        children = descendants(process.pid)
        self._children |= dict.fromkeys(children, name)
        if children and rnd.random() < CHILD_SHARE:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rnd.choice(children), signal.SIGKILL)
            self._bereft.add(process.pid)
            self.counts["children killed"] += 1
            return
        self.counts["processes killed"] += 1
        with contextlib.suppress(ProcessLookupError):
            self.kills.append(kill(self.world, name))  # its children, orphaned, have to end by themselves
        self.world.stack.begin(name)

    def _do(self, what: str) -> None:
        self.counts[what] += 1
        if what == "Valkey killed":
            self.world.servers.restart_valkey()
        else:
            self.world.servers.restart_postgres()

    def _freeze(self) -> None:
        """Freeze the worker that holds the most steps, if one holds any."""
        busy = self._busy()
        if busy is None:
            return
        os.kill(self.world.stack.processes[busy].pid, signal.SIGSTOP)
        self.frozen, self._thaw_at = busy, time.monotonic() + FROZEN_S
        self._spared_until = self._thaw_at + SPARED_S
        self.counts["worker frozen"] += 1

    def _busy(self) -> str | None:
        """Return the worker that holds the most steps, for which it is the worst moment to stand still."""
        try:
            with self.engine.connect() as connection:
                held = holders(connection)
        except DBAPIError:
            return None
        names = {process.pid: name for name, process in self.world.stack.processes.items()}
        return max((names[pid] for pid in held if pid in names), key=lambda n: held[self._pid(n)], default=None)

    def _pid(self, name: str) -> int:
        return self.world.stack.processes[name].pid

    def _flush(self) -> None:
        with contextlib.suppress(RedisError):
            self.world.flush()
            self.counts["Valkey flushed"] += 1

    def _thaw(self, *, force: bool = False) -> None:
        if self.frozen is None:
            return
        now = time.monotonic()
        if force or now >= self._thaw_at:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.world.stack.processes[self.frozen].pid, signal.SIGCONT)
        if force or now >= self._spared_until:
            self.frozen = None


def _lives(pid: int) -> bool:
    """Tell whether a process of ours has this number; the number may be another's by now."""
    return bool(system.birth(pid)) and "python" in system.command_line(pid)


FREEZING = (0.05, 0.85)
"""The part of the time in which one worker after the other stands still."""

_PLAN = (
    (0.30, "Valkey killed"),
    (0.45, "Postgres restarted"),
    (0.80, "Postgres restarted"),
)
"""What happens once, and at which part of the time."""
