"""What the runs of a loop are asked, and the clients that ask: they repeat a request until it is answered."""

import threading
import time
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import requests

from evals.bench.faults.world import SITES, World, host
from evals.graders.facts import Case, load_cases
from tests.support.harbor_site import CASES_FILE

CASES = tuple(c for c in load_cases(CASES_FILE) if c.kind != "unanswerable")
FINAL = ("completed", "budget_exhausted", "failed", "cancelled")
RUNS = "/api/v1/research-runs"
PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class Job:
    """One run to be: its number is that of its sites, its input one of a few."""

    number: int
    case: Case
    searches: bool

    @property
    def input(self) -> str:
        """What the run shares with every other of the same input."""
        return f"{self.case.id}/{'web' if self.searches else 'urls'}"

    def body(self, world: World) -> dict[str, Any]:
        """Return the request: a search within the run's own sites, or the case's pages and some others given."""
        if self.searches:
            domains = [host(site, self.number) for site in SITES]
            policy: dict[str, Any] = {"web": {"mode": "only_domains", "domains": domains}}
        else:
            named = {fact.document for fact in self.case.facts}
            others = [name for of_site in world.pages.values() for name in of_site if name not in named]
            policy = {"urls": world.urls(self.number, *named, *others[: 8 - len(named)])}
        budget = {"elapsed_s": 2700, "parallel_reads": 8, "parallel_searches": 4, "fetches": 45, "searches": 32}
        body = {"objective": self.case.question, "depth": "quick", "auto_approve": True, "engine": "extractive"}
        return {
            **body,
            "as_of": self.case.as_of and self.case.as_of.isoformat(),
            "source_policy": policy,
            "budget": budget,
        }


def inputs() -> list[tuple[Case, bool]]:
    """Return the inputs: every case that has an answer, with a search and with given pages."""
    return [(case, searches) for case in CASES for searches in (True, False)]


def jobs(first: int, count: int, shapes: int | None = None) -> list[Job]:
    """Return so many jobs over all inputs in turn, or over the first few, numbered from ``first``."""
    known = inputs()[:shapes]
    return [Job(first + n, *known[n % len(known)]) for n in range(count)]


@dataclass
class Posted:
    """What became of a job's request; ``tries`` counts the requests that it took."""

    run_id: str
    tries: int
    answered_s: float


@dataclass
class Clients:
    """Posts jobs from threads of its own, each under an idempotency key, until the answer is 202."""

    world: World
    posted: dict[int, Posted] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    def post(self, job: Job, after_s: float = 0.0) -> None:
        """Post a job in a while."""
        thread = threading.Thread(target=self._post, args=(job, after_s), daemon=True)
        self._threads.append(thread)
        thread.start()

    def wait(self, timeout_s: float) -> dict[int, str]:
        """Return the run of each job once all are answered."""
        end = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0.0))
        return {number: posted.run_id for number, posted in self.posted.items()}

    def _post(self, job: Job, after_s: float) -> None:
        time.sleep(after_s)
        body, key, began = job.body(self.world), f"loop-{job.number}", time.monotonic()
        for tries, address in enumerate(cycle(self.world.addresses), start=1):
            try:
                answer = requests.post(f"{address}{RUNS}", json=body, headers={"Idempotency-Key": key}, timeout=10)
            except requests.RequestException:
                time.sleep(PAUSE_S)
                continue
            if answer.status_code == 202:
                taken = time.monotonic() - began
                self.posted[job.number] = Posted(str(answer.json()["run_id"]), tries, taken)
                return
            if answer.status_code not in (429, 500, 502, 503):
                self.refused.append(f"job {job.number}: {answer.status_code} {answer.text[:300]}")
                return
            time.sleep(PAUSE_S)
