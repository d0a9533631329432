"""The schema. Runs, steps and their attempts are the ledger; events are its outbox; the rest is what runs acquire."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, ForeignKey, Index, LargeBinary, MetaData, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NOW = text("clock_timestamp()")
EMPTY_OBJECT = text("'{}'::jsonb")


class Base(DeclarativeBase):
    """Declarative base of every table; times are UTC by the database's clock."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012
        datetime: DateTime(timezone=True),
        str: Text(),
        dict[str, Any]: JSONB,
        list[str]: ARRAY(Text()),
        list[int]: ARRAY(BigInteger()),
        bytes: LargeBinary(),
    }


class OwnerRow(Base):
    """Whoever owns runs and documents; the row lock orders admission."""

    __tablename__ = "owners"
    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(unique=True)
    max_running_runs: Mapped[int | None]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)


class ApiKeyRow(Base):
    """A bearer key of an owner; only its hash is kept."""

    __tablename__ = "api_keys"
    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), index=True)
    name: Mapped[str]
    secret_sha256: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]


class RunRow(Base):
    """A run, narrow: its row lock orders everything that changes the run."""

    __tablename__ = "runs"
    __table_args__ = (
        Index("ix_runs_owner_created", "owner_id", "id"),
        Index("ix_runs_status", "status"),
        Index("ix_runs_queued", "owner_id", "queued_at", postgresql_where=text("status = 'queued'")),
        Index(
            "ix_runs_running",
            "owner_id",
            postgresql_where=text("kind = 'research' and status in ('researching', 'synthesizing')"),
        ),
        Index("ix_runs_of_run", "of_run_id", postgresql_where=text("of_run_id is not null")),
        Index("ix_runs_wake", "wake_at", postgresql_where=text("wake_at is not null")),
        Index(
            "uq_runs_open_session",
            "owner_id",
            "session_id",
            unique=True,
            postgresql_where=text(
                "session_id is not null and status not in ('completed', 'cancelled', 'failed', 'budget_exhausted')"
            ),
        ),
    )
    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    kind: Mapped[str]
    status: Mapped[str]
    session_id: Mapped[str | None]
    of_run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    """The run whose report this one checks again."""
    key_id: Mapped[str | None] = mapped_column(ForeignKey("api_keys.id"))
    """The key that asked for the run, or last steered it; no step starts once it is revoked."""
    engine: Mapped[str]
    epoch: Mapped[int] = mapped_column(default=1)
    iteration: Mapped[int] = mapped_column(default=0)
    plan_version: Mapped[int] = mapped_column(default=0)
    report_version: Mapped[int] = mapped_column(default=0)
    last_seq: Mapped[int] = mapped_column(default=0)
    auto_approve: Mapped[bool] = mapped_column(default=False)
    resume_phase: Mapped[str | None]
    stop_reason: Mapped[str | None]
    last_error: Mapped[str | None]
    wake_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    updated_at: Mapped[datetime] = mapped_column(server_default=NOW)
    queued_at: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    active_since: Mapped[datetime | None]
    active_s: Mapped[float] = mapped_column(server_default=text("0"))
    """Seconds of research and synthesis before ``active_since``; waits and pauses are not counted."""
    completed_at: Mapped[datetime | None]


class RequestRow(Base):
    """What was asked for: the body of the request and the limits that follow from it."""

    __tablename__ = "run_requests"
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    body: Mapped[dict[str, Any]]
    limits: Mapped[dict[str, Any]]


class IdempotencyRow(Base):
    """A key that a client sent, the hash of the body that came with it and the run that it made."""

    __tablename__ = "idempotency_keys"
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), primary_key=True)
    key_sha256: Mapped[str] = mapped_column(primary_key=True)
    body_sha256: Mapped[str]
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), index=True)


class PlanRow(Base):
    """A version of a run's plan."""

    __tablename__ = "plans"
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    body: Mapped[dict[str, Any]]
    by: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)


class StepRow(Base):
    """One unit of work; unique on (run, epoch, key), so a decision made twice adds nothing."""

    __tablename__ = "steps"
    __table_args__ = (
        Index("uq_steps_key", "run_id", "epoch", "key", unique=True),
        Index("ix_steps_run", "run_id", "id"),
        Index("ix_steps_due", "wake_at", postgresql_where=text("status = 'pending'")),
        Index("ix_steps_leased", "leased_until", postgresql_where=text("status = 'running'")),
    )
    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    epoch: Mapped[int]
    kind: Mapped[str]
    key: Mapped[str]
    iteration: Mapped[int]
    subject: Mapped[str]
    inputs: Mapped[dict[str, Any]]
    status: Mapped[str] = mapped_column(default="pending")
    result: Mapped[dict[str, Any]] = mapped_column(server_default=EMPTY_OBJECT)
    error_code: Mapped[str | None]
    error: Mapped[str | None]
    attempts: Mapped[int] = mapped_column(default=0)
    errors: Mapped[int] = mapped_column(default=0)
    interruptions: Mapped[int] = mapped_column(default=0)
    lease_token: Mapped[str | None]
    leased_until: Mapped[datetime | None]
    not_before: Mapped[datetime] = mapped_column(server_default=NOW)
    wake_at: Mapped[datetime] = mapped_column(server_default=NOW)
    wakes: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    works_since: Mapped[datetime | None]
    """Since when the present try works."""
    worked_s: Mapped[float] = mapped_column(server_default=text("0"))
    """Seconds that its earlier tries worked, and that it was told to wait by whoever it asks; never time in a queue."""


