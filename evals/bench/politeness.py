"""Many sites, several workers and runs: never two requests at one site at once, never closer than its delay.

``python -m evals.bench.politeness``. Everything is judged by the log of the sites, which are served on loopback under
registrable domains of their own. First, many sites while Redis is emptied and a fetch worker is killed; then few sites
that all runs want at once, undisturbed: how much of what politeness allows is used.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from evals.bench.outcome import Bar, end, ratio
from evals.truth.sets import table
from tests.support.api import Api
from tests.support.servers import own_servers
from tests.support.site import Reply, Site, gaps, overlaps, running_site
from tests.support.stack import Stack, running_stack

JITTER_S = 0.05
"""By how much arrivals at a site may differ from the moments at which requests were sent."""
SLOW_EVERY = 10
"""Every tenth site asks for twice the delay in its robots.txt."""
QUESTION = "How deep is the basin?"
LATENCY_S = 0.05


@dataclass(frozen=True, slots=True)
class Setting:
    """How large the bench is; times in seconds."""

    sites: int = 200
    runs: int = 6
    workers: int = 4
    delay_s: float = 1.0
    pages: int = 40
    """Pages that each run reads."""
    contended: int = 8
    """Sites that all runs want in the second part."""
    patience_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What the log of the sites says; gaps are measured against the site's own delay, in seconds."""

    requests: int
    sites: int
    overlaps: int
    too_close: int
    smallest_margin_s: float
    seconds: float
    used: float
    """Part of the requests that politeness allows, over the time in which each site was wanted."""


class Farm:
    """The sites of one part of the bench."""

    def __init__(self, site: Site, name: str, count: int, delay_s: float) -> None:
        self.site, self.delay_s = site, delay_s
        self.hosts = [f"{name}{number:03}.test" for number in range(count)]
        for number, host in enumerate(self.hosts):
            slow = number % SLOW_EVERY == SLOW_EVERY - 1
            if slow:
                site.answer(host, "/robots.txt", Reply(f"User-agent: *\nCrawl-delay: {2 * delay_s}\n"))
            site.latency[host] = LATENCY_S

    def delay_of(self, host: str) -> float:
        """Return the delay that a site asks for."""
        slow = self.hosts.index(host) % SLOW_EVERY == SLOW_EVERY - 1
        return 2 * self.delay_s if slow else self.delay_s

    def page(self, host: str, name: str) -> str:
        """Make a page; return its address."""
        body = f"<title>{name}</title><p>The basin of {host} is {len(name)} metres deep, says page {name}.</p>"
        return self.site.answer(host, f"/{name}", body)

    def figures(self, seconds: float) -> Figures:
        """Judge the log."""
        margins: list[float] = []
        at_once = allowed = made = requests = asked = 0.0
        for host in self.hosts:
            visits = self.site.visits(host)
            requests += len(visits)
            asked += bool(visits)
            at_once += overlaps(visits)
            delay = self.delay_of(host)
            pages = [visit for visit in visits if visit.path != "/robots.txt"]
            after_page = [delay if visit.path != "/robots.txt" else self.delay_s for visit in visits[:-1]]
            margins += [gap - wanted for gap, wanted in zip(gaps(visits), after_page, strict=True)]
            if len(pages) > 1:
                made += len(pages) - 1
                allowed += max((pages[-1].start - pages[0].start) / (delay + JITTER_S), len(pages) - 1)
        return Figures(
            requests=int(requests),
            sites=int(asked),
            overlaps=int(at_once),
            too_close=sum(margin < -JITTER_S for margin in margins),
            smallest_margin_s=min(margins, default=0.0),
            seconds=seconds,
            used=ratio(made, allowed),
        )


