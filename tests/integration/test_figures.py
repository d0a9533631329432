"""What an operator sees of a ledger, a broker and a runner: counted from the real ones."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
import redis
from celery import Celery
from prometheus_client.parser import text_string_to_metric_families

from infra.standalone.system import free_port
from shared.contracts.events import Event
from shared.db.census import PostgresCensus
from shared.db.engine import Transactions
from shared.domain.errors import RateLimited, Transient
from shared.domain.ids import StepId
from shared.domain.kinds import QUEUES
from shared.domain.states import StepKind
from shared.observability.metrics import MetricsObserver, MetricsText, build_metrics
from shared.ports.ledger import Lease, Outcome, WakeUp
from shared.ports.observer import BrokerCensus, LedgerCensus
from shared.queues.broker_census import BrokerSilent, count_broker
from shared.queues.celery_app import build_app
from shared.queues.census import Census
from shared.queues.runner import Heartbeat, Runner
from shared.queues.signals import BrokerSignals
from shared.queues.sweeper import Sweeper
from tests.support.servers import valkey_server
from tests.support.stack import wait_until
from tests.support.stage import Stage, plan


@dataclass
class Figures:
    """Figures of a process, and what a scrape of them says."""

    observer: MetricsObserver = field(default_factory=lambda: MetricsObserver(build_metrics("test", "0")))

    def value(self, name: str, **labels: str) -> float:
        """Return a sample, 0 when there is none yet."""
        text = MetricsText(self.observer.metrics).text().decode()
        samples = [s for family in text_string_to_metric_families(text) for s in family.samples]
        return sum(s.value for s in samples if s.name == f"leadline_{name}" and s.labels == labels)


@dataclass
class Listening:
    """Signals that reach an observer and go nowhere."""

    figures: Figures

    def wake(self, wake_ups: Sequence[WakeUp]) -> int:
        """Send nothing."""
        return len(wake_ups)

    def publish(self, events: Sequence[Event]) -> None:
        """Count."""
        self.figures.observer.committed(events)


@pytest.fixture
def figures() -> Figures:
    """Figures of the test's own."""
    return Figures()


@pytest.fixture
def stage(transactions: Transactions) -> Stage:
    """A ledger with a lease of a few seconds."""
    return Stage(transactions)


def shift(stage: Stage, step_id: StepId, column: str, seconds: int) -> None:
    """Set a time of a step to so many seconds from now."""
    query = f"update steps set {column} = now() + make_interval(secs => :seconds) where id = :id returning id"
    assert stage.scalar(query, seconds=seconds, id=step_id) == step_id


def test_the_ledger_is_counted(stage: Stage, transactions: Transactions) -> None:
    """Runs by status; steps that are due by queue, with how long the oldest waits; what is not due is left out."""
    census = PostgresCensus(transactions)
    assert census.count() == LedgerCensus()
    stage.planned()
    _, created = stage.create()
    counted = census.count()
    assert counted.runs["awaiting_plan_approval"] == 1
    assert counted.runs["planning"] == 1
    assert counted.due["planner"] == 1
    shift(stage, created.wake_ups[0].step_id, "not_before", 3600)
    assert "planner" not in census.count().due
    shift(stage, created.wake_ups[0].step_id, "not_before", -90)
    assert 89 < census.count().waited_s["planner"] < 120
    stage.claim(created.wake_ups[0].step_id)
    assert "planner" not in census.count().due


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    """A Valkey of the test's own."""
    with valkey_server(tmp_path) as url:
        yield url


def test_the_broker_is_counted(broker: str) -> None:
    """Messages by queue under our prefix, memory in use, and whether keys would be dropped."""
    app = build_app("test", broker)
    signals = BrokerSignals(app, redis.Redis.from_url(broker))
    signals.wake([WakeUp(StepId(f"stp_{n}"), StepKind.PARSE) for n in range(3)])
    signals.close()
    counted = count_broker(app)
    assert counted.name == "redis"
    assert counted.queues == {**dict.fromkeys(QUEUES, 0), "extractor": 3}
    assert counted.memory_ratio is not None
    assert 0 < counted.memory_ratio < 1
    assert counted.evicts is False
    with redis.Redis.from_url(broker) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
    assert count_broker(app).evicts is True
    app.close()


def test_a_broker_that_is_away_is_said_so_in_a_sentence() -> None:
    """And costs the figures about it only."""
    app = build_app("test", f"redis://127.0.0.1:{free_port()}/0")
    with pytest.raises(BrokerSilent, match="does not say how it stands"):
        count_broker(app)
    app.close()


def test_a_census_goes_on_when_one_side_is_silent(figures: Figures) -> None:
    """The other side is counted, again and again, and closing ends it."""
    taken: list[int] = []

    def ledger() -> LedgerCensus:
        taken.append(1)
        return LedgerCensus({"queued": len(taken)})

    def broker() -> BrokerCensus:
        raise BrokerSilent("gone")

    census = Census(ledger, broker, figures.observer, every_s=0.01)
    census.start()
    wait_until(lambda: figures.value("runs", status="queued") >= 3, "three rounds")
    census.close()
    before = len(taken)
    time.sleep(0.05)
    assert len(taken) == before