class AttemptRow(Base):
    """One try of a step: done, failed, interrupted, postponed, handed_back or cancelled; open while it runs."""

    __tablename__ = "attempts"
    step_id: Mapped[str] = mapped_column(ForeignKey("steps.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    lease_token: Mapped[str]
    worker: Mapped[str]
    claimed_at: Mapped[datetime] = mapped_column(server_default=NOW)
    leased_until: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    outcome: Mapped[str | None]
    error: Mapped[str | None]


class ReceiptRow(Base):
    """Proof that an external call was made, with its answer; unique by request within step and epoch."""

    __tablename__ = "receipts"
    step_id: Mapped[str] = mapped_column(ForeignKey("steps.id", ondelete="CASCADE"), primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True)
    request_sha256: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    answer: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)


class ModelCallRow(Base):
    """One call at a model's provider: reserved before it is made (open), then done, failed or refused.

    A done call counts what it used, an open or failed one what was set aside for it, a refused one nothing. The price
    is unknown as long as ``price_usd`` is null.
    """

    __tablename__ = "model_calls"
    __table_args__ = (Index("ix_model_calls_run", "run_id", "id"), Index("ix_model_calls_step", "step_id"))
    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    step_id: Mapped[str] = mapped_column(ForeignKey("steps.id", ondelete="CASCADE"))
    epoch: Mapped[int]
    attempt: Mapped[int]
    phase: Mapped[str]
    request_sha256: Mapped[str]
    requested_model: Mapped[str]
    served_model: Mapped[str | None]
    status: Mapped[str] = mapped_column(server_default="open")
    outcome: Mapped[str | None]
    reserved_input: Mapped[int]
    reserved_output: Mapped[int]
    reserved_usd: Mapped[float | None]
    input_tokens: Mapped[int | None]
    output_tokens: Mapped[int | None]
    cached_tokens: Mapped[int | None]
    price_usd: Mapped[float | None]
    latency_ms: Mapped[int | None]
    started_at: Mapped[datetime] = mapped_column(server_default=NOW)
    ended_at: Mapped[datetime | None]


class EventRow(Base):
    """What a watcher of the run may see, in commit order without a gap."""

    __tablename__ = "events"
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    type: Mapped[str]
    payload: Mapped[dict[str, Any]]
    at: Mapped[datetime] = mapped_column(server_default=NOW)


class BlobRow(Base):
    """Bytes on their way from acquisition to parsing, by content address."""

    __tablename__ = "blobs"
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), primary_key=True)
    sha256: Mapped[str] = mapped_column(primary_key=True)
    data: Mapped[bytes]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)


class ParseRow(Base):
    """What reading some bytes gave; the same bytes are read once by each reader version."""

    __tablename__ = "parses"
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), primary_key=True)
    content_sha256: Mapped[str] = mapped_column(primary_key=True)
    reader_version: Mapped[str] = mapped_column(primary_key=True)
    snapshot_sha256: Mapped[str | None]
    body: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)


class SnapshotRow(Base):
    """Normalized text by content address: UTF-8 bytes, so that nothing the database does can change them."""

    __tablename__ = "snapshots"
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), primary_key=True)
    sha256: Mapped[str] = mapped_column(primary_key=True)
    data: Mapped[bytes]
    segmenter_version: Mapped[str]
    segments: Mapped[list[int]]
    """Start and end of each segment, flat."""
    signature: Mapped[list[int]]
    maps: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)


class PassageRow(Base):
    """A piece of a snapshot as the document index sees it: its search terms in order."""

    __tablename__ = "passages"
    __table_args__ = (
        Index("ix_passages_terms", "terms", postgresql_using="gin"),
        Index("ix_passages_snapshot", "owner_id", "snapshot_sha256"),
    )
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), primary_key=True)
    snapshot_sha256: Mapped[str] = mapped_column(primary_key=True)
    ordinal: Mapped[int] = mapped_column(primary_key=True)
    start: Mapped[int]
    end: Mapped[int]
    terms: Mapped[list[str]]


class DocumentRow(Base):
    """A document of the owner's library; the same bytes under the same name are one document."""

    __tablename__ = "documents"
    __table_args__ = (
        Index("uq_documents_content", "owner_id", "sha256", "name", unique=True),
        Index("ix_documents_owner", "owner_id", "id"),
        Index("ix_documents_snapshot", "owner_id", "snapshot_sha256"),
    )
    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    name: Mapped[str]
    sha256: Mapped[str]
    bytes: Mapped[int]
    status: Mapped[str] = mapped_column(default="pending")
    reason: Mapped[str | None]
    mime: Mapped[str | None]
    title: Mapped[str | None]
    snapshot_sha256: Mapped[str | None]
    ingest_run_id: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)


