"""The composition root: turns settings into live connections and adapters. Imported by entry points only."""

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from celery import Celery
from pydantic import SecretStr
from redis import Redis

from shared.adapters.cpu import ProcessCpu
from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.job_providers import JobsOnDemand
from shared.adapters.model.providers import Models, Records, Switchboard, no_model
from shared.adapters.reader.onnx import OnnxReader
from shared.config.prices import load_prices
from shared.config.settings import Settings, load_settings
from shared.db.census import PostgresCensus
from shared.db.content import PostgresBlobs, PostgresSnapshots
from shared.db.controls import PostgresControls
from shared.db.engine import Transactions, open_engine
from shared.db.index import PostgresDocumentIndex
from shared.db.keys import PostgresKeys
from shared.db.ledger import LedgerLimits, PostgresLedger
from shared.db.managed_jobs import PostgresJobs
from shared.db.materials import PostgresMaterials
from shared.db.model_calls import PostgresCallBook
from shared.db.presence import Presence
from shared.db.read_model import PostgresReadModel
from shared.db.receipts import PostgresReceipts
from shared.db.schema import wait_for_schema
from shared.db.services import PostgresServiceStates
from shared.db.sites import PostgresRobots, PostgresSites
from shared.db.sweep import PostgresSweep
from shared.domain.engines import MANAGED
from shared.domain.errors import LeadlineError
from shared.domain.ids import StepId
from shared.domain.kinds import KINDS
from shared.domain.retries import Caps
from shared.domain.states import StepKind
from shared.events.watch import RedisWatch
from shared.observability.figures import Figures, open_figures, serve_figures
from shared.observability.logging import set_up_logging
from shared.observability.pulse import Pulse
from shared.ports.cpu import Cpu
from shared.ports.managed import Managed
from shared.ports.model import ModelOf
from shared.ports.observer import Observer
from shared.ports.reader import Reader
from shared.queues.broker_census import count_broker, count_waiting
from shared.queues.celery_app import WorkerLimits, build_app
from shared.queues.census import Census
from shared.queues.runner import Handler, Heartbeat, Runner, deadline_of
from shared.queues.signals import BrokerSignals
from shared.queues.sweeper import Sweeper
from shared.queues.turns import TurnedCpu, Turns
from shared.queues.worker import Worker, serve, worker_name

DAY_S = 86_400.0
HEARTBEATS_PER_LEASE = 4
PATIENCE_S = 20.0
PATIENCE_OF_REQUESTS_S = 2.0
"""Somebody waits for the answer of a request: better to say soon that the database is away."""


class SettingMissing(LeadlineError):
    """A setting that this process cannot do without."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not set: start everything with `leadline up`, or name the server to use.")


@dataclass(frozen=True, slots=True)
class Storage:
    """Everything that stands on the database."""

    transactions: Transactions
    ledger: PostgresLedger
    receipts: PostgresReceipts
    sites: PostgresSites
    robots: PostgresRobots
    services: PostgresServiceStates
    materials: PostgresMaterials
    snapshots: PostgresSnapshots
    blobs: PostgresBlobs
    index: PostgresDocumentIndex
    controls: PostgresControls
    reads: PostgresReadModel
    sweep: PostgresSweep
    census: PostgresCensus


@dataclass(frozen=True, slots=True)
class Broker:
    """Everything that stands on the broker and on Redis."""

    app: Celery
    redis: Redis
    signals: BrokerSignals


@dataclass(frozen=True, slots=True)
class WorkerParts:
    """What a worker's handlers may be given."""

    settings: Settings
    storage: Storage
    cpu: Cpu
    model_of: ModelOf
    managed: Managed
    reader: Reader | None


@dataclass(frozen=True, slots=True)
class GatewayParts:
    """What the gateway is made of."""

    storage: Storage
    signals: BrokerSignals
    watch: RedisWatch
    keys: PostgresKeys
    figures: Figures


def open_reader(settings: Settings) -> Reader | None:
    """Return the local reader, unless it is turned off; it is loaded where and when it first reads."""
    return OnnxReader() if settings.reader == "on" else None


