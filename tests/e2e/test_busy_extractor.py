"""One process for reading and pages that keep it busy: every run ends with its right answer, and none with a false one.

Real processes; pages on loopback. The straggler wait is one second, so that whatever counted time in a queue would end
these runs at once.
"""

from collections.abc import Iterator

import pytest

from evals.bench.crowd import Asked, Setting, play, publish
from tests.support.api import Api
from tests.support.servers import fresh_database
from tests.support.site import Site, running_site
from tests.support.stack import Stack, running_stack

SETTING = Setting(small=4, large=1, bytes=2_000_000)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A site on loopback."""
    with running_site() as running:
        yield running


@pytest.fixture(scope="module")
def runs(site: Site) -> list[Asked]:
    """Runs over large and over small pages."""
    return publish(site, SETTING)


@pytest.fixture(scope="module")
def busy(
    site: Site,
    runs: list[Asked],
    postgres: str,
    template_database: str,
    valkey: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stack]:
    """A stack with one process for CPU work that waits for stragglers for a second."""
    settings = {
        "LEADLINE_ALLOW_NETWORKS": "127.0.0.1",
        "LEADLINE_RESOLVE_HOSTS": site.hosts_setting(),
        "LEADLINE_SITE_DELAY_SECONDS": "0",
        "LEADLINE_CPU_PROCESSES": "1",
        "LEADLINE_STRAGGLER_WAIT_SECONDS": "1",
        "LEADLINE_MAX_RUNNING_RUNS": "50",
        "LEADLINE_BROWSER": "off",
    }
    with (
        fresh_database(postgres, template_database) as url,
        running_stack(url, valkey, tmp_path_factory.mktemp("busy"), **settings) as running,
    ):
        yield running


def test_a_busy_extractor_ends_no_run_with_a_false_report(busy: Stack, runs: list[Asked]) -> None:
    """Pages that take seconds come first, tiny ones wait behind them; all are read, and all questions are answered."""
    endings = play(Api(busy.address), runs)
    assert [(e.name, e.verdict, e.why) for e in endings] == [(r.name, "right", "") for r in runs]


def test_nothing_that_waited_counts_as_a_try(busy: Stack, runs: list[Asked]) -> None:
    """Every step of those runs that reads was claimed once and done."""
    api = Api(busy.address)
    known = api.json("/research-runs?limit=100")["runs"]
    assert len(known) >= len(runs)
    steps = [s for run in known for s in api.json(f"/research-runs/{run['run_id']}/steps")["steps"]]
    read = [s for s in steps if s["kind"] in ("parse", "extract")]
    assert len(read) == 2 * len(runs)
    assert {(s["status"], s["attempts"]) for s in read} == {("completed", 1)}
