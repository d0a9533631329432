"""Watching over a stack: Flower shows workers and steps, Prometheus reads every process, the counts are right."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests
from prometheus_client.samples import Sample

from shared.domain.kinds import KINDS, QUEUES
from tests.support.api import Api
from tests.support.brokers import redis_broker_only
from tests.support.flower import Flower, running_flower
from tests.support.restricted_valkey import RestrictedValkey, restricted_valkey
from tests.support.scraping import counted, discovered, scrape
from tests.support.servers import fresh_database, without_driver
from tests.support.stack import MODULES, ROOT, WORKERS, Stack, running_stack, wait_until

pytestmark = redis_broker_only

pytest.importorskip("flower", reason="Flower is not installed")

QUESTION = "How deep below datum does bedrock lie under the outer sill of Sollander Lock?"
HARBOR = ROOT / "evals" / "corpora" / "harbor"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home and the logs of the stack."""
    return tmp_path_factory.mktemp("watched")


@pytest.fixture(scope="module")
def users(folder: Path) -> Iterator[RestrictedValkey]:
    """A Valkey with the users of the containers."""
    with restricted_valkey(folder) as server:
        yield server


@pytest.fixture(scope="module")
def stack(postgres: str, template_database: str, users: RestrictedValkey, folder: Path) -> Iterator[Stack]:
    """The whole stack, each process with its figures on a free port."""
    with (
        fresh_database(postgres, template_database) as url,
        running_stack(url, users.leadline, folder, LEADLINE_METRICS_PORT="0", LEADLINE_BROWSER="off") as running,
    ):
        yield running


@pytest.fixture(scope="module")
def flower(stack: Stack, users: RestrictedValkey, folder: Path) -> Iterator[Flower]:
    """A Flower that watches the stack under its own name."""
    with running_flower(users.flower, folder / "flower.log") as running:
        wait_until(lambda: len(running.json("/api/workers?refresh=1")) == len(WORKERS), "Flower sees all workers")
        yield running


@pytest.fixture(scope="module")
def run(stack: Stack, flower: Flower) -> dict[str, Any]:
    """A run that has ended while Flower watched."""
    api = Api(stack.address)
    documents = api.upload(HARBOR)
    ended = api.finish(api.ask(QUESTION, documents))
    assert ended["status"] == "completed"
    return ended


def rows(stack: Stack, query: str) -> list[tuple[Any, ...]]:
    """Return what the database says."""
    with psycopg.connect(without_driver(stack.database_url), connect_timeout=10) as connection:
        return connection.execute(query).fetchall()  # type: ignore[arg-type]


def scrape_all(folder: Path) -> dict[str, list[Sample]]:
    """Return the samples of every process."""
    return {service: scrape(address) for service, address in discovered(folder).items()}


def test_flower_lists_all_workers(flower: Flower, run: dict[str, Any]) -> None:
    """One worker for each queue, under the names that attempts in the ledger carry."""
    workers = flower.json("/api/workers?refresh=1")
    assert sorted(q["name"] for worker in workers.values() for q in worker["active_queues"]) == sorted(WORKERS)
    assert all(name.partition(".")[0] in WORKERS for name in workers)


def test_flower_shows_steps_by_kind(flower: Flower, run: dict[str, Any], stack: Stack) -> None:
    """Its tasks are named by the kind of their step, and every step that was done is among them."""
    done = dict(rows(stack, "select id, kind from steps where status = 'completed'"))

    def shown() -> dict[str, str]:
        tasks = flower.json("/api/tasks?limit=10000").values()
        return {t["args"].split("'")[1]: t["name"] for t in tasks if t["state"] == "SUCCESS"}

    wait_until(lambda: shown().items() >= done.items(), "Flower shows every step that is done")
    assert set(flower.json("/api/task/types")["task-types"]) <= set(KINDS)
    assert {name for _, name in done.items()} <= set(flower.json("/api/task/types")["task-types"])
    assert flower.json("/api/queues/length")["active_queues"] == [{"name": q, "messages": 0} for q in sorted(WORKERS)]


def test_flower_changes_nothing_and_asks_who_it_is(flower: Flower, run: dict[str, Any]) -> None:
    """Without a password nothing is shown; with one nothing can be done."""
    assert requests.get(f"{flower.address}/api/workers", timeout=10).status_code == 401
    assert requests.get(f"{flower.address}/", auth=("watch", "wrong"), timeout=10).status_code == 401
    [worker, *_] = flower.json("/api/workers")
    for path in (f"/api/worker/shutdown/{worker}", "/api/task/send-task/step"):
        assert flower.call("POST", path, json={"args": ["stp_1"]}).status_code == 403


def test_nothing_that_flower_needs_is_refused(flower: Flower, run: dict[str, Any], users: RestrictedValkey) -> None:
    """The user that it has in Redis can do all of the above, and no process was refused anything."""
    assert users.denied() == set()


