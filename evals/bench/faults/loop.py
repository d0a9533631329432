"""One loop: the inputs undisturbed, the same inputs while everything dies, and what differs."""

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, text

from evals.bench.faults.checks import duplicate_effects, impolite, repeated_calls, unfinished
from evals.bench.faults.monkey import Monkey
from evals.bench.faults.sameness import normal_form
from evals.bench.faults.takeover import Killed, measure_takeover, takeovers
from evals.bench.faults.work import FINAL, Clients, Job, inputs, jobs
from evals.bench.faults.world import DELAY_S, LEASE_S, World, running_world
from tests.support.invariants import broken_invariants

POSTED_WITHIN = 0.7
"""The part of the time within which runs are posted."""

SLOW_RUNS = 6
"""Runs during which the takeover is measured."""

POLL_S = 0.5
STUCK_S = 40.0
"""Runs are not waited for any longer when no try of a step began or ended for so long, which is more than the longest
time between two wake-ups. So a loop over broken code ends soon, and one on a slow machine may take its time."""

SHOWN = 400
"""Characters of a row that differs."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How many runs, for how many seconds everything dies, and the seed of chance."""

    runs: int = 40
    seconds: float = 60.0
    seed: int = 1
    shapes: int | None = None
    """How many of the inputs are used; all of them unless said."""
    takeover: bool = True
    """Whether the takeover after a kill is measured afterwards."""
    delay_s: float = DELAY_S
    """The delay between two requests to a site; without one a fetch is short, and seldom broken off."""
    calm_s: float = 300.0
    """How long runs may take to end once everything is left alone."""


@dataclass
class Outcome:
    """What a loop showed; ``broken`` is empty when everything held."""

    plan: Plan
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    takeovers: list[float] = field(default_factory=list)
    """Seconds from the kill of a worker until a step of it ran elsewhere, with nothing else going wrong."""
    hurried: list[float] = field(default_factory=list)
    """The same while everything died: workers that would take over die too, and wake-ups get lost."""
    attempts: dict[str, int] = field(default_factory=dict)
    endings: list[str] = field(default_factory=list)
    """Processes that ended without being killed, with what each wrote last."""
    broken: dict[str, list[str]] = field(default_factory=dict)

    def note(self, what: str, found: Sequence[str]) -> None:
        """Add what breaks a rule."""
        if found:
            self.broken.setdefault(what, []).extend(found)

    def as_data(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**asdict(self), "takeover_p95_s": self.p95_s}

    @property
    def p95_s(self) -> float | None:
        """The 95th percentile of the takeovers."""
        return p95(self.takeovers) if self.takeovers else None


def p95(seconds: Sequence[float]) -> float:
    """Return the 95th percentile, by nearest rank."""
    return sorted(seconds)[math.ceil(0.95 * len(seconds)) - 1]


def run_loop(plan: Plan, folder: Path) -> Outcome:
    """Run a loop in a fresh world below ``folder``."""
    shapes = len(inputs()) if plan.shapes is None else plan.shapes
    quiet, hurt = jobs(1, shapes, shapes), jobs(shapes + 1, plan.runs, shapes)
    slow = jobs(shapes + plan.runs + 1, SLOW_RUNS, shapes) if plan.takeover else []
    outcome = Outcome(plan)
    with running_world(folder, len(quiet) + len(hurt) + len(slow) + 1, plan.delay_s) as world:
        engine = create_engine(world.stack.database_url, pool_pre_ping=True)
        try:
            clients = Clients(world)
            outcome.seconds["undisturbed"] = _quietly(world, engine, clients, (quiet, plan.calm_s))
            monkey = Monkey(world, engine, plan.seconds, plan.seed)
            began = time.monotonic()
            for n, job in enumerate(hurt):
                clients.post(job, n * plan.seconds * POSTED_WITHIN / len(hurt))
            monkey.run()
            runs = clients.wait(60)
            outcome.counts["runs ended when the calm began"] = _count_ended(engine, runs.values())
            _until_ended(engine, monkey, list(runs.values()), plan.calm_s)
            outcome.seconds["until all had ended"] = time.monotonic() - began
            kills: list[Killed] = []
            if slow:
                kills = measure_takeover(world, engine, clients, slow)
                _until_ended(engine, monkey, list(clients.wait(60).values()), plan.calm_s)
            outcome.counts |= monkey.counts
            outcome.note("left behind", monkey.orphans())
            _judge(outcome, world, engine, clients, (quiet, [*hurt, *slow]))
            _count(outcome, engine, monkey, clients)
            with engine.connect() as connection:
                outcome.takeovers = takeovers(connection, kills)
        finally:
            engine.dispose()
    return outcome