def open_storage(settings: Settings, pool_size: int, patience_s: float = PATIENCE_S) -> Storage:
    """Connect to the database, lazily; a call is repeated for ``patience_s`` while the server is away."""
    if settings.database_url is None:
        raise SettingMissing("LEADLINE_DATABASE_URL")
    engine = open_engine(settings.database_url.get_secret_value(), pool_size=pool_size)
    transactions = Transactions(engine, patience_s=patience_s)
    caps = Caps(settings.max_errors, settings.max_interruptions)
    limits = LedgerLimits(settings.lease_seconds, settings.max_running_runs, caps)
    return Storage(
        transactions=transactions,
        ledger=PostgresLedger(transactions, limits),
        receipts=PostgresReceipts(transactions),
        sites=PostgresSites(transactions, Presence(engine)),
        robots=PostgresRobots(transactions),
        services=PostgresServiceStates(transactions),
        materials=PostgresMaterials(transactions),
        snapshots=PostgresSnapshots(transactions),
        blobs=PostgresBlobs(transactions),
        index=PostgresDocumentIndex(transactions),
        controls=PostgresControls(
            transactions,
            web_search=bool(settings.search_providers()),
            max_running_runs=settings.max_running_runs,
            straggler_wait_s=settings.straggler_wait_seconds,
        ),
        reads=PostgresReadModel(transactions),
        sweep=PostgresSweep(transactions, limits, settings.wait_days * DAY_S),
        census=PostgresCensus(transactions),
    )


def open_broker(settings: Settings, name: str, observer: Observer) -> Broker:
    """Connect to the broker and to Redis, lazily."""
    if settings.broker_url is None:
        raise SettingMissing("LEADLINE_BROKER_URL")
    if settings.redis_url is None:
        raise SettingMissing("LEADLINE_REDIS_URL")
    app = build_app(name, settings.broker_url.get_secret_value())
    redis = Redis.from_url(
        settings.redis_url.get_secret_value(),
        socket_timeout=5.0,
        socket_connect_timeout=2.0,
        socket_keepalive=True,
        health_check_interval=10,
    )
    return Broker(app, redis, BrokerSignals(app, redis, observer))


def gateway_parts(settings: Settings) -> GatewayParts:
    """Return what the gateway is made of."""
    set_up_logging(settings.log_level)
    figures = open_figures("gateway")
    broker = open_broker(settings, "gateway", figures.observer)
    storage = open_storage(settings, pool_size=16, patience_s=PATIENCE_OF_REQUESTS_S)
    keys = PostgresKeys(storage.transactions)
    return GatewayParts(storage, broker.signals, RedisWatch(broker.redis), keys, figures)


def open_keys(settings: Settings) -> PostgresKeys:
    """Return the key ring of the database of the settings."""
    return PostgresKeys(open_storage(settings, pool_size=1).transactions)


def open_models(
    settings: Settings, storage: Storage, broker: Broker, observer: Observer
) -> tuple[ModelOf, Callable[[], None]]:
    """Return the models that steps may ask, and the function that frees what they hold; nothing is loaded yet."""
    names = settings.model_names()
    if not names:
        return no_model, lambda: None
    switchboard = Switchboard(model_endpoints(settings))
    book = PostgresCallBook(storage.transactions, load_prices(settings), broker.signals.publish)
    records = Records(storage.receipts, book, observer)
    models = Models(switchboard, names, records, strict=settings.model_strict, patience=settings.model_patience)
    return models.of, switchboard.close


def open_jobs(settings: Settings, storage: Storage, broker: Broker) -> tuple[Managed, Callable[[], None]]:
    """Return what jobs at providers need, and the function that frees what they hold; nothing is loaded yet."""
    endpoints = model_endpoints(settings)
    opened = {
        MANAGED[engine]: JobsOnDemand(MANAGED[engine], endpoints[MANAGED[engine]], agent)
        for engine, agent in settings.managed_engines().items()
    }
    publish = broker.signals.publish
    book = PostgresCallBook(storage.transactions, load_prices(settings), publish)

    def close() -> None:
        for provider in opened.values():
            provider.close()

    return Managed(PostgresJobs(storage.transactions, publish), book, opened), close