@contextmanager
def stack_over(site: Site, setting: Setting) -> Iterator[Stack]:
    """Yield a whole stack on servers of its own that reaches the site's hosts."""
    with tempfile.TemporaryDirectory(prefix="leadline-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with own_servers(folder) as (database, redis_url):
            settings = {
                "LEADLINE_ALLOW_NETWORKS": "127.0.0.1",
                "LEADLINE_RESOLVE_HOSTS": site.hosts_setting(),
                "LEADLINE_SITE_DELAY_SECONDS": str(setting.delay_s),
                "LEADLINE_MAX_RUNNING_RUNS": str(setting.runs),
                "LEADLINE_BROWSER": "off",
            }
            with running_stack(database, redis_url, folder, **settings) as stack:
                stack.start(*(f"fetcher-{n}" for n in range(2, setting.workers + 1)))
                yield stack


def play(stack: Stack, urls_of_runs: Sequence[Sequence[str]], patience_s: float) -> float:
    """Start a run over each list of addresses, wait for all, and return the seconds that took."""
    api, began = Api(stack.address), time.monotonic()
    ids = [api.ask(QUESTION, [], depth="thorough", source_policy={"urls": list(urls)}) for urls in urls_of_runs]
    for run_id in ids:
        api.finish(run_id, patience_s)
    return time.monotonic() - began


def disturb(stack: Stack, after_s: float, ended: threading.Event) -> None:
    """Empty Redis, kill a fetch worker and start another one, in turn, until it is over."""
    number = 0
    while not ended.wait(after_s):
        with Redis.from_url(stack.redis_url) as redis:
            redis.flushall()
        name = sorted(n for n in stack.processes if n.startswith("fetcher-"))[0]
        stack.kill(name)
        stack.start(f"fetcher-{90 + number}")
        number += 1
        if number == 3:
            return


def disturbed(setting: Setting, site: Site) -> tuple[Farm, Sequence[Sequence[str]]]:
    """Return many sites, and runs each of which wants some of them, so that neighbours want the same."""
    farm = Farm(site, "wide", setting.sites, setting.delay_s)
    step = max(len(farm.hosts) // setting.runs, 1)
    runs = []
    for run in range(setting.runs):
        hosts = [farm.hosts[(run * step + n) % len(farm.hosts)] for n in range(setting.pages)]
        runs.append([farm.page(host, f"r{run}") for host in dict.fromkeys(hosts)])
    return farm, runs


def contended(setting: Setting, site: Site) -> tuple[Farm, Sequence[Sequence[str]]]:
    """Return few sites, and runs that all want all of them all the time."""
    farm = Farm(site, "few", setting.contended, setting.delay_s)
    runs = []
    for run in range(setting.runs):
        wanted = [farm.hosts[(run + n) % len(farm.hosts)] for n in range(setting.pages)]
        runs.append([farm.page(host, f"r{run}p{n}") for n, host in enumerate(wanted)])
    return farm, runs


def measure(setting: Setting) -> tuple[Figures, Figures]:
    """Return the figures of both parts."""
    with running_site() as site:
        wide, wide_runs = disturbed(setting, site)
        few, few_runs = contended(setting, site)
        with stack_over(site, setting) as stack:
            calm_s = play(stack, few_runs, setting.patience_s)
            ended = threading.Event()
            trouble = threading.Thread(target=disturb, args=(stack, 3 * setting.delay_s, ended))
            trouble.start()
            try:
                wild_s = play(stack, wide_runs, setting.patience_s)
            finally:
                ended.set()
                trouble.join(60)
        return wide.figures(wild_s), few.figures(calm_s)


def main() -> None:
    """Measure and print."""
    parser, usual = argparse.ArgumentParser(description=__doc__), Setting()
    for name, kind in (("sites", int), ("runs", int), ("workers", int), ("delay-s", float), ("pages", int)):
        parser.add_argument(f"--{name}", type=kind, default=getattr(usual, name.replace("-", "_")))
    wide, few = measure(Setting(**vars(parser.parse_args())))
    head = ["part", "sites", "requests", "at once", "too close", "smallest margin", "seconds", "used of allowed"]
    rows = [
        [
            name,
            *map(str, (f.sites, f.requests, f.overlaps, f.too_close)),
            f"{f.smallest_margin_s:+.3f} s",
            f"{f.seconds:.1f}",
            f"{f.used:.3f}",
        ]
        for name, f in (("many sites, disturbed", wide), ("few sites, contended", few))
    ]
    table(head, rows)
    bad = wide.overlaps + wide.too_close + few.overlaps + few.too_close
    bars = [
        Bar("requests that were polite", 1 - ratio(bad, wide.requests + few.requests), 1.0),
        Bar("part of what politeness allows that is used, undisturbed", few.used, 0.95),
    ]
    end("bench_politeness", bars, {"rows": rows})


if __name__ == "__main__":
    main()
