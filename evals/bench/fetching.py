"""Pages a second of one fetch worker: fetched, logged and stored, without politeness, from sites that take 200 ms.

``python -m evals.bench.fetching``. The worker is the real process over a real ledger, with nothing else running: every
page is a step that it claims, reads over the judged way out, and commits. Beside it Scrapy (the dependency group
``bench``, installed in an environment of its own for the run) stores the same pages with as many requests at once.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evals.bench.outcome import Bar, end
from evals.truth.sets import table
from shared.contracts.candidates import page_candidate
from shared.contracts.runs import CreateRun, SourcePolicy
from shared.db.controls import PostgresControls
from shared.db.engine import Transactions, new_id, open_engine
from shared.db.sites import PostgresRobots
from shared.db.tables import SourceRow, StepRow
from shared.domain.ids import LOCAL_OWNER, RunId, StepId, sha256_hex
from shared.domain.kinds import KINDS
from shared.domain.states import StepKind
from shared.domain.urls import parse_url
from shared.ports.ledger import Outcome
from shared.ports.sites import RobotsEntry
from shared.queues.celery_app import TASK, build_app
from tests.support.servers import own_servers
from tests.support.site import LOOPBACK, Site, running_site
from tests.support.stack import Stack, wait_until
from tests.support.stage import Stage, plan

LATENCY_S = 0.2
PAGES_OF_RUN = 45
"""As many as a run may read at most."""
SPIDER = Path(__file__).with_name("scrapy_spider.py")


@dataclass(frozen=True, slots=True)
class Setting:
    """How large the bench is; as many requests at once as the worker has threads."""

    pages: int = 540
    threads: int = 32
    kilobytes: int = 20


@dataclass(frozen=True, slots=True)
class Figure:
    """How long all pages took."""

    name: str
    pages: int
    seconds: float

    @property
    def rate(self) -> float:
        """Pages a second."""
        return self.pages / self.seconds


def fill(site: Site, setting: Setting) -> tuple[list[str], list[str]]:
    """Make the pages; return their addresses under sites of their own, and all under one address."""
    words = "The basin is fourteen metres deep at mean low water. " * (setting.kilobytes * 1024 // 53)
    own, shared = [], []
    for number in range(setting.pages):
        host, path = f"page{number:04}.test", f"/{number}"
        body = f"<title>{number}</title><p>{words}</p>"
        own.append(site.answer(host, path, body))
        shared.append(site.answer(LOOPBACK, path, body))
        site.latency[host] = LATENCY_S
    site.latency[LOOPBACK] = LATENCY_S
    return own, shared


def prepare(stage: Stage, urls: Sequence[str]) -> list[StepId]:
    """Insert runs that research, and a read for each address; return the steps, one of each run in turn."""
    stage.controls = PostgresControls(stage.transactions, max_running_runs=stage.max_running)
    steps: list[StepId] = []
    for start in range(0, len(urls), PAGES_OF_RUN):
        wanted = tuple(urls[start : start + PAGES_OF_RUN])
        policy = SourcePolicy(urls=wanted)
        request = CreateRun(objective="How deep is it?", source_policy=policy, depth="thorough", auto_approve=True)
        run_id, created = stage.controls.create_run(LOCAL_OWNER, request, None, "extractive")
        steps += _insert(stage.transactions, run_id, wanted)
        stage.finish(created.wake_ups[0].step_id, Outcome("planned", plan=plan()))
        stage.ledger.admit(LOCAL_OWNER)
    robots = PostgresRobots(stage.transactions)
    for url in urls:
        robots.keep(parse_url(url).origin, RobotsEntry(404, b"", 3600.0))
    in_turn = sorted(range(len(steps)), key=lambda place: (place % PAGES_OF_RUN, place))
    return [steps[place] for place in in_turn]


def _insert(transactions: Transactions, run_id: RunId, urls: Sequence[str]) -> list[StepId]:
    sources = [page_candidate(run_id, parse_url(url)) for url in urls]
    ids = [StepId(new_id("stp")) for _ in urls]

    def work(session: object) -> None:
        for ordinal, (source, step_id) in enumerate(zip(sources, ids, strict=True), start=1):
            body = source.model_dump(mode="json")
            facts = {"status": source.status, "source_class": source.source_class, "body": body}
            url_sha256 = sha256_hex(source.canonical_url.encode())
            row = SourceRow(id=source.source_id, run_id=run_id, url_sha256=url_sha256, ordinal=ordinal, **facts)
            session.merge(row)  # type: ignore[attr-defined]
            session.add(  # type: ignore[attr-defined]
                StepRow(
                    id=step_id,
                    run_id=run_id,
                    epoch=1,
                    kind=StepKind.READ_SOURCE,
                    key=f"read_source:{source.source_id}",
                    iteration=1,
                    subject=source.source_id,
                    inputs={"source_id": source.source_id, "document_id": None, "query": "depth"},
                )
            )

    transactions.run(work)
    return ids


@contextmanager
def worker(setting: Setting, database: str, redis_url: str, site: Site, logs: Path) -> Iterator[Stack]:
    """Yield a stack that is one fetch worker."""
    extra = {
        "LEADLINE_ALLOW_NETWORKS": LOOPBACK,
        "LEADLINE_RESOLVE_HOSTS": site.hosts_setting(),
        "LEADLINE_SITE_DELAY_SECONDS": "0",
        "LEADLINE_WORKER_THREADS": str(setting.threads),
        "LEADLINE_BROWSER": "off",
        "LEADLINE_LEASE_SECONDS": "120",
    }
    stack = Stack(database, redis_url, logs, extra)
    try:
        stack.start("fetcher")
        yield stack
    finally:
        stack.stop()


def ours(setting: Setting, site: Site, urls: Sequence[str]) -> Figure:
    """Measure the worker from the first request to the last commit."""
    with tempfile.TemporaryDirectory(prefix="leadline-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with own_servers(folder) as (database, redis_url):
            transactions = Transactions(open_engine(database, pool_size=2))
            stage = Stage(transactions, max_running=len(urls))
            steps = prepare(stage, urls)
            done = "select count(*) from fetches where body->>'content_sha256' is not null"
            app = build_app("bench", redis_url)
            for step_id in steps:
                app.send_task(TASK, args=[step_id], queue=KINDS[StepKind.READ_SOURCE].queue, ignore_result=True)
            with worker(setting, database, redis_url, site, folder):
                wait_until(lambda: stage.rows(done)[0][0] >= len(urls), "every page is stored", 300)
                seconds = time.monotonic() - site.visits()[0].start
            transactions.close()
    return Figure("leadline fetch worker", len(urls), seconds)


def scrapys(setting: Setting, urls: Sequence[str], python: str | None) -> Figure | None:
    """Measure Scrapy with an interpreter that has it, or in an environment made for it; None where there is none."""
    with tempfile.TemporaryDirectory(prefix="leadline-scrapy-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        python = python or _environment(folder / "venv")
        if python is None:
            return None
        (folder / "urls").write_text("\n".join(urls))
        command = [python, str(SPIDER), str(folder / "urls"), str(folder / "pages.jsonl"), str(setting.threads)]
        told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout
        stored = len((folder / "pages.jsonl").read_text().splitlines())
        return Figure("scrapy", stored, float(json.loads(told.splitlines()[-1])["seconds"]))


def _environment(folder: Path) -> str | None:
    """Make an environment with the dependency group ``bench``; return its interpreter, None where that fails."""
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "scrapy>=2.13,<3"]
    return None if subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode else python


def main() -> None:
    """Measure and print."""
    parser, usual = argparse.ArgumentParser(description=__doc__), Setting()
    for name in ("pages", "threads", "kilobytes"):
        parser.add_argument(f"--{name}", type=int, default=getattr(usual, name))
    parser.add_argument("--alone", action="store_true", help="without Scrapy")
    parser.add_argument("--scrapy-python", help="interpreter that has Scrapy, instead of a new environment")
    asked = vars(parser.parse_args())
    alone, python = asked.pop("alone"), asked.pop("scrapy_python")
    setting = Setting(**asked)
    with running_site() as site:
        own, shared = fill(site, setting)
        found = [ours(setting, site, own)]
        print(f"{found[0].name}: {found[0].rate:.1f} pages/s", flush=True)
        beside = None if alone else scrapys(setting, shared, python)
        found += [beside] if beside is not None else []
    rows = [[f.name, str(f.pages), f"{f.seconds:.1f}", f"{f.rate:.1f}"] for f in found]
    table(["who", "pages", "seconds", "pages/s"], rows)
    print(
        f"{setting.threads} requests at once, {LATENCY_S * 1000:.0f} ms each: {setting.threads / LATENCY_S:.0f} at most"
    )
    if beside is not None:
        print(f"leadline / scrapy: {found[0].rate / beside.rate:.2f}")
    sys.stdout.flush()
    end("bench_fetching", [Bar("pages stored", found[0].pages, setting.pages)], {"rows": rows})


if __name__ == "__main__":
    main()
