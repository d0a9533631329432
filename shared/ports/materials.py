"""What handlers read: the run's request and plan, its sources, evidence, drafts; content-addressed bytes and texts."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from shared.contracts.evidence import Contradiction, Evidence, Fetch, Source
from shared.contracts.plan import Plan
from shared.contracts.report import Draft, Report, VerdictRow
from shared.contracts.runs import CreateRun, Document
from shared.contracts.snapshot import Parse, Snapshot
from shared.domain.budget import Limits
from shared.domain.ids import OwnerId, RunId
from shared.domain.rank import CorpusStats
from shared.domain.view import RunView


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What does not change while a step runs: the request, the approved plan, limits and times."""

    run_id: RunId
    owner_id: OwnerId
    request: CreateRun
    engine: str
    plan: Plan | None
    plan_version: int
    limits: Limits
    epoch: int
    iteration: int
    stop_reason: str | None
    report_version: int
    created_at: datetime
    started_at: datetime | None


class Materials(Protocol):
    """Read access to one run; every list is in the order of its first insertion."""

    def facts(self, run_id: RunId) -> RunFacts:
        """Return the run's request and plan."""
        ...

    def view(self, run_id: RunId) -> RunView:
        """Return the run as the rules see it."""
        ...

    def now(self) -> datetime:
        """Return the database's time."""
        ...

    def source(self, run_id: RunId, source_id: str) -> Source:
        """Return one source; raise `NotFound`."""
        ...

    def sources(self, run_id: RunId) -> tuple[Source, ...]:
        """Return all sources of the run."""
        ...

    def evidence(self, run_id: RunId) -> tuple[Evidence, ...]:
        """Return all evidence of the run."""
        ...

    def contradictions(self, run_id: RunId) -> tuple[Contradiction, ...]:
        """Return the contradictions found so far."""
        ...

    def fetches(self, run_id: RunId) -> tuple[Fetch, ...]:
        """Return the fetch log of the run."""
        ...

    def queries(self, run_id: RunId) -> tuple[str, ...]:
        """Return every query that was searched for."""
        ...

    def cut_prompts(self, run_id: RunId) -> dict[str, int]:
        """Return the models whose servers seem to have cut prompts of the run, and how many calls of each."""
        ...

    def step_result(self, run_id: RunId, key: str) -> dict[str, Any]:
        """Return the result of a completed step of this epoch by its key; raise `NotFound`."""
        ...

    def drafts(self, run_id: RunId, section_id: str | None = None) -> tuple[Draft, ...]:
        """Return the drafted statements of this epoch, of one section or of all."""
        ...

    def verdicts(self, run_id: RunId) -> tuple[VerdictRow, ...]:
        """Return the verdicts of this epoch."""
        ...

    def report(self, run_id: RunId, version: int | None = None) -> Report | None:
        """Return a version of the report, the newest by default."""
        ...


class Snapshots(Protocol):
    """Texts by content address, per owner; putting one twice is a no-op."""

    def put(self, owner_id: OwnerId, snapshot: Snapshot, parse: Parse) -> None:
        """Keep a snapshot and what reading its bytes gave, and index its text for searching."""
        ...

    def put_failed(self, owner_id: OwnerId, parse: Parse) -> None:
        """Keep the fact that these bytes cannot be read."""
        ...

    def get(self, owner_id: OwnerId, sha256: str) -> Snapshot | None:
        """Return a snapshot."""
        ...

    def get_many(self, owner_id: OwnerId, sha256s: Collection[str]) -> dict[str, Snapshot]:
        """Return the snapshots that exist, by sha256."""
        ...

    def parsed(self, owner_id: OwnerId, content_sha256: str, reader_version: str) -> Parse | None:
        """Return what an earlier reading of the same bytes by the same reader gave."""
        ...


class Blobs(Protocol):
    """Bytes by content address, per owner, on their way from acquisition to parsing."""

    def put(self, owner_id: OwnerId, data: bytes) -> str:
        """Keep bytes; return their sha256."""
        ...

    def get(self, owner_id: OwnerId, sha256: str) -> bytes | None:
        """Return the bytes, or None when they are gone."""
        ...

    def drop(self, owner_id: OwnerId, sha256: str) -> None:
        """Forget the bytes."""
        ...


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """A document that a search found, with the score of its best passage."""

    document_id: str
    name: str
    title: str | None
    score: float


class DocumentIndex(Protocol):
    """Lexical search over the owner's ingested documents."""

    def search(
        self, owner_id: OwnerId, terms: Sequence[str], document_ids: Sequence[str] | None, limit: int
    ) -> tuple[DocumentHit, ...]:
        """Return the best documents for the terms, best first; ``document_ids`` None means all."""
        ...

    def stats(self, owner_id: OwnerId, terms: Collection[str], document_ids: Sequence[str] | None) -> CorpusStats:
        """Count passages and how many of them hold each term."""
        ...

    def document(self, owner_id: OwnerId, document_id: str) -> Document:
        """Return a document; raise `NotFound`."""
        ...


def each_snapshot(snapshots: Snapshots, owner_id: OwnerId, sha256s: Iterable[str | None]) -> Iterator[Snapshot]:
    """Yield the snapshots that exist, each once, by their sha256; one is held in memory at a time."""
    for sha256 in sorted({s for s in sha256s if s is not None}):
        snapshot = snapshots.get(owner_id, sha256)
        if snapshot is not None:
            yield snapshot