def _quietly(world: World, engine: Engine, clients: Clients, asked: tuple[list[Job], float]) -> float:
    """Let jobs be done while nothing goes wrong; return the seconds that took, at most those that are given."""
    began = time.monotonic()
    for job in asked[0]:
        clients.post(job)
    runs = clients.wait(60)
    _until_ended(engine, Monkey(world, engine, 0.0, 0), list(runs.values()), asked[1])
    return time.monotonic() - began


def _until_ended(engine: Engine, monkey: Monkey, runs: list[str], calm_s: float) -> None:
    """Wait until runs have ended, or for so long; what ends by itself is started again meanwhile."""
    end, moved, seen = time.monotonic() + calm_s, time.monotonic(), -1
    while time.monotonic() < min(end, moved + STUCK_S) and _count_ended(engine, runs) < len(runs):
        monkey.tend()
        if (now := _count_moves(engine)) != seen:
            moved, seen = time.monotonic(), now
        time.sleep(POLL_S)


def _count_moves(engine: Engine) -> int:
    """Return a number that grows with every try that begins or ends."""
    with engine.connect() as connection:
        return int(connection.execute(text("select count(*) + count(ended_at) from attempts")).scalar_one())


def _count_ended(engine: Engine, runs: Any) -> int:
    with engine.connect() as connection:
        asked = text("select count(*) from runs where id = any(:runs) and status = any(:final)")
        return int(connection.execute(asked, {"runs": list(runs), "final": list(FINAL)}).scalar_one())


def _judge(
    outcome: Outcome, world: World, engine: Engine, clients: Clients, posted: tuple[list[Job], list[Job]]
) -> None:
    quiet, hurt = posted
    runs = {number: done.run_id for number, done in clients.posted.items()}
    outcome.note("refused", clients.refused)
    outcome.note("never answered", [str(j.number) for j in (*quiet, *hurt) if j.number not in runs])
    with engine.connect() as connection:
        rows = connection.execute(text("select id, status, stop_reason, last_error from runs")).all()
        known = {row.id: (row.status, f"{row.stop_reason}, {row.last_error}") for row in rows}
        if len(rows) != len(runs):
            outcome.note("runs", [f"{len(rows)} runs for {len(runs)} requests"])
        outcome.note("not completed", unfinished(known))
        outcome.note("duplicate effects", duplicate_effects(connection))
        outcome.note("calls made again or hidden", repeated_calls(connection, world))
        outcome.note("impolite", impolite(world.site.visits(), world.delay_s))
        wanted = {job.input: runs[job.number] for job in quiet if job.number in runs}
        for job in hurt:
            if job.number in runs and job.input in wanted:
                outcome.note("not as undisturbed", _differences(connection, job, wanted[job.input], runs[job.number]))
    outcome.broken |= broken_invariants(world.stack.database_url)


def _differences(connection: Connection, job: Job, quiet: str, hurt: str) -> list[str]:
    found = normal_form(connection, quiet).differences(normal_form(connection, hurt))
    shown = []
    for part, (ours, theirs) in found.items():
        place = f"{job.number} {job.input} {part}: {len(ours)} rows gone, {len(theirs)} new"
        start = max(_same_start(ours[0], theirs[0]) - SHOWN // 4, 0) if ours and theirs else 0
        shown.append(place)
        shown += [f"    - {row[start : start + SHOWN]}" for row in ours[:1]]
        shown += [f"    + {row[start : start + SHOWN]}" for row in theirs[:1]]
    return shown


def _same_start(one: str, other: str) -> int:
    """Return how many characters two texts begin with in common."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _count(outcome: Outcome, engine: Engine, monkey: Monkey, clients: Clients) -> None:
    with engine.connect() as connection:
        rows = connection.execute(text("select outcome, count(*) from attempts group by outcome")).all()
        outcome.attempts = {str(row[0]): int(row[1]) for row in rows}
        outcome.hurried = takeovers(connection, monkey.kills)
    outcome.counts["requests repeated"] = sum(p.tries - 1 for p in clients.posted.values())
    outcome.counts |= {f"{name} ended by itself": n for name, n in Counter(name for name, _ in monkey.ended).items()}
    outcome.endings = [f"{name}: {said[:SHOWN]}" for name, said in monkey.ended]


def within_lease(p95_s: float | None) -> bool:
    """Tell whether steps are taken over as soon as is promised: a lease and two seconds after the kill."""
    return p95_s is None or p95_s <= LEASE_S + 2.0
