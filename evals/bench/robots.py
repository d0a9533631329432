"""robots.txt: published suites and real files.

``python -m evals.bench.robots``. The suites of Google's parser and others, with what they say themselves about cases
on which parsers differ; delays; and the files of real sites, which all have to be read, quickly.
"""

import json
import tarfile
import time
from dataclasses import dataclass, field
from typing import Any

from evals.bench.outcome import Bar, end, ratio
from evals.truth.sets import DATA, need, rows
from services.fetcher.inspect import inspect_robots
from services.fetcher.robots import RobotsRules, group_for
from shared.domain.urls import parse_url

FOLDER = "lists/robots"


@dataclass(slots=True)
class Figures:
    """Cases judged right, of those that all parsers agree on and of all; delays; real files."""

    agreed: int = 0
    wrong: list[str] = field(default_factory=list)
    all_cases: int = 0
    all_wrong: list[str] = field(default_factory=list)
    delays: int = 0
    delays_wrong: int = 0
    files: int = 0
    files_read: int = 0
    slowest_s: float = 0.0


def judged(row: dict[str, Any]) -> bool:
    """Judge a case as `leadline inspect robots` does; its address may be a path alone."""
    return bool(json.loads(next(inspect_robots([json.dumps(row)])))["allowed"])


def measure() -> Figures:
    """Judge everything."""
    figures = Figures()
    for row in rows(f"{FOLDER}/robots_cases.jsonl"):
        case: dict[str, Any] = dict(row)
        right = judged(case) == case["allowed"]
        figures.all_cases += 1
        figures.all_wrong += [] if right else [case["id"]]
        if case["protego_agrees"] and not case["google_specific"]:
            figures.agreed += 1
            figures.wrong += [] if right else [case["id"]]
    for row in rows(f"{FOLDER}/robots_crawl_delay_sitemap_cases.jsonl"):
        case = dict(row)
        if case["fn"] == "getCrawlDelay" and case["args"]:
            figures.delays += 1
            figures.delays_wrong += group_for(case["robots"], case["args"][0]).crawl_delay_s != case["expected"]
    _read_real_files(figures)
    return figures


def _read_real_files(figures: Figures) -> None:
    page = parse_url("http://a.test/page?q=1")
    with tarfile.open(DATA / FOLDER / "real_robots_sample.tar.gz") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is None:
                continue
            figures.files += 1
            began = time.perf_counter()
            figures.files_read += RobotsRules(file.read(), "Leadline").allows(page) in (True, False)
            figures.slowest_s = max(figures.slowest_s, time.perf_counter() - began)


def main() -> None:
    """Measure and print."""
    need(FOLDER)
    figures = measure()
    print(f"agreed cases: {figures.agreed - len(figures.wrong)} of {figures.agreed}; wrong: {figures.wrong}")
    print(f"all cases, Google's own ways included: {figures.all_cases - len(figures.all_wrong)} of {figures.all_cases}")
    print(f"delays: {figures.delays - figures.delays_wrong} of {figures.delays}")
    print(f"real files: {figures.files_read} of {figures.files}, the slowest in {figures.slowest_s * 1000:.1f} ms")
    bars = [
        Bar("agreed cases judged right", 1 - ratio(len(figures.wrong), figures.agreed), 0.99),
        Bar("delays read right", 1 - ratio(figures.delays_wrong, figures.delays), 1.0),
        Bar("real files read", ratio(figures.files_read, figures.files), 1.0),
    ]
    end("bench_robots", bars, {"wrong": figures.wrong, "all_wrong": figures.all_wrong})


if __name__ == "__main__":
    main()
