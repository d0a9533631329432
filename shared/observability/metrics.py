"""Every figure that a process keeps about itself, in one table, and the observer that keeps them.

Names begin with ``leadline_``; counters end with ``_total``. Labels take few values: kinds, outcomes, statuses, queues,
route templates. Never an id, a URL or a text. Each process has a registry of its own, made by `build_metrics`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_type_hints

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from shared.contracts.events import Event
from shared.contracts.evidence import Fetch
from shared.domain.kinds import QUEUES
from shared.domain.phases import Phase
from shared.domain.states import FINAL_RUN, RunStatus, StepKind
from shared.ports.model import TokenUsage
from shared.ports.observer import Answered, BrokerCensus, LedgerCensus

PREFIX = "leadline_"
HTTP_OK_CLASS = 2
STEP_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 120.0, 180.0)
REQUEST_SECONDS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True, slots=True)
class Row:
    """What a figure says, by which labels it is told apart, and the upper bounds of a histogram's buckets."""

    text: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    def options(self) -> dict[str, Any]:
        """Return what only some kinds of figure take."""
        return {"buckets": self.buckets} if self.buckets else {}


@dataclass(frozen=True, slots=True)
class Metrics:
    """The table: each field but the first is a figure called ``leadline_`` and its own name."""

    registry: CollectorRegistry
    process: Annotated[Info, Row("The version of the program and the service that this process is.")]

    runs_accepted: Annotated[Counter, Row("Runs that were accepted.", ("kind",))]
    runs_ended: Annotated[Counter, Row("Runs that reached a final status.", ("status",))]
    runs: Annotated[Gauge, Row("Runs, counted by the sweeper.", ("status",))]

    steps_started: Annotated[Counter, Row("Tries of steps that were begun.", ("kind",))]
    steps_ended: Annotated[Counter, Row("Tries of steps that ended.", ("kind", "outcome"))]
    step_seconds: Annotated[Histogram, Row("Seconds that a try was worked on.", ("kind",), STEP_SECONDS)]
    steps_due: Annotated[Gauge, Row("Steps that wait for a worker, counted by the sweeper.", ("queue",))]
    steps_due_seconds: Annotated[Gauge, Row("How long the step that waits longest has been due.", ("queue",))]
    claims_refused: Annotated[Counter, Row("Wake-ups that came late, twice or for nothing.")]
    heartbeats_failed: Annotated[Counter, Row("Leases not extended because the database did not answer.")]
    leases_reclaimed: Annotated[Counter, Row("Tries that the sweeper ended because their lease had run out.")]

    wake_ups: Annotated[Counter, Row("Wake-ups that were sent or lost.", ("queue", "outcome"))]
    wake_ups_repeated: Annotated[Counter, Row("Wake-ups that the sweeper sent once more.", ("queue",))]
    events: Annotated[Counter, Row("Events that were published on Redis or lost there.", ("outcome",))]
    queue_length: Annotated[Gauge, Row("Messages that wait in the broker, counted by the sweeper.", ("queue",))]
    broker_memory_ratio: Annotated[Gauge, Row("Memory in use as a part of what may be used.", ("broker",))]
    broker_evicts: Annotated[Gauge, Row("1 when keys are dropped for want of memory: wake-ups get lost.", ("broker",))]

    fetches: Annotated[Counter, Row("Entries of the fetch log.", ("tier", "outcome"))]
    model_calls: Annotated[Counter, Row("Calls at model providers.", ("phase", "outcome"))]
    model_tokens: Annotated[Counter, Row("Tokens as the providers count them.", ("phase", "direction"))]

    http_requests: Annotated[Counter, Row("HTTP requests that were answered.", ("route", "method", "status"))]
    http_request_seconds: Annotated[
        Histogram, Row("Seconds from a request to the beginning of its answer.", ("route", "method"), REQUEST_SECONDS)
    ]
    event_streams: Annotated[Gauge, Row("Clients that follow the events of a run now.")]


def table() -> dict[str, tuple[type[Any], Row]]:
    """Return the rows of the table with the kind of each figure, by the name of the figure without the prefix."""
    hints = get_type_hints(Metrics, include_extras=True)
    return {name: (get_args(hint)[0], get_args(hint)[1]) for name, hint in hints.items() if get_args(hint)}


