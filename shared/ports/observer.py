"""What the system tells about itself while it works: counts for an operator, never anything that a run depends on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shared.contracts.events import Event
from shared.contracts.evidence import Fetch
from shared.domain.phases import Phase
from shared.domain.states import StepKind
from shared.ports.model import TokenUsage


@dataclass(frozen=True, slots=True)
class Answered:
    """One HTTP request: the template of its route (never the path itself), method, status and seconds to the answer."""

    route: str
    method: str
    status: int
    seconds: float


@dataclass(frozen=True, slots=True)
class LedgerCensus:
    """How much there is of what in the ledger now: runs by status, due steps by queue.

    ``waited_s`` is how many seconds the step that waits longest in a queue has been due.
    """

    runs: Mapping[str, int] = field(default_factory=dict)
    due: Mapping[str, int] = field(default_factory=dict)
    waited_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrokerCensus:
    """How the broker stands now: messages by queue, and what it says of its memory where it may be asked.

    ``name`` is its kind, such as redis; ``memory_ratio`` is used over allowed memory; ``evicts`` tells whether it drops
    keys when that is full.
    """

    name: str
    queues: Mapping[str, int] = field(default_factory=dict)
    memory_ratio: float | None = None
    evicts: bool | None = None


class Observer(Protocol):
    """Told what happens in this process. Every method is quick, does no I/O and never raises."""

    def committed(self, events: Sequence[Event]) -> None:
        """Take the events of a transaction of this process that has committed."""
        ...

    def claim_refused(self) -> None:
        """Take that a wake-up came late, twice or for nothing."""
        ...

    def worked(self, kind: StepKind, seconds: float) -> None:
        """Take how long a handler worked on a step, whatever came of it."""
        ...

    def result_refused(self, kind: StepKind) -> None:
        """Take that a result came after its lease was lost."""
        ...

    def heartbeat_failed(self) -> None:
        """Take that a lease could not be extended because the database did not answer."""
        ...

    def wake_up(self, queue: str, *, sent: bool) -> None:
        """Take that a wake-up was sent, or lost."""
        ...

    def published(self, *, sent: bool) -> None:
        """Take that an event was published, or lost for those who listen now."""
        ...

    def sent_again(self, queue: str) -> None:
        """Take that the sweeper woke a step that had been woken for before."""
        ...

    def reclaimed(self) -> None:
        """Take that the sweeper ended a try whose lease had run out."""
        ...

    def ledger_counted(self, census: LedgerCensus) -> None:
        """Take what stands in the ledger."""
        ...

    def broker_counted(self, census: BrokerCensus) -> None:
        """Take how the broker stands."""
        ...

    def answered(self, answered: Answered) -> None:
        """Take an HTTP request that was answered."""
        ...

    def streams(self, count: int) -> None:
        """Take how many clients follow events now."""
        ...

    def fetched(self, fetch: Fetch) -> None:
        """Take an entry of the fetch log that has been recorded."""
        ...

    def asked(self, phase: Phase, outcome: str, usage: TokenUsage | None) -> None:
        """Take a call at a model's provider; ``outcome`` is one of a few words."""
        ...


class Unobserved:
    """Lets everything pass: an `Observer` for tests and tools."""

    def committed(self, events: Sequence[Event]) -> None:
        """Do nothing."""

    def claim_refused(self) -> None:
        """Do nothing."""

    def worked(self, kind: StepKind, seconds: float) -> None:
        """Do nothing."""

    def result_refused(self, kind: StepKind) -> None:
        """Do nothing."""

    def heartbeat_failed(self) -> None:
        """Do nothing."""

    def wake_up(self, queue: str, *, sent: bool) -> None:
        """Do nothing."""

    def published(self, *, sent: bool) -> None:
        """Do nothing."""

    def sent_again(self, queue: str) -> None:
        """Do nothing."""

    def reclaimed(self) -> None:
        """Do nothing."""

    def ledger_counted(self, census: LedgerCensus) -> None:
        """Do nothing."""

    def broker_counted(self, census: BrokerCensus) -> None:
        """Do nothing."""

    def answered(self, answered: Answered) -> None:
        """Do nothing."""

    def streams(self, count: int) -> None:
        """Do nothing."""

    def fetched(self, fetch: Fetch) -> None:
        """Do nothing."""

    def asked(self, phase: Phase, outcome: str, usage: TokenUsage | None) -> None:
        """Do nothing."""


UNOBSERVED = Unobserved()


class Exposition(Protocol):
    """The figures of this process as text, for whoever scrapes them."""

    @property
    def media_type(self) -> str:
        """The media type of the text."""
        ...

    def text(self) -> bytes:
        """Return all figures."""
        ...


@dataclass(frozen=True, slots=True)
class NoFigures:
    """An `Exposition` of nothing."""

    media_type: str = "text/plain; version=0.0.4; charset=utf-8"

    def text(self) -> bytes:
        """Return nothing."""
        return b""


NO_FIGURES = NoFigures()
