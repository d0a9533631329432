"""A simulated web on loopback and the whole system over it: real servers and processes that can be killed."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from infra.standalone import system
from shared.db.migrate import migrate
from tests.support.brokers import wipe
from tests.support.harbor_site import CORPUS, corpus_files
from tests.support.searxng import FakeSearXNG
from tests.support.servers import PostgresServer, RedisServer, fresh_database, new_postgres, new_redis, open_folder
from tests.support.site import Site, file_reply, running_site
from tests.support.stack import Stack
from tests.support.zygote import running_zygote

ROOT = Path(__file__).parents[3]
SITES = "abcd"
"""The sites of each run: its pages are spread over them."""

LATENCY_S = 0.15
SHORT_S = 0.02
DELAY_S = 0.1
LEASE_S = 4.0
SWEEP_S = 0.3

PROCESSES = (
    "gateway",
    "gateway-2",
    "planner",
    "planner-2",
    "fetcher",
    "fetcher-2",
    "extractor",
    "extractor-2",
    "synthesizer",
    "synthesizer-2",
    "sweeper",
    "sweeper-2",
)


def host(site: str, number: int) -> str:
    """Return the host of a site of a run: every run has sites of its own, so that each request can be told apart."""
    return f"{site}{number:03}.test"


class Engine(FakeSearXNG):
    """A search engine over the pages of all runs: it answers with the pages of the run whose sites are named."""

    def __init__(self, site: Site, pages: dict[str, bytes]) -> None:
        super().__init__(site, pages)
        self.host = urlsplit(self.url).hostname or ""

    def _results(self, query: str) -> list[dict[str, str]]:
        words, _, sites = query.partition(" (site:")
        own = f"{number_of(sites)}.test"
        return [{**hit, "url": hit["url"].replace("000.test", own)} for hit in super()._results(words)]


def number_of(domain: str) -> str:
    """Return the number in the name of a run's site."""
    return domain[1:4]


def search_of(path: str) -> tuple[str, str] | None:
    """Return the number of the run that asks the engine for this path, and its query."""
    query, _, sites = parse_qs(urlsplit(path).query).get("q", [""])[0].partition(" (site:")
    return (number_of(sites), query) if sites else None


class Servers:
    """PostgreSQL, durable as in production, and Redis; each can be lost at any moment and comes back on its port."""

    def __init__(self, folder: Path) -> None:
        self.postgres = new_postgres(folder / "postgres")
        self.valkey = new_redis(folder / "valkey")

    def start(self) -> None:
        """Start both."""
        self.postgres.start()
        self.valkey.start()

    def stop(self) -> None:
        """Stop both."""
        self.valkey.stop()
        self.postgres.stop()

    def restart_postgres(self) -> None:
        """Shut PostgreSQL down at once, which breaks every session and makes it recover, and start it again."""
        self._again(self.postgres, signal.SIGQUIT)

    def restart_valkey(self) -> None:
        """Kill Valkey, which loses everything in it, and start it again."""
        self._again(self.valkey, signal.SIGKILL)

    @staticmethod
    def _again(server: PostgresServer | RedisServer, number: int) -> None:
        process = server.process
        if process is not None:
            process.send_signal(number)
            process.wait(30)
        server.start()


@dataclass
class World:
    """Everything that a loop needs; ``pages`` are the names of the pages that each run's sites have, by site."""

    site: Site
    engine: Engine
    servers: Servers
    stack: Stack
    pages: dict[str, list[str]]
    delay_s: float

    def urls(self, number: int, *names: str) -> list[str]:
        """Return the addresses of some pages on a run's sites, or of all."""
        found = [(site, name) for site, of_site in self.pages.items() for name in of_site if not names or name in names]
        return [self.site.url(host(site, number), f"/{name}") for site, name in found]

    def flush(self) -> None:
        """Lose every message."""
        wipe(self.stack.redis_url, self.stack.broker_url)

    @property
    def addresses(self) -> list[str]:
        """The addresses of the gateways."""
        return [self.stack.address_of(name) for name in self.stack.processes if name.startswith("gateway")]


def _serve(site: Site, numbers: range, latency_s: float) -> dict[str, list[str]]:
    """Put the corpus on the sites of every run."""
    pages: dict[str, list[str]] = {name: [] for name in SITES}
    for place, path in enumerate(corpus_files()):
        of_site = SITES[place % len(SITES)]
        pages[of_site].append(path.name)
        reply = file_reply(path)
        for number in numbers:
            site.answer(host(of_site, number), f"/{path.name}", reply)
            site.latency[host(of_site, number)] = latency_s
    return pages


def _bodies(site: Site, pages: dict[str, list[str]]) -> dict[str, bytes]:
    return {
        site.url(host(name, 0), f"/{page}"): (CORPUS / page).read_bytes()
        for name, of_site in pages.items()
        for page in of_site
    }


@contextmanager
def running_world(folder: Path, runs: int, delay_s: float = DELAY_S) -> Iterator[World]:
    """Yield a world with sites for so many runs, everything in it running, and end it.

    What is raised against the defaults: attempt caps, the straggler wait and the runs at once, since the loop would
    otherwise end steps and iterations as the rules demand, and its runs could not be compared with quiet ones.
    """
    with ExitStack() as opened:
        site = opened.enter_context(running_site())
        pages = _serve(site, range(runs), LATENCY_S if delay_s else SHORT_S)
        engine = Engine(site, _bodies(site, pages))
        servers = Servers(opened.enter_context(open_folder(folder)))
        opened.callback(servers.stop)
        servers.start()
        database = opened.enter_context(fresh_database(servers.postgres.admin_url))
        migrate(database)
        logs = folder / "logs"
        logs.mkdir()
        extra = {
            "SEARXNG_URL": engine.url,
            "LEADLINE_ALLOW_NETWORKS": "127.0.0.1",
            "LEADLINE_RESOLVE_HOSTS": site.hosts_setting(),
            "LEADLINE_SITE_DELAY_SECONDS": str(delay_s),
            "LEADLINE_LEASE_SECONDS": str(LEASE_S),
            "LEADLINE_SWEEP_SECONDS": str(SWEEP_S),
            "LEADLINE_MAX_INTERRUPTIONS": "1000",
            "LEADLINE_MAX_ERRORS": "1000",
            "LEADLINE_STRAGGLER_WAIT_SECONDS": "3600",
            "LEADLINE_MAX_RUNNING_RUNS": "100",
        }
        zygote = opened.enter_context(running_zygote())
        stack = Stack(database, servers.valkey.url, logs, extra, launch=zygote.launch)
        opened.callback(stack.stop)
        stack.start(*PROCESSES)
        yield World(site, engine, servers, stack, pages, delay_s)


def descendants(pid: int) -> list[int]:
    """Return the children of a process and theirs."""
    parents: dict[int, list[int]] = {}
    for entry in system.PROC.iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found, left = [], [pid]
    while left:
        below = parents.get(left.pop(), [])
        found += below
        left += below
    return found