class FetchRow(Base):
    """The fetch log: every attempt to get something. Never changed, and metadata only."""

    __tablename__ = "fetches"
    __table_args__ = (Index("ix_fetches_run", "run_id", "id"), Index("ix_fetches_step", "step_id"))
    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    step_id: Mapped[str] = mapped_column(ForeignKey("steps.id", ondelete="CASCADE"))
    source_id: Mapped[str | None]
    refusal: Mapped[str | None]
    body: Mapped[dict[str, Any]]


class SourceRow(Base):
    """A source of a run; unique in the run by the hash of its canonical URL."""

    __tablename__ = "sources"
    __table_args__ = (Index("uq_sources_url", "run_id", "url_sha256", unique=True),)
    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    url_sha256: Mapped[str]
    ordinal: Mapped[int]
    status: Mapped[str]
    source_class: Mapped[str]
    snapshot_sha256: Mapped[str | None]
    body: Mapped[dict[str, Any]]


class CandidacyRow(Base):
    """Which search found which source, and at what rank."""

    __tablename__ = "candidacies"
    __table_args__ = (Index("ix_candidacies_source", "source_id"),)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True)
    search_key: Mapped[str] = mapped_column(primary_key=True)
    source_id: Mapped[str] = mapped_column(ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True)
    rank: Mapped[int]


class EvidenceRow(Base):
    """A span that bears on a question; unique in the run by its hash."""

    __tablename__ = "evidence"
    __table_args__ = (
        Index("uq_evidence_hash", "run_id", "sha256", unique=True),
        Index("ix_evidence_source", "source_id"),
        Index("ix_evidence_step", "step_id"),
    )
    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    source_id: Mapped[str] = mapped_column(ForeignKey("sources.id", ondelete="CASCADE"))
    step_id: Mapped[str] = mapped_column(ForeignKey("steps.id", ondelete="CASCADE"))
    sha256: Mapped[str]
    question_ids: Mapped[list[str]]
    stance: Mapped[str]
    relevance_bp: Mapped[int]
    body: Mapped[dict[str, Any]]


class ContradictionRow(Base):
    """Evidence of a run that does not agree."""

    __tablename__ = "contradictions"
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    claim_key: Mapped[str] = mapped_column(primary_key=True)
    body: Mapped[dict[str, Any]]
    found_in: Mapped[int]
    """The iteration in which it was found; it counts as followed up once a later one has searched for it."""


class IterationRow(Base):
    """A finished iteration: what the run knew at its end, and whether that was new."""

    __tablename__ = "iterations"
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    gain: Mapped[bool]
    knowledge: Mapped[dict[str, Any]]
    ended_at: Mapped[datetime] = mapped_column(server_default=NOW)


class StatementRow(Base):
    """A drafted statement of an epoch and, once the gate has judged it, its verdict."""

    __tablename__ = "statements"
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    section_id: Mapped[str]
    ordinal: Mapped[int]
    draft: Mapped[dict[str, Any]]
    verdict: Mapped[dict[str, Any] | None]


class ReportRow(Base):
    """A version of a run's report."""

    __tablename__ = "reports"
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    status: Mapped[str]
    body: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)


class ReportFileRow(Base):
    """A report rendered to a file."""

    __tablename__ = "report_files"
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    fmt: Mapped[str] = mapped_column(primary_key=True)
    mime: Mapped[str]
    data: Mapped[bytes]


class SiteRow(Base):
    """The slot of a site: who asks it now, until when at most, and when the next one may begin."""

    __tablename__ = "sites"
    key: Mapped[str] = mapped_column(primary_key=True)
    holder: Mapped[str | None]
    """The lease token of the try that holds the slot; then its step and the key of its process's presence, if known."""
    held_since: Mapped[datetime | None]
    held_until: Mapped[datetime | None]
    next_start: Mapped[datetime] = mapped_column(server_default=NOW)
    last_hold_s: Mapped[float] = mapped_column(default=0.0)
    """How long the last visit took; those that wait are lined up at this distance if it is over the delay."""


class ServiceRow(Base):
    """What became of the last call at a search provider or reranker; ``failure`` is None when it answered."""

    __tablename__ = "services"
    name: Mapped[str] = mapped_column(primary_key=True)
    asked_at: Mapped[datetime] = mapped_column(server_default=NOW)
    failure: Mapped[str | None]


class SiteWaitRow(Base):
    """A step's place in the line for a site: when it is to come back."""

    __tablename__ = "site_waits"
    key: Mapped[str] = mapped_column(ForeignKey("sites.key", ondelete="CASCADE"), primary_key=True)
    step_id: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime]


class RobotsRow(Base):
    """What an origin answered when it was asked for robots.txt."""

    __tablename__ = "robots"
    origin_sha256: Mapped[str] = mapped_column(primary_key=True)
    origin: Mapped[str]
    status: Mapped[int | None]
    body: Mapped[bytes]
    failures: Mapped[int] = mapped_column(default=0)
    fetched_at: Mapped[datetime] = mapped_column(server_default=NOW)
    expires_at: Mapped[datetime]
