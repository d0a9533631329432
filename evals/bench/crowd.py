"""Sixty runs at once over small pages beside three over pages of 10 MB, with one process for reading: no false report.

``python -m evals.bench.crowd``. The whole stack as real processes, sites on loopback, servers started for this. Every
run has to end with its right answer, or with a true reason: its report names the page as not read and says why. A
report that says of a page that was never looked at that nothing bore on the question is false, and fails the bench.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evals.bench.outcome import Bar, end, ratio
from evals.truth.sets import table
from tests.support.api import FINAL, Api
from tests.support.servers import own_servers
from tests.support.site import Reply, Site, running_site
from tests.support.stack import Stack, running_stack, wait_until

LARGE_BYTES = 10_000_000
PATIENCE_S = 900.0
"""A quick run may take ten minutes by its own limit; none may take much longer."""
SHOWN = 12
"""Runs without the right answer that are printed; the result file holds all."""
SENTENCE = "The harbour master of quay {n} keeps a ledger of ropes, tar and lamps, and counts barrel {m} twice a week."


@dataclass(frozen=True, slots=True)
class Setting:
    """How large the bench is."""

    small: int = 60
    large: int = 3
    bytes: int = LARGE_BYTES


@dataclass(frozen=True, slots=True)
class Asked:
    """A run to make: a page, its question and the figure that answers it."""

    size: str
    name: str
    url: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: ``verdict`` is right, true reason or false."""

    size: str
    name: str
    verdict: str
    status: str
    stop_reason: str
    seconds: float
    why: str


def page(name: str, metres: int, size: int) -> str:
    """Return a page that answers its question near its top; one of many bytes goes on about other things."""
    head = f"<title>Basin {name}</title><h1>Basin {name}</h1><p>Basin {name} is {metres} metres deep.</p>"
    parts, length, number = [head], len(head), 0
    while length < size:
        part = f"<p>{SENTENCE.format(n=number % 97, m=number)}</p>\n"
        parts.append(part)
        length += len(part)
        number += 1
    return "".join(parts)


def publish(site: Site, setting: Setting) -> list[Asked]:
    """Put every page on a host of its own; return the runs, those over large pages first."""
    sizes = [("large", setting.bytes)] * setting.large + [("small", 0)] * setting.small
    runs = []
    for number, (size, least) in enumerate(sizes):
        name, metres = f"{size.title()}{number}", 3 + number
        url = site.answer(f"{size}{number}.test", "/", Reply(page(name, metres, least)))
        runs.append(Asked(size, name, url, f"How deep is Basin {name}?", f"{metres} metres"))
    return runs


@contextmanager
def stack_over(site: Site) -> Iterator[Stack]:
    """Yield a whole stack on servers of its own that reaches the site's hosts, with one process for CPU work."""
    with tempfile.TemporaryDirectory(prefix="leadline-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with own_servers(folder) as (database, redis_url):
            settings = {
                "LEADLINE_ALLOW_NETWORKS": "127.0.0.1",
                "LEADLINE_RESOLVE_HOSTS": site.hosts_setting(),
                "LEADLINE_CPU_PROCESSES": "1",
                "LEADLINE_MAX_RUNNING_RUNS": "100",
                "LEADLINE_BROWSER": "off",
            }
            with running_stack(database, redis_url, folder, **settings) as stack:
                yield stack


def play(api: Api, runs: Sequence[Asked]) -> list[Ending]:
    """Start all runs at once, wait for all, and judge how each ended."""
    began = time.monotonic()
    ids = [api.ask(run.question, [], source_policy={"urls": [run.url]}) for run in runs]
    ended: dict[str, float] = {}

    def all_ended() -> bool:
        for run_id in ids:
            if run_id not in ended and api.run(run_id)["status"] in FINAL:
                ended[run_id] = time.monotonic() - began
        return len(ended) == len(ids)

    wait_until(all_ended, "every run ends", PATIENCE_S)
    return [judged(api, run, run_id, ended[run_id]) for run, run_id in zip(runs, ids, strict=True)]


def judged(api: Api, asked: Asked, run_id: str, seconds: float) -> Ending:
    """Say whether a run ended with its right answer, with a true reason, or with neither."""
    run = api.run(run_id)
    report = api.json(f"/research-runs/{run_id}/report") if run["report_version"] else {}
    told = [gap["description"] for gap in report.get("gaps", ()) if gap["description"].startswith("Not read: ")]
    right = run["status"] == "completed" and asked.answer in (report.get("short_answer") or {}).get("text", "")
    verdict = "right" if right else "true reason" if run["status"] != "completed" and told else "false"
    reason = run["stop_reason"] or ""
    why = "" if right else "; ".join(told) or " ".join(report.get("methodology", ()))
    return Ending(asked.size, asked.name, verdict, run["status"], reason, round(seconds, 1), why)


def main() -> None:
    """Measure and print."""
    parser, usual = argparse.ArgumentParser(description=__doc__), Setting()
    for name, value in asdict(usual).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    setting = Setting(**vars(parser.parse_args()))
    with running_site() as site:
        runs = publish(site, setting)
        with stack_over(site) as stack:
            endings = play(Api(stack.address), runs)
    table(["pages", "runs", "right", "true reason", "false", "first s", "last s"], list(rows(endings)))
    for ending in [e for e in endings if e.verdict != "right"][:SHOWN]:
        print(f"{ending.verdict}: {ending.name} ended as {ending.status} ({ending.stop_reason}): {ending.why}")
    bars = [
        Bar("runs that end with their right answer or a true reason", share(endings, "right", "true reason"), 1.0),
        Bar("runs over small pages that end with their right answer", share(of(endings, "small"), "right"), 0.95),
    ]
    end("bench_crowd", bars, {"setting": asdict(setting), "endings": [asdict(e) for e in endings]})


def of(endings: Sequence[Ending], size: str) -> list[Ending]:
    """Return how the runs over pages of a size ended."""
    return [e for e in endings if e.size == size]


def share(endings: Sequence[Ending], *verdicts: str) -> float:
    """Return the part of the runs that ended so."""
    return ratio(sum(e.verdict in verdicts for e in endings), len(endings)) if endings else 1.0


def rows(endings: Sequence[Ending]) -> Iterator[list[Any]]:
    """Yield a line for each size of page."""
    for size in ("small", "large"):
        some = of(endings, size)
        counts, seconds = Counter(e.verdict for e in some), [e.seconds for e in some] or [0.0]
        numbers = (len(some), counts["right"], counts["true reason"], counts["false"])
        yield [size, *map(str, numbers), f"{min(seconds):.0f}", f"{max(seconds):.0f}"]


if __name__ == "__main__":
    main()