def test_every_process_can_be_scraped(stack: Stack, run: dict[str, Any], folder: Path) -> None:
    """File-based discovery finds each process once, and each says what it is and how much memory it has."""
    found = scrape_all(folder)
    assert set(found) == set(MODULES)
    for service, samples in found.items():
        [info] = [s for s in samples if s.name == "leadline_process_info"]
        assert info.labels["service"] == service
        assert any(s.name == "process_resident_memory_bytes" and s.value > 0 for s in samples)


def test_the_counts_are_those_of_the_database(stack: Stack, run: dict[str, Any], folder: Path) -> None:
    """Tries by kind and outcome, runs accepted and ended, summed over all processes."""
    tries = "select s.kind, {} count(*) from attempts a join steps s on s.id = a.step_id where {} group by {}"
    samples = [sample for each in scrape_all(folder).values() for sample in each]
    started = Counter({(kind,): count for kind, count in rows(stack, tries.format("", "true", "s.kind"))})
    assert counted(samples, "leadline_steps_started_total", "kind") == started
    ended = rows(stack, tries.format("a.outcome,", "a.outcome is not null", "s.kind, a.outcome"))
    wanted = Counter({(kind, outcome): count for kind, outcome, count in ended})
    assert counted(samples, "leadline_steps_ended_total", "kind", "outcome") == wanted
    assert counted(samples, "leadline_step_seconds_count", "kind") == started
    kinds = Counter({(kind,): count for kind, count in rows(stack, "select kind, count(*) from runs group by kind")})
    assert counted(samples, "leadline_runs_accepted_total", "kind") == kinds
    assert counted(samples, "leadline_runs_ended_total", "status") == {("completed",): 2}
    fetches = rows(stack, "select body ->> 'tier', count(*) from fetches where refusal is null group by 1")
    assert counted(samples, "leadline_fetches_total", "tier") == Counter({(tier,): count for tier, count in fetches})
    events = counted(samples, "leadline_events_total", "outcome")
    assert events == {("published",): rows(stack, "select count(*) from events")[0][0]}


def test_the_sweeper_counts_what_is_there(stack: Stack, run: dict[str, Any], folder: Path) -> None:
    """Runs by status, nothing due, empty queues, and a broker that drops nothing."""

    def sweeper() -> list[Sample]:
        return scrape(discovered(folder)["sweeper"])

    wait_until(lambda: counted(sweeper(), "leadline_runs", "status")["completed",] == 2, "the runs are counted")
    samples = sweeper()
    nothing = dict.fromkeys([(queue,) for queue in QUEUES], 0)
    assert counted(samples, "leadline_steps_due", "queue") == nothing
    assert counted(samples, "leadline_queue_length", "queue") == nothing
    assert counted(samples, "leadline_broker_evicts", "broker") == {("redis",): 0}
    [used] = [s.value for s in samples if s.name == "leadline_broker_memory_ratio"]
    assert 0 < used < 1


def test_requests_are_counted_by_route(stack: Stack, run: dict[str, Any], folder: Path) -> None:
    """The gateway tells routes apart, never runs, and how many streams are open."""
    url = f"{stack.address}/api/v1/research-runs/{run['run_id']}/events"
    requests.get(url, headers={"Accept": "text/event-stream"}, timeout=30)
    samples = scrape(discovered(folder)["gateway"])
    routes = counted(samples, "leadline_http_requests_total", "method", "route", "status")
    assert routes["GET", "/api/v1/research-runs/{run_id}/events", "200"] == 1
    assert routes["POST", "/api/v1/research-runs", "202"] == 1
    assert not any(run["run_id"] in str(s.labels) for s in samples)
    assert counted(samples, "leadline_event_streams") == {(): 0}


def test_a_process_that_ends_takes_back_where_it_was(stack: Stack, run: dict[str, Any], folder: Path) -> None:
    """Stopped, it is gone from discovery; killed, it is gone once another starts."""
    planner = stack.processes.pop("planner")
    planner.terminate()
    planner.wait(20)
    assert "planner" not in discovered(folder)
    former = discovered(folder)["extractor"]
    stack.kill("extractor")
    assert discovered(folder)["extractor"] == former
    stack.start("extractor", "planner")
    wait_until(lambda: discovered(folder).get("planner"), "the planner tells where it is")
    wait_until(lambda: discovered(folder).get("extractor", former) != former, "the extractor tells where it is")


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("LEADLINE_FLOWER_AUTH", "", "LEADLINE_FLOWER_AUTH"),
        ("LEADLINE_FLOWER_AUTH", "nobody", "user:password"),
        ("LEADLINE_BROKER_URL", "", "LEADLINE_BROKER_URL"),
    ],
)
def test_flower_does_not_start_without_a_setting(
    setting: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence that names it, and exit code 2."""
    monkeypatch.setenv("LEADLINE_BROKER_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("LEADLINE_FLOWER_AUTH", "a:b")
    monkeypatch.setenv(setting, value)
    ended = subprocess.run(
        [sys.executable, "-m", "shared.flower_process"], cwd=ROOT, capture_output=True, text=True, timeout=30
    )
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert said in ended.stderr
