"""How much longer a run takes than the longest chain of its own steps: a model of 1 s and sites of 0.3 s on loopback.

``python -m evals.bench.latency``. The whole stack runs: separate processes, PostgreSQL, Valkey, a search engine and
pages of the harbor corpus on several hosts. The critical path is computed from the steps' own times: what a step waits
for ends before it begins, and everything else might run at once.
"""

import statistics
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from evals.bench.outcome import Bar, end
from evals.graders.facts import load_cases
from tests.support.api import Api
from tests.support.harbor_site import CASES_FILE, harbor_pages
from tests.support.model_server import PROVIDER_KEY, model_server
from tests.support.searxng import FakeSearXNG
from tests.support.servers import own_servers
from tests.support.site import Site, running_site
from tests.support.stack import Stack, running_stack

MODEL_S = 1.0
SITE_S = 0.3
MOST = 1.15
RUNS = 4
HOSTS = tuple(f"host-{n}.harbor-{n}.test" for n in range(12))


@dataclass(frozen=True, slots=True)
class Timed:
    """A step that has ended: what it did, in which iteration, about what, and for how long."""

    kind: str
    iteration: int
    subject: str
    seconds: float


def timed(rows: Iterable[Mapping[str, Any]]) -> list[Timed]:
    """Read the steps of a run as the API tells them."""
    found = []
    for row in rows:
        if row["status"] == "completed" and row["started_at"] and row["ended_at"]:
            took = datetime.fromisoformat(row["ended_at"]) - datetime.fromisoformat(row["started_at"])
            found.append(Timed(row["kind"], row["iteration"], row["subject"], took.total_seconds()))
    return found


def critical_path(steps: Iterable[Timed]) -> float:
    """Return the seconds of the longest chain of steps that wait for each other."""
    known = list(steps)
    now = 0.0
    for iteration in sorted({s.iteration for s in known if s.kind in ("search", "read_source", "parse", "extract")}):
        now = _iteration([s for s in known if s.iteration == iteration], now)
    now += sum(s.seconds for s in known if s.kind == "outline")
    written = {s.subject: s.seconds for s in known if s.kind == "write_section"}
    verified = {s.subject: s.seconds for s in known if s.kind == "verify"}
    now += max((took + verified.get(section, 0.0) for section, took in written.items()), default=0.0)
    return now + sum(s.seconds for s in known if s.kind == "assemble")


def _iteration(steps: list[Timed], began: float) -> float:
    """Return when an iteration ends: decide, then searches, then each source by itself."""
    now = began + sum(s.seconds for s in steps if s.kind == "decide")
    now += max((s.seconds for s in steps if s.kind == "search"), default=0.0)
    sources: dict[str, float] = {}
    for step in steps:
        if step.kind in ("read_source", "parse", "extract"):
            sources[step.subject] = sources.get(step.subject, 0.0) + step.seconds
    return now + max(sources.values(), default=0.0)


def corpus(site: Site) -> dict[str, bytes]:
    """Put the corpus on slow hosts; return the pages by address."""
    site.latency |= dict.fromkeys(HOSTS, SITE_S)
    return harbor_pages(site, HOSTS)


def measured(stack: Stack) -> Iterator[dict[str, float]]:
    """Run the questions one after the other and yield elapsed time, critical path and their ratio."""
    api = Api(stack.address)
    questions = [case.question for case in load_cases(CASES_FILE)][:RUNS]
    for question in questions:
        run_id = api.ask(question, [], depth="standard", source_policy={"web": {"mode": "full_web"}})
        run = api.finish(run_id, 120)
        steps = timed(api.json(f"/research-runs/{run_id}/steps")["steps"])
        took = datetime.fromisoformat(run["completed_at"]) - datetime.fromisoformat(run["started_at"])
        path = critical_path(steps)
        yield {
            "elapsed_s": took.total_seconds(),
            "critical_s": path,
            "ratio": took.total_seconds() / path if path else 0.0,
            "steps": float(len(steps)),
        }


def main() -> None:
    """Start everything, measure, print and save."""
    with ExitStack() as open_things:
        folder = Path(open_things.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        database, valkey = open_things.enter_context(own_servers(folder))
        provider = open_things.enter_context(model_server())
        provider.latency_s = MODEL_S
        site = open_things.enter_context(running_site())
        settings = {
            "SEARXNG_URL": FakeSearXNG(site, corpus(site)).url,
            "LEADLINE_ALLOW_NETWORKS": "127.0.0.1",
            "LEADLINE_RESOLVE_HOSTS": site.hosts_setting(),
            "LEADLINE_SITE_DELAY_SECONDS": "0",
            "LEADLINE_MODEL": "scripted",
            "OPENAI_BASE_URL": provider.base_url,
            "OPENAI_API_KEY": PROVIDER_KEY,
        }
        stack = open_things.enter_context(running_stack(database, valkey, folder, **settings))
        first, *runs = measured(stack)
        for run in (first, *runs):
            print("  ".join(f"{name} {value:.3f}" for name, value in run.items()))
        ratio = statistics.median(run["ratio"] for run in runs or [first])
    end("latency", [Bar("critical path of elapsed time", 1 / ratio, 1 / MOST)], {"first": first, "runs": runs})


if __name__ == "__main__":
    main()
