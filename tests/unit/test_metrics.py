"""The figures of a process: one table, few labels, counted from what was committed, shown over HTTP."""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from services.gateway.app import create_app
from shared.contracts.events import Event
from shared.contracts.evidence import Fetch
from shared.domain.kinds import QUEUES
from shared.domain.states import RunStatus, StepKind
from shared.observability.exposition import MetricsServer
from shared.observability.metrics import PREFIX, MetricsObserver, MetricsText, build_metrics, table
from shared.observability.probe import fault
from shared.observability.pulse import Pulse
from shared.observability.targets import FOLDER, announce, announced, withdraw
from shared.ports.model import Phase, TokenUsage
from shared.ports.observer import UNOBSERVED, Answered, BrokerCensus, LedgerCensus, Observer, Unobserved
from tests.fakes.gateway import Desk, fake_deps

FEW = {"kind", "outcome", "status", "queue", "tier", "phase", "direction", "route", "method", "broker"}


class Figures:
    """The figures of an imagined process, and what a scrape of them says."""

    def __init__(self) -> None:
        self.metrics = build_metrics("fetcher", "1.2.3")
        self.observer = MetricsObserver(self.metrics)
        self.exposition = MetricsText(self.metrics)

    def value(self, name: str, **labels: str) -> float:
        """Return a sample as a scrape shows it."""
        families = text_string_to_metric_families(self.exposition.text().decode())
        wanted = PREFIX + name
        [value] = [s.value for f in families for s in f.samples if s.name == wanted and s.labels == labels]
        return value


@pytest.fixture
def figures() -> Figures:
    """Figures of the test's own."""
    return Figures()


def event(event_type: str, **payload: object) -> Event:
    """Return an event of some run."""
    return Event(seq=1, run_id="run_1", at=datetime.now(UTC), type=event_type, payload=payload)


def test_labels_take_few_values() -> None:
    """No figure is told apart by an id, a URL or a text."""
    for name, (_, row) in table().items():
        assert set(row.labels) <= FEW, name
        assert row.text.endswith("."), name


def test_the_observers_are_alike() -> None:
    """The one that counts and the one that lets everything pass take what the port says."""
    wanted = dict(inspect.getmembers(Observer, inspect.isfunction))
    for kind in (MetricsObserver, Unobserved):
        for name, method in wanted.items():
            if not name.startswith("_"):
                assert inspect.signature(getattr(kind, name)) == inspect.signature(method), (kind, name)
    UNOBSERVED.committed([event("run_created", kind="research")])


def test_runs_are_counted_by_their_events(figures: Figures) -> None:
    """A run counts when it is created and when its status is final, not in between."""
    moves = [("created", "planning"), ("planning", "awaiting_plan_approval"), ("synthesizing", "completed")]
    events = [event("status_changed", **{"from": a, "to": b, "reason": None}) for a, b in moves]
    figures.observer.committed([event("run_created", kind="research"), *events])
    assert figures.value("runs_accepted_total", kind="research") == 1
    assert figures.value("runs_ended_total", status="completed") == 1
    assert "planning" not in figures.exposition.text().decode()


def test_tries_are_counted_by_their_outcome(figures: Figures) -> None:
    """Done, and whatever else the ledger says of a try; a refused result is one that the ledger does not have."""
    events = [event("step_started", kind="search", step_id=f"s{n}") for n in range(5)]
    events += [event("step_finished", kind="search", step_id="s0")]
    events += [event("step_retrying", kind="search", outcome=o) for o in ("postponed", "handed_back", "interrupted")]
    events += [event("step_failed", kind="search", outcome="failed"), event("progress", phase="searching")]
    figures.observer.committed(events)
    figures.observer.result_refused(StepKind.SEARCH)
    assert figures.value("steps_started_total", kind="search") == 5
    for outcome in ("done", "postponed", "handed_back", "interrupted", "failed", "refused"):
        assert figures.value("steps_ended_total", kind="search", outcome=outcome) == 1


def test_what_goes_wrong_is_counted(figures: Figures) -> None:
    """Refused claims, failed heartbeats, reclaimed leases, lost and repeated wake-ups, lost events."""
    figures.observer.claim_refused()
    figures.observer.heartbeat_failed()
    figures.observer.reclaimed()
    figures.observer.wake_up("fetcher", sent=False)
    figures.observer.sent_again("fetcher")
    figures.observer.published(sent=False)
    assert figures.value("claims_refused_total") == 1
    assert figures.value("heartbeats_failed_total") == 1
    assert figures.value("leases_reclaimed_total") == 1
    assert figures.value("wake_ups_total", queue="fetcher", outcome="lost") == 1
    assert figures.value("wake_ups_repeated_total", queue="fetcher") == 1
    assert figures.value("events_total", outcome="lost") == 1


def test_a_census_sets_every_gauge(figures: Figures) -> None:
    """A status or queue of which there is none any more goes back to 0."""
    figures.observer.ledger_counted(LedgerCensus({"queued": 3}, {"planner": 2}, {"planner": 7.5}))
    assert figures.value("steps_due_seconds", queue="planner") == 7.5
    figures.observer.ledger_counted(LedgerCensus({"completed": 3}))
    assert [figures.value("runs", status=s) for s in RunStatus if s != "completed"] == [0] * (len(RunStatus) - 1)
    assert [figures.value("steps_due", queue=q) for q in QUEUES] == [0] * len(QUEUES)
    figures.observer.broker_counted(BrokerCensus("redis", {"planner": 4}, 0.5, True))
    figures.observer.broker_counted(BrokerCensus("redis", {"planner": 1}))
    assert figures.value("queue_length", queue="planner") == 1
    assert figures.value("broker_memory_ratio", broker="redis") == 0.5
    assert figures.value("broker_evicts", broker="redis") == 1


