"""Workers added while a queue of runs is worked on: how much sooner the queue is empty, and that no result changes.

``python -m evals.bench.scaling``. Runs of given pages wait for slow sites (a quarter of a second a request), and every
worker does one step at a time. The same queue is worked off twice: by one worker of each kind, and with a second one of
each started as soon as the first run researches. Real processes, sites on loopback, servers started for this.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from evals.bench.outcome import Bar, end, ratio
from shared.db.migrate import migrate
from tests.support.api import FINAL, Api
from tests.support.servers import fresh_database, postgres_server, valkey_server
from tests.support.site import Site, running_site
from tests.support.stack import Stack, running_stack, wait_until

RUNS = 8
PAGES_PER_RUN = 5
LATENCY_S = 0.25
WORKERS = ("planner", "fetcher", "extractor", "synthesizer")
QUESTION = "How deep is the basin, and when was it dredged?"
LEAST_GAIN = 1.3
"""How many times sooner the queue has to be empty with twice the workers; two cores do everything here."""


def page(number: int) -> str:
    """Return a page that answers the question in its own way."""
    sentences = (
        f"<p>Basin {number} is {number + 3} metres deep.</p><p>Basin {number} was dredged in {1980 + number}.</p>"
    )
    return f"<title>Basin {number}</title><h1>Basin {number}</h1>{sentences}"


def publish(site: Site) -> list[list[str]]:
    """Put every page on a host of its own; return the addresses of each run."""
    urls = []
    for number in range(RUNS * PAGES_PER_RUN):
        host = f"basin{number}.test"
        urls.append(site.answer(host, "/", page(number)))
        site.latency[host] = LATENCY_S
    return [urls[n * PAGES_PER_RUN : (n + 1) * PAGES_PER_RUN] for n in range(RUNS)]


@contextmanager
def stack(postgres: str, valkey: str, site: Site, folder: Path) -> Iterator[Stack]:
    """Run a stack over a database of its own."""
    settings = {
        "LEADLINE_ALLOW_NETWORKS": "127.0.0.1",
        "LEADLINE_RESOLVE_HOSTS": site.hosts_setting(),
        "LEADLINE_SITE_DELAY_SECONDS": "0",
        "LEADLINE_WORKER_THREADS": "1",
        "LEADLINE_MAX_RUNNING_RUNS": str(RUNS),
    }
    folder.mkdir()
    with fresh_database(postgres) as database:
        migrate(database)
        with running_stack(database, valkey, folder, **settings) as running:
            yield running


def work_off(running: Stack, pages: list[list[str]], *, add: bool) -> tuple[float, list[object]]:
    """Work off the queue; return its seconds, and what was found without ids."""
    api = Api(running.address)
    started = time.monotonic()
    runs = [api.ask(QUESTION, [], depth="thorough", source_policy={"urls": urls}) for urls in pages]
    if add:
        wait_until(lambda: api.run(runs[0])["status"] == "researching", "the first run researches")
        running.start(*(f"{name}-2" for name in WORKERS))
    wait_until(lambda: all(api.run(r)["status"] in FINAL for r in runs), "the queue is empty", 300)
    seconds = time.monotonic() - started
    return seconds, [(api.run(run_id)["status"], sorted(api.evidence_spans(run_id))) for run_id in runs]


def main() -> None:
    """Measure both, and compare."""
    with (
        TemporaryDirectory() as tmp,
        running_site() as site,
        postgres_server(Path(tmp)) as postgres,
        valkey_server(Path(tmp)) as valkey,
    ):
        pages = publish(site)
        took, found = {}, {}
        for name, add in (("one of each", False), ("two of each", True)):
            with stack(postgres, valkey, site, Path(tmp) / name.replace(" ", "-")) as running:
                took[name], found[name] = work_off(running, pages, add=add)
            print(f"{name}: {RUNS} runs of {PAGES_PER_RUN} pages in {took[name]:.1f} s")
    gain = ratio(took["one of each"], took["two of each"])
    same = found["one of each"] == found["two of each"]
    completed = sum(status == "completed" for status, _ in found["two of each"])
    bars = [
        Bar("times sooner with two of each", gain, LEAST_GAIN),
        Bar("runs with the same result", float(same), 1.0),
        Bar("runs completed", ratio(completed, RUNS), 1.0),
    ]
    end("bench_scaling", bars, {"seconds": took})


if __name__ == "__main__":
    main()