def build_metrics(service: str, version: str) -> Metrics:
    """Return the figures of a process in a registry of their own, with what the system knows about the process."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    made = {
        name: kind(PREFIX + name, row.text, row.labels, registry=registry, **row.options())
        for name, (kind, row) in table().items()
    }
    metrics = Metrics(registry, **made)
    metrics.process.info({"service": service, "version": version})
    return metrics


@dataclass(frozen=True, slots=True)
class MetricsObserver:
    """See `shared.ports.observer.Observer`: counts in the table."""

    metrics: Metrics

    def committed(self, events: Sequence[Event]) -> None:
        """Count runs and tries by the events that tell of them."""
        for event in events:
            count_event(self.metrics, event)

    def claim_refused(self) -> None:
        """Count it."""
        self.metrics.claims_refused.inc()

    def worked(self, kind: StepKind, seconds: float) -> None:
        """Put it into the histogram of its kind."""
        self.metrics.step_seconds.labels(kind).observe(seconds)

    def result_refused(self, kind: StepKind) -> None:
        """Count it as an end of a try that the ledger does not have."""
        self.metrics.steps_ended.labels(kind, "refused").inc()

    def heartbeat_failed(self) -> None:
        """Count it."""
        self.metrics.heartbeats_failed.inc()

    def wake_up(self, queue: str, *, sent: bool) -> None:
        """Count it."""
        self.metrics.wake_ups.labels(queue, "sent" if sent else "lost").inc()

    def published(self, *, sent: bool) -> None:
        """Count it."""
        self.metrics.events.labels("published" if sent else "lost").inc()

    def sent_again(self, queue: str) -> None:
        """Count it."""
        self.metrics.wake_ups_repeated.labels(queue).inc()

    def reclaimed(self) -> None:
        """Count it."""
        self.metrics.leases_reclaimed.inc()

    def ledger_counted(self, census: LedgerCensus) -> None:
        """Set the gauges, those of what there is none of to 0."""
        for status in RunStatus:
            self.metrics.runs.labels(status).set(census.runs.get(status, 0))
        for queue in QUEUES:
            self.metrics.steps_due.labels(queue).set(census.due.get(queue, 0))
            self.metrics.steps_due_seconds.labels(queue).set(census.waited_s.get(queue, 0.0))

    def broker_counted(self, census: BrokerCensus) -> None:
        """Set the gauges of what is known."""
        for queue, length in census.queues.items():
            self.metrics.queue_length.labels(queue).set(length)
        if census.memory_ratio is not None:
            self.metrics.broker_memory_ratio.labels(census.name).set(census.memory_ratio)
        if census.evicts is not None:
            self.metrics.broker_evicts.labels(census.name).set(census.evicts)

    def answered(self, answered: Answered) -> None:
        """Count the request and put its time into the histogram of its route."""
        self.metrics.http_requests.labels(answered.route, answered.method, str(answered.status)).inc()
        self.metrics.http_request_seconds.labels(answered.route, answered.method).observe(answered.seconds)

    def streams(self, count: int) -> None:
        """Set the gauge."""
        self.metrics.event_streams.set(count)

    def fetched(self, fetch: Fetch) -> None:
        """Count it by what came of it."""
        self.metrics.fetches.labels(fetch.tier, fetch_outcome(fetch)).inc()

    def asked(self, phase: Phase, outcome: str, usage: TokenUsage | None) -> None:
        """Count the call and its tokens; ``cached`` ones are a part of ``input``."""
        self.metrics.model_calls.labels(phase, outcome).inc()
        if usage is not None:
            for direction in ("input", "output", "cached"):
                self.metrics.model_tokens.labels(phase, direction).inc(getattr(usage, direction))


@dataclass(frozen=True, slots=True)
class MetricsText:
    """See `shared.ports.observer.Exposition`: the table in the text format of Prometheus."""

    metrics: Metrics
    media_type: str = CONTENT_TYPE_PLAIN_0_0_4

    def text(self) -> bytes:
        """Return all figures."""
        return generate_latest(self.metrics.registry)


def fetch_outcome(fetch: Fetch) -> str:
    """Return fetched, the class of another status such as http_4xx, or the code of the refusal, one of a fixed set."""
    if fetch.refusal is not None:
        return fetch.refusal
    if fetch.status is None or fetch.status // 100 == HTTP_OK_CLASS:
        return "fetched"
    return f"http_{fetch.status // 100}xx"


def count_event(metrics: Metrics, event: Event) -> None:
    """Count what an event says about a run or a try."""
    said = event.payload
    if event.type == "run_created":
        metrics.runs_accepted.labels(said["kind"]).inc()
    elif event.type == "status_changed" and said["to"] in FINAL_RUN:
        metrics.runs_ended.labels(said["to"]).inc()
    elif event.type == "step_started":
        metrics.steps_started.labels(said["kind"]).inc()
    elif event.type == "step_finished":
        metrics.steps_ended.labels(said["kind"], "done").inc()
    elif event.type in ("step_retrying", "step_failed"):
        metrics.steps_ended.labels(said["kind"], said["outcome"]).inc()
