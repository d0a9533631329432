"""One loop: the inputs undisturbed, the same inputs while everything dies, and what differs."""

import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, text

from evals.bench.faults.checks import duplicate_effects, impolite, repeated_calls, unfinished
from evals.bench.faults.monkey import Killed, Monkey
from evals.bench.faults.sameness import normal_form
from evals.bench.faults.work import FINAL, Clients, Job, inputs, jobs
from evals.bench.faults.world import LEASE_S, World, running_world
from tests.support.invariants import broken_invariants

POSTED_WITHIN = 0.7
"""The part of the time within which runs are posted."""

CALM_S = 300.0
"""How long runs may take to end once everything is left alone."""

POLL_S = 0.5
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


@dataclass
class Outcome:
    """What a loop showed; ``broken`` is empty when everything held."""

    plan: Plan
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    takeovers: list[float] = field(default_factory=list)
    attempts: dict[str, int] = field(default_factory=dict)
    broken: dict[str, list[str]] = field(default_factory=dict)

    def note(self, what: str, found: Sequence[str]) -> None:
        """Add what breaks a rule."""
        if found:
            self.broken.setdefault(what, []).extend(found)

    def as_data(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**asdict(self), "takeover_median_s": self.median_s, "takeover_p95_s": self.p95_s}

    @property
    def median_s(self) -> float | None:
        """The median seconds from a kill until the step of the killed process runs elsewhere."""
        return statistics.median(self.takeovers) if self.takeovers else None

    @property
    def p95_s(self) -> float | None:
        """Their 95th percentile."""
        return sorted(self.takeovers)[int(0.95 * (len(self.takeovers) - 1))] if self.takeovers else None


def run_loop(plan: Plan, folder: Path) -> Outcome:
    """Run a loop in a fresh world below ``folder``."""
    shapes = len(inputs()) if plan.shapes is None else plan.shapes
    quiet, hurt = jobs(1, shapes), jobs(shapes + 1, plan.runs)
    hurt = [Job(job.number, *inputs()[n % shapes]) for n, job in enumerate(hurt)]
    outcome = Outcome(plan)
    with running_world(folder, shapes + plan.runs + 1) as world:
        engine = create_engine(world.stack.database_url, pool_pre_ping=True)
        try:
            clients = Clients(world)
            outcome.seconds["undisturbed"] = _quietly(world, engine, clients, quiet)
            monkey = Monkey(world, plan.seconds, plan.seed)
            began = time.monotonic()
            for n, job in enumerate(hurt):
                clients.post(job, n * plan.seconds * POSTED_WITHIN / len(hurt))
            monkey.run()
            runs = clients.wait(60)
            outcome.counts["runs ended when the calm began"] = _count_ended(engine, runs.values())
            _until_ended(engine, monkey, list(runs.values()))
            outcome.seconds["until all had ended"] = time.monotonic() - began
            outcome.counts |= monkey.counts
            _judge(outcome, world, engine, clients, (quiet, hurt))
            _count(outcome, engine, monkey, clients)
        finally:
            engine.dispose()
    return outcome


def _quietly(world: World, engine: Engine, clients: Clients, quiet: list[Job]) -> float:
    began = time.monotonic()
    for job in quiet:
        clients.post(job)
    runs = clients.wait(60)
    _until_ended(engine, Monkey(world, 0.0, 0), list(runs.values()))
    return time.monotonic() - began


def _until_ended(engine: Engine, monkey: Monkey, runs: list[str]) -> None:
    """Wait until runs have ended, or for `CALM_S`; what ends by itself is started again meanwhile."""
    end = time.monotonic() + CALM_S
    while time.monotonic() < end and _count_ended(engine, runs) < len(runs):
        monkey.tend()
        time.sleep(POLL_S)


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
        outcome.note("calls made again", repeated_calls(connection, world))
        outcome.note("impolite", impolite(world.site.visits()))
        wanted = {job.input: runs[job.number] for job in quiet if job.number in runs}
        for job in hurt:
            if job.number in runs and job.input in wanted:
                outcome.note("not as undisturbed", _differences(connection, job, wanted[job.input], runs[job.number]))
    outcome.broken |= broken_invariants(world.stack.database_url)


def _differences(connection: Connection, job: Job, quiet: str, hurt: str) -> list[str]:
    found = normal_form(connection, quiet).differences(normal_form(connection, hurt))
    shown = []
    for part, (ours, theirs) in found.items():
        shown += [f"{job.number} {job.input} {part} - {row[:SHOWN]}" for row in ours[:2]]
        shown += [f"{job.number} {job.input} {part} + {row[:SHOWN]}" for row in theirs[:2]]
    return shown


def _count(outcome: Outcome, engine: Engine, monkey: Monkey, clients: Clients) -> None:
    with engine.connect() as connection:
        rows = connection.execute(text("select outcome, count(*) from attempts group by outcome")).all()
        outcome.attempts = {str(row[0]): int(row[1]) for row in rows}
        outcome.takeovers = takeovers(connection, monkey.kills)
    outcome.counts["requests repeated"] = sum(p.tries - 1 for p in clients.posted.values())
    outcome.counts |= {f"{name} ended by itself": n for name, n in Counter(monkey.ended).items()}


def takeovers(connection: Connection, kills: Sequence[Killed]) -> list[float]:
    """Return for each try that a kill broke off the seconds until the step's next try began."""
    rows = connection.execute(
        text(
            "select a.worker, extract(epoch from a.claimed_at) as began, "
            "extract(epoch from b.claimed_at) as taken from attempts a join attempts b "
            "on b.step_id = a.step_id and b.number = a.number + 1 where a.outcome = 'interrupted'"
        )
    ).all()
    killed = {(kill.name.partition("-")[0], kill.pid): kill.at for kill in kills}
    found = []
    for worker, began, taken in rows:
        queue, _, rest = str(worker).partition(".")
        at = killed.get((queue, int(rest.partition("@")[0])))
        if at is not None and float(began) <= at <= float(taken):
            found.append(float(taken) - at)
    return found


def within_lease(p95_s: float | None) -> bool:
    """Tell whether steps are taken over as soon as is promised: a lease and two seconds after the kill."""
    return p95_s is None or p95_s <= LEASE_S + 2.0
