"""How soon a step runs elsewhere after its worker was killed, with nothing else going wrong."""

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, text

from evals.bench.faults.work import Clients, Job
from evals.bench.faults.world import SITES, World, host

SLOW_S = 1.0
"""How long the sites take to answer meanwhile, so that there is something to break off."""

ROUNDS = 8
ROUND_S = 15.0
TAKEN_S = 40.0
POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Killed:
    """A process that was killed: its name, its id, and the time of the clock."""

    name: str
    pid: int
    at: float


def measure_takeover(world: World, engine: Engine, clients: Clients, jobs: Sequence[Job]) -> list[Killed]:
    """Post jobs and kill, one after the other, whichever worker holds the most steps; return the kills."""
    for job in jobs:
        for site in SITES:
            world.site.latency[host(site, job.number)] = SLOW_S
        clients.post(job)
    kills: list[Killed] = []
    while len(kills) < ROUNDS:
        busy = _busiest(world, engine)
        if busy is None:
            break
        kills.append(kill(world, busy))
        _wait_for_takeover(engine, kills[-1])
        world.stack.begin(busy)
    return kills


def kill(world: World, name: str) -> Killed:
    """Kill a process and wait until it is gone."""
    process = world.stack.processes[name]
    killed = Killed(name, process.pid, time.time())
    os.kill(process.pid, signal.SIGKILL)
    process.wait(10)
    return killed


def holders(connection: Connection) -> dict[int, int]:
    """Return how many steps each worker works on, by the id of its process."""
    rows = connection.execute(text("select worker, count(*) from attempts where outcome is null group by worker")).all()
    return {pid_of(worker): int(count) for worker, count in rows}


def pid_of(worker: str) -> int:
    """Return the id of the process in the name of a worker, which is ``queue.pid@host``."""
    return int(worker.partition(".")[2].partition("@")[0])


def takeovers(connection: Connection, kills: Sequence[Killed]) -> list[float]:
    """Return for each try that a kill broke off the seconds until the step's next try began."""
    rows = connection.execute(
        text(
            "select a.worker, extract(epoch from a.claimed_at), extract(epoch from b.claimed_at) "
            "from attempts a join attempts b on b.step_id = a.step_id and b.number = a.number + 1 "
            "where a.outcome = 'interrupted'"
        )
    ).all()
    killed = {kill.pid: kill.at for kill in kills}
    found = []
    for worker, began, taken in rows:
        at = killed.get(pid_of(worker))
        if at is not None and float(began) <= at <= float(taken):
            found.append(float(taken) - at)
    return found


def _busiest(world: World, engine: Engine) -> str | None:
    """Return the name of the worker that holds the most steps; None when there is none for a while."""
    end = time.monotonic() + ROUND_S
    while time.monotonic() < end:
        with engine.connect() as connection:
            held = holders(connection)
        names = {process.pid: name for name, process in world.stack.processes.items()}
        busy = max((pid for pid in held if pid in names), key=lambda pid: held[pid], default=None)
        if busy is not None:
            return names[busy]
        time.sleep(POLL_S)
    return None


def _wait_for_takeover(engine: Engine, killed: Killed) -> None:
    """Wait until everything that the killed process held runs elsewhere, so that no second kill meets it."""
    end = time.monotonic() + TAKEN_S
    while time.monotonic() < end:
        with engine.connect() as connection:
            if killed.pid not in holders(connection) and not connection.execute(_WAITING, _of(killed)).all():
                return
        time.sleep(POLL_S)


_WAITING = text(
    "select 1 from attempts a join steps s on s.id = a.step_id where a.worker like :worker "
    "and a.outcome = 'interrupted' and a.number = s.attempts and s.status = 'pending'"
)


def _of(killed: Killed) -> dict[str, str]:
    return {"worker": f"%.{killed.pid}@%"}
