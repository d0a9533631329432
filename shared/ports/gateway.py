"""What the gateway needs: writes that a person asks for, and the queries that answer people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.contracts.events import Event
from shared.contracts.evidence import Evidence, Fetch, Source
from shared.contracts.plan import Plan
from shared.contracts.report import Recheck, Report, Verification
from shared.contracts.runs import (
    ControlRequest,
    CreateRun,
    Document,
    DocumentPage,
    Ingest,
    Reverification,
    Run,
    RunPage,
    SourcePolicy,
    StepObject,
)
from shared.domain.ids import OwnerId, RunId
from shared.ports.ledger import Committed


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was sent."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class PlanEdit:
    """Another plan in place of the version that was seen; a policy replaces the run's, limits only those named."""

    expected_version: int
    plan: Plan
    policy: SourcePolicy | None = None
    budget: Mapping[str, float] | None = None


class Controls(Protocol):
    """What a person may do; each call is one transaction, and returns what may be sent after it."""

    def create_run(
        self, owner_id: OwnerId, request: CreateRun, key: str | None, engine: str, key_id: str | None = None
    ) -> tuple[RunId, Committed]:
        """Create a run, or return the one that this idempotency ``key`` made; ``key_id`` is the bearer key's.

        Raises `KeyReused`, `Conflict` and `Invalid`.
        """
        ...

    def act(self, owner_id: OwnerId, run_id: RunId, control: ControlRequest, key_id: str | None = None) -> Committed:
        """Carry out an action; raise `NotFound`, `IllegalAction`, `StaleVersion`, `Invalid`, `Conflict`."""
        ...

    def edit_plan(self, owner_id: OwnerId, run_id: RunId, edit: PlanEdit) -> Committed:
        """Replace the plan by a new version; raise `NotFound`, `IllegalAction`, `StaleVersion`, `Invalid`."""
        ...

    def admit(self, owner_id: OwnerId) -> Committed:
        """Start the owner's oldest queued runs as far as its limit allows."""
        ...

    def delete_run(self, owner_id: OwnerId, run_id: RunId) -> None:
        """Cancel and fence the run, then remove every row of it."""
        ...

    def reverify(self, owner_id: OwnerId, run_id: RunId, key_id: str | None = None) -> tuple[Reverification, Committed]:
        """Start a run that checks the newest report of a run again; raise `NotFound`, `Conflict` while it is open."""
        ...

    def add_documents(
        self, owner_id: OwnerId, uploads: Sequence[Upload], key_id: str | None = None
    ) -> tuple[Ingest, Committed]:
        """Keep files and start the ingest run that reads them; a file that is known already is not read again."""
        ...

    def delete_document(self, owner_id: OwnerId, document_id: str) -> None:
        """Remove a document from the library; reports that cite it keep their snapshots."""
        ...


class ReadModel(Protocol):
    """Queries for people; everything is seen through its owner and raises `NotFound` otherwise."""

    def run(self, owner_id: OwnerId, run_id: RunId) -> Run:
        """Return the run object."""
        ...

    def runs(
        self, owner_id: OwnerId, *, session_id: str | None, status: str | None, cursor: str | None, limit: int
    ) -> RunPage:
        """Return runs, newest first."""
        ...

    def events(self, owner_id: OwnerId, run_id: RunId, after: int, limit: int) -> tuple[Event, ...]:
        """Return events with a sequence number over ``after``, in order."""
        ...

    def steps(self, owner_id: OwnerId, run_id: RunId) -> tuple[StepObject, ...]:
        """Return the steps of the run, oldest first."""
        ...

    def sources(self, owner_id: OwnerId, run_id: RunId) -> tuple[Source, ...]:
        """Return the sources of the run."""
        ...

    def evidence(self, owner_id: OwnerId, run_id: RunId) -> tuple[Evidence, ...]:
        """Return the evidence of the run."""
        ...

    def fetches(self, owner_id: OwnerId, run_id: RunId) -> tuple[Fetch, ...]:
        """Return the fetch log of the run."""
        ...

    def report(self, owner_id: OwnerId, run_id: RunId) -> Report:
        """Return the newest report; raise `NotFound` while there is none."""
        ...

    def rendered(self, owner_id: OwnerId, run_id: RunId, fmt: str) -> tuple[bytes, str]:
        """Return the newest report as a file (``md``, ``html`` or ``bundle``) and its media type."""
        ...

    def verification(self, owner_id: OwnerId, run_id: RunId) -> Verification | Recheck:
        """Return the verdicts of the newest report, or what a run of kind reverify found."""
        ...

    def documents(self, owner_id: OwnerId, cursor: str | None, limit: int) -> DocumentPage:
        """Return documents, newest first."""
        ...

    def document(self, owner_id: OwnerId, document_id: str) -> Document:
        """Return one document."""
        ...

    def snapshot_text(self, owner_id: OwnerId, sha256: str) -> str:
        """Return the text of a snapshot."""
        ...

    def ready(self) -> None:
        """Raise when the database cannot be reached or its schema is behind."""
        ...