def test_requests_fetches_and_tokens(figures: Figures) -> None:
    """Requests by route, fetches by tier, tokens by phase and direction."""
    figures.observer.answered(Answered("/api/v1/documents/{document_id}", "GET", 404, 0.02))
    figures.observer.streams(3)
    for facts in ({"status": 200}, {"status": 404}, {"refusal": "robots_disallowed"}):
        now = datetime.now(UTC)
        figures.observer.fetched(
            Fetch(fetch_id="fch_1", source_id=None, requested_url="u", tier="static", at=now, **facts)
        )
    figures.observer.asked(Phase.WRITER, "stop", TokenUsage(input=100, output=20, cached=60))
    figures.observer.asked(Phase.WRITER, "failed", None)
    route = {"route": "/api/v1/documents/{document_id}", "method": "GET"}
    assert figures.value("http_requests_total", status="404", **route) == 1
    assert figures.value("http_request_seconds_count", **route) == 1
    assert figures.value("event_streams") == 3
    for outcome in ("fetched", "http_4xx", "robots_disallowed"):
        assert figures.value("fetches_total", tier="static", outcome=outcome) == 1
    assert figures.value("model_tokens_total", phase="writer", direction="cached") == 60
    assert figures.value("model_calls_total", phase="writer", outcome="failed") == 1


def test_the_gateway_counts_by_route_and_shows_it() -> None:
    """A path counts under its template, one that there is not under none, whatever method it was asked with."""
    figures = Figures()
    deps = replace(fake_deps(Desk()), observer=figures.observer, exposition=figures.exposition)
    http = create_app(deps).test_client()
    for run_id in ("run_a", "run_b"):
        assert http.get(f"/api/v1/research-runs/{run_id}").status_code == 404
    assert http.open("/wp-login.php", method="PROPFIND").status_code == 404
    assert http.get("/healthz", headers={"Host": "evil.example"}).status_code == 403
    answer = http.get("/metrics")
    assert answer.content_type == figures.exposition.media_type
    assert b"leadline_event_streams 0.0" in answer.data
    route = {"route": "/api/v1/research-runs/{run_id}", "method": "GET"}
    assert figures.value("http_requests_total", status="404", **route) == 2
    assert figures.value("http_requests_total", status="404", route="none", method="none") == 1
    assert figures.value("http_requests_total", status="403", route="/healthz", method="GET") == 1


@pytest.fixture
def server(figures: Figures) -> Iterator[MetricsServer]:
    """A server on a free port of the loopback address."""
    made = MetricsServer(figures.exposition, "127.0.0.1", 0)
    yield made
    made.close()


def test_figures_are_shown_over_http(figures: Figures, server: MetricsServer) -> None:
    """A scrape parses, names version and service, and sees what was counted just now; other paths are not there."""
    figures.observer.worked(StepKind.PLAN, 0.2)
    address = f"http://127.0.0.1:{server.port}"
    answer = requests.get(f"{address}/metrics", timeout=5)
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    samples = [s for f in text_string_to_metric_families(answer.text) for s in f.samples]
    info = next(s for s in samples if s.name == "leadline_process_info")
    assert info.labels == {"service": "fetcher", "version": "1.2.3"}
    assert next(s.value for s in samples if s.name == "leadline_step_seconds_count") == 1
    assert any(s.name == "process_resident_memory_bytes" for s in samples)
    assert requests.get(f"{address}/healthz", timeout=5).json() == {"status": "ok"}
    assert requests.get(f"{address}/other", timeout=5).status_code == 404


def test_a_process_that_does_nothing_says_so(figures: Figures) -> None:
    """A minute without a beat turns the health to 503, the next beat turns it back; the figures stay."""
    now = [100.0]
    pulse = Pulse(clock=lambda: now[0])
    server = MetricsServer(figures.exposition, "127.0.0.1", 0, pulse.alive)
    try:
        healthz = f"http://127.0.0.1:{server.port}/healthz"
        assert fault(healthz) is None
        now[0] += 61
        assert fault(healthz) == f'{healthz} answers 503: {{"status": "silent"}}'
        assert requests.get(healthz.replace("healthz", "metrics"), timeout=5).ok
        pulse.beat()
        assert fault(healthz) is None
    finally:
        server.close()
    assert "does not answer" in str(fault(healthz))


def test_two_processes_do_not_share_figures() -> None:
    """Each table has a registry of its own."""
    one, two = Figures(), Figures()
    one.observer.claim_refused()
    assert (one.value("claims_refused_total"), two.value("claims_refused_total")) == (1, 0)


def test_a_free_port_is_told_where_prometheus_looks(tmp_path: Path) -> None:
    """The file has the format of file-based discovery; withdrawn ones and those of dead processes go."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(10)
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    left = folder / f"{ended.pid}.json"
    left.write_text(json.dumps([{"targets": ["127.0.0.1:1"], "labels": {"service": "planner"}}]))
    assert announced(tmp_path) == {}
    file = announce(tmp_path, "fetcher", "::1", 4711)
    assert json.loads(file.read_text()) == [{"targets": ["[::1]:4711"], "labels": {"service": "fetcher"}}]
    assert announced(tmp_path) == {f"fetcher-{os.getpid()}": "[::1]:4711"}
    assert list(folder.iterdir()) == [file]
    withdraw(file)
    assert announced(tmp_path) == {}