def model_endpoints(settings: Settings) -> dict[str, Endpoint]:
    """Return where each provider's models are asked."""

    def told(key: SecretStr | None) -> str | None:
        return key.get_secret_value() if key is not None else None

    return {
        "openai": Endpoint(settings.openai_base_url, told(settings.openai_api_key)),
        "anthropic": Endpoint(
            settings.anthropic_base_url, told(settings.anthropic_api_key), "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
        ),
        "google": Endpoint(
            settings.google_base_url, told(settings.google_api_key), "GEMINI_API_KEY", "GEMINI_BASE_URL"
        ),
        "ollama": Endpoint(settings.ollama_base_url, None, "OPENAI_API_KEY", "OLLAMA_BASE_URL"),
    }


def run_worker(
    settings: Settings,
    queue: str,
    handlers: Mapping[StepKind, Handler],
    make_deps: Callable[[WorkerParts], Any],
) -> None:
    """Run a worker until it is told to stop: it is named after ``queue`` and serves those of its kinds of step.

    As long as the database lacks a migration that this code needs, it takes nothing, and leaves the work to others.
    """
    set_up_logging(settings.log_level)
    pulse = Pulse()
    figures = serve_figures(settings, queue, pulse.alive)
    observer = figures.observer
    storage, broker = open_storage(settings, pool_size=settings.worker_threads), open_broker(settings, queue, observer)
    turns = Turns(settings.cpu_processes) if all(KINDS[kind].in_turn for kind in handlers) else None
    cpu: Cpu = ProcessCpu(settings.cpu_processes)
    cpu = TurnedCpu(cpu, turns) if turns is not None else cpu
    heartbeat = Heartbeat(
        storage.ledger,
        settings.lease_seconds / HEARTBEATS_PER_LEASE,
        observer=observer,
        deadline_s=partial(deadline_of, patience=settings.model_patience),
    )
    runner = Runner(storage.ledger, broker.signals, heartbeat, handlers, worker_name(queue), observer)
    model_of, close_models = open_models(settings, storage, broker, observer)
    managed, close_jobs = open_jobs(settings, storage, broker)
    deps = make_deps(WorkerParts(settings, storage, cpu, model_of, managed, open_reader(settings)))

    def close() -> None:
        heartbeat.close()
        cpu.close()
        close_models()
        close_jobs()
        broker.signals.close()
        storage.transactions.close()
        figures.close()

    queues = tuple(dict.fromkeys(KINDS[kind].queue for kind in handlers))

    def run(step_id: StepId) -> bool:
        return runner.run(step_id, deps) if turns is None else runner.run_in_turn(step_id, deps, turns)

    stop = turns.stop if turns is not None else lambda: None
    worker = Worker(queue, queues, run, runner.hand_back_all, close, pulse.beat, stop)
    wait_for_schema(storage.reads.ready, threading.Event())
    serve(broker.app, worker, WorkerLimits(settings.worker_threads, settings.stop_grace_seconds), settings.log_level)


def open_sweeper(settings: Settings, stop: threading.Event) -> tuple[Sweeper, Callable[[], None]]:
    """Return a sweeper and the function that frees what it holds, once the database has the schema, or at ``stop``."""
    set_up_logging(settings.log_level)
    figures = serve_figures(settings, "sweeper")
    storage, broker = open_storage(settings, pool_size=2), open_broker(settings, "sweeper", figures.observer)
    census = Census(storage.census.count, lambda: count_broker(broker.app), figures.observer)
    census.start()

    def close() -> None:
        census.close()
        broker.signals.close()
        storage.transactions.close()
        figures.close()

    wait_for_schema(storage.reads.ready, stop)
    waiting = partial(count_waiting, broker.app)
    return Sweeper(storage.sweep, broker.signals, waiting, settings.sweep_seconds, figures.observer), close


Handlers = Mapping[StepKind, Handler]


def worker_main(
    queue: str, handlers: Handlers | Callable[[Settings], Handlers], make_deps: Callable[[WorkerParts], Any]
) -> None:
    """Run a worker with the settings of the environment; exit with a sentence when one is missing.

    Which handlers there are may depend on the settings.
    """
    try:
        settings = load_settings()
        run_worker(settings, queue, handlers if isinstance(handlers, Mapping) else handlers(settings), make_deps)
    except LeadlineError as error:
        sys.exit(f"leadline {queue}: {error}")
