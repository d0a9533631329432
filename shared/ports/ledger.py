"""The ledger: the right to work on a step, and the one transaction that records what the work gave."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from shared.contracts.events import Event, NewEvent
from shared.contracts.evidence import Contradiction, Evidence, Fetch, Source
from shared.contracts.plan import Plan
from shared.contracts.report import Draft, Report, VerdictRow
from shared.contracts.snapshot import Parse
from shared.domain.ids import LeaseToken, OwnerId, RunId, StepId
from shared.domain.states import StepKind
from shared.domain.turns import Waiting


@dataclass(frozen=True, slots=True)
class Lease:
    """The time-limited right to finish a step.

    ``attempt`` counts from 1, whatever became of the tries before; ``epoch`` is the run's. After an error in the
    ``last_try`` the step has failed for good.
    """

    step_id: StepId
    run_id: RunId
    owner_id: OwnerId
    kind: StepKind
    token: LeaseToken
    attempt: int
    epoch: int
    key: str
    iteration: int
    subject: str
    inputs: Mapping[str, Any]
    last_try: bool = False


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A source with the search that found it; ``rank`` 0 is best, ``search_key`` the search's step key."""

    source: Source
    search_key: str
    rank: int


@dataclass(frozen=True, slots=True)
class DocumentUpdate:
    """What parsing made of an uploaded document."""

    document_id: str
    parse: Parse


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report rendered to a file; ``fmt`` is ``md``, ``html`` or ``bundle``."""

    fmt: str
    mime: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a handler gives back: rows to record, the step's small result, and a sentence for people."""

    summary: str
    result: Mapping[str, Any] = field(default_factory=dict)
    plan: Plan | None = None
    fetches: tuple[Fetch, ...] = ()
    found: tuple[FoundSource, ...] = ()
    sources: tuple[Source, ...] = ()
    """Sources whose row is to be replaced."""
    document: DocumentUpdate | None = None
    evidence: tuple[Evidence, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    drafts: tuple[Draft, ...] = ()
    verdicts: tuple[VerdictRow, ...] = ()
    report: Report | None = None
    files: tuple[ReportFile, ...] = ()
    events: tuple[NewEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class WakeUp:
    """A message worth sending: look at this step. ``again`` when one was sent before, in vain."""

    step_id: StepId
    kind: StepKind
    again: bool = False


@dataclass(frozen=True, slots=True)
class Committed:
    """What may be sent now that a transaction has committed; losing any of it does no harm."""

    wake_ups: tuple[WakeUp, ...] = ()
    events: tuple[Event, ...] = ()
    admit: OwnerId | None = None
    """An owner whose queued runs may start now."""


class Ledger(Protocol):
    """Lease a step, prove that the lease still lives, end it; every call is one transaction of its own."""

    def claim(self, step_id: StepId, kinds: Collection[StepKind], worker: str) -> tuple[Lease, Committed] | None:
        """Lease the step, or return None when it is done, taken, not due, or of a kind not in ``kinds``."""
        ...

    def waiting(self, kinds: Collection[StepKind]) -> tuple[Waiting, ...]:
        """Return the oldest step of these kinds that is due of each run: what might be claimed now."""
        ...

    def heartbeat(self, lease: Lease) -> bool:
        """Extend the lease; False when it is lost."""
        ...

    def commit(self, lease: Lease, outcome: Outcome) -> Committed | None:
        """Record the outcome and what follows from it; None when the lease was lost: nothing was recorded."""
        ...

    def fail(self, lease: Lease, error: Exception) -> Committed | None:
        """Record a failed try and decide whether to try again; None when the lease was lost."""
        ...

    def hand_back(self, lease: Lease) -> Committed | None:
        """Give the step back untried, for a worker that stops."""
        ...

    def admit(self, owner_id: OwnerId) -> Committed:
        """Start the owner's oldest queued runs as far as its limit allows."""
        ...


class Receipts(Protocol):
    """Proof that an external call was made, so that a try after a crash does not make it again."""

    def find(self, lease: Lease, request_hash: str) -> Mapping[str, Any] | None:
        """Return the kept answer to the request within this step and epoch."""
        ...

    def keep(self, lease: Lease, request_hash: str, kind: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer; the first one kept for a request stays."""
        ...