def test_sends_are_counted_by_whether_they_worked(broker: str, figures: Figures, stage: Stage) -> None:
    """With the broker there they are sent, without it lost; the events of a commit count either way."""
    _, created = stage.create()
    for url, wake, event in ((broker, "sent", "published"), (f"redis://127.0.0.1:{free_port()}/0", "lost", "lost")):
        app, client = build_app("test", url), redis.Redis.from_url(url)
        signals = BrokerSignals(app, client, figures.observer)
        signals.publish(created.events)
        signals.wake(created.wake_ups)
        wait_until(_counted(figures, "wake_ups_total", queue="planner", outcome=wake), f"a wake-up is {wake}")
        signals.close(10)
        assert figures.value("events_total", outcome=event) == len(created.events)
        client.close()
        app.close()
    assert figures.value("runs_accepted_total", kind="research") == 2


def _counted(figures: Figures, name: str, **labels: str) -> Callable[[], bool]:
    return lambda: figures.value(name, **labels) > 0


@pytest.fixture
def heartbeat(stage: Stage) -> Iterator[Heartbeat]:
    """A heartbeat that never has to beat."""
    made = Heartbeat(stage.ledger, 60.0)
    yield made
    made.close()


def test_what_becomes_of_tries_is_counted(stage: Stage, figures: Figures, heartbeat: Heartbeat) -> None:
    """Failed and tried again, done, and a wake-up that comes once more."""
    answers: list[Outcome | Exception] = [Transient("busy", "Not now."), Outcome("planned", plan=plan())]

    def handler(_: object, lease: Lease) -> Outcome:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    _, created = stage.create()
    step = created.wake_ups[0].step_id
    signals = Listening(figures)
    runner = Runner(stage.ledger, signals, heartbeat, {StepKind.PLAN: handler}, "w", figures.observer)
    assert runner.run(step, None)
    shift(stage, step, "not_before", -90)
    assert runner.run(step, None)
    assert not runner.run(step, None)
    assert figures.value("steps_started_total", kind="plan") == 2
    assert figures.value("steps_ended_total", kind="plan", outcome="failed") == 1
    assert figures.value("steps_ended_total", kind="plan", outcome="done") == 1
    assert figures.value("claims_refused_total") == 1
    assert figures.value("step_seconds_count", kind="plan") == 2


def test_a_lost_lease_is_counted_on_both_sides(
    transactions: Transactions, figures: Figures, heartbeat: Heartbeat
) -> None:
    """The sweeper ends the try and wakes again; the result that comes after is refused."""
    stage = Stage(transactions, lease_s=0.05)
    _, created = stage.create()
    step = created.wake_ups[0].step_id
    sweeper = Sweeper(stage.sweep, Listening(figures), dict, 1.0, figures.observer)

    def slow(_: object, lease: Lease) -> Outcome:
        wait_until(lambda: sweeper.look().reclaimed, "the lease runs out")
        stage.claim(step, "another")
        return Outcome("planned", plan=plan())

    Runner(stage.ledger, Listening(figures), heartbeat, {StepKind.PLAN: slow}, "w", figures.observer).run(step, None)
    assert figures.value("leases_reclaimed_total") == 1
    assert figures.value("steps_ended_total", kind="plan", outcome="interrupted") == 1
    assert figures.value("steps_ended_total", kind="plan", outcome="refused") == 1


def test_a_wake_up_that_is_sent_again_is_counted(stage: Stage, figures: Figures) -> None:
    """The first of a step that was put off is not; one for a step that was due at once is, and so is every other."""
    _, created = stage.create()
    step = created.wake_ups[0].step_id
    sweeper = Sweeper(stage.sweep, Listening(figures), dict, 1.0, figures.observer)
    assert sweeper.look().woken == 0
    for repeated in (1, 2):
        shift(stage, step, "not_before", -60)
        shift(stage, step, "wake_at", -1)
        assert sweeper.look().woken == 1
        assert figures.value("wake_ups_repeated_total", queue="planner") == repeated
    stage.ledger.fail(stage.claim(step), RateLimited("busy", "Not now.", 60.0))
    stage.rows("update steps set not_before = :t, wake_at = :t where id = :i returning id", t=datetime.now(UTC), i=step)
    assert sweeper.look().woken == 1
    assert figures.value("wake_ups_repeated_total", queue="planner") == 2


def test_steps_handed_back_are_counted(stage: Stage, figures: Figures, heartbeat: Heartbeat) -> None:
    """A worker that stops gives back what it holds."""
    _, created = stage.create()
    heartbeat.hold(stage.claim(created.wake_ups[0].step_id))
    Runner(stage.ledger, Listening(figures), heartbeat, {}, "w", figures.observer).hand_back_all()
    assert figures.value("steps_ended_total", kind="plan", outcome="handed_back") == 1


def test_the_application_of_a_monitor_has_our_prefix() -> None:
    """Flower asks for its keys by the application's own options."""
    app: Celery = build_app("flower", "redis://127.0.0.1:1/0")
    assert app.conf.broker_transport_options["global_keyprefix"] == "leadline:"
    app.close()
