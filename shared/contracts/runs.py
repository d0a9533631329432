"""What goes over the HTTP API about runs: requests, the run object, controls, problems."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from shared.contracts.base import Contract
from shared.contracts.plan import Plan
from shared.domain.budget import Depth

EngineName = Literal["auto", "extractive", "llm"]


class SourcePolicy(Contract):
    """Which sources a run may use."""

    document_ids: tuple[str, ...] = Field(default=(), max_length=10_000)
    documents_all: bool = False


class Budget(Contract):
    """Limits to change from those of the tier; each may be lowered freely and raised to the operator's maximum."""

    iterations: int | None = None
    searches: int | None = None
    fetches: int | None = None
    elapsed_s: int | None = None
    parallel_reads: int | None = None
    parallel_searches: int | None = None
    model_calls: int | None = None
    verification_calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class CreateRun(Contract):
    """The body of ``POST /research-runs``."""

    objective: str = Field(min_length=1, max_length=4000)
    depth: Depth = Depth.STANDARD
    engine: EngineName = "auto"
    session_id: str | None = Field(default=None, max_length=200)
    client_request_id: str | None = Field(default=None, min_length=1, max_length=200)
    as_of: str | None = Field(default=None, pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")
    language: str | None = Field(default=None, pattern=r"^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*$")
    auto_approve: bool = False
    source_policy: SourcePolicy = SourcePolicy()
    budget: Budget = Budget()


class EditPlan(Contract):
    """The body of ``PATCH /research-runs/{id}/plan``."""

    expected_version: int
    plan: Plan


class ControlRequest(Contract):
    """The body of ``POST /research-runs/{id}/actions``."""

    action: Literal["approve_plan", "pause", "resume", "refine", "cancel", "retry", "increase_budget"]
    expected_version: int | None = None
    instruction: str | None = Field(default=None, max_length=4000)
    limits: dict[str, int] | None = None


class RunUsage(Contract):
    """What a run has used so far."""

    iterations: int = 0
    searches: int = 0
    fetches: int = 0
    elapsed_s: float = 0.0
    retries: int = 0
    model_calls: int = 0
    verification_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    by_phase: dict[str, dict[str, int]] = Field(default_factory=dict)


class RunCounts(Contract):
    """How much a run has found so far."""

    sources: int = 0
    evidence: int = 0
    questions_covered: int = 0
    questions_required: int = 0
    contradictions: int = 0


class Run(Contract):
    """The run object of the API."""

    run_id: str
    kind: Literal["research", "ingest"]
    session_id: str | None
    status: str
    resume_phase: str | None
    stop_reason: str | None
    objective: str
    depth: Depth
    engine: str
    as_of: str | None
    language: str | None
    plan: Plan | None
    plan_version: int
    source_policy: SourcePolicy
    budget: dict[str, int]
    usage: RunUsage
    counts: RunCounts
    allowed_actions: tuple[str, ...]
    last_error: str | None
    report_version: int
    last_seq: int
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    completed_at: datetime | None


class RunPage(Contract):
    """One page of a list of runs; ``next_cursor`` asks for the following one."""

    runs: tuple[Run, ...]
    next_cursor: str | None


class Document(Contract):
    """A document of the owner."""

    document_id: str
    name: str
    mime: str | None
    bytes: int
    sha256: str
    status: Literal["pending", "ready", "failed"]
    reason: str | None
    title: str | None
    snapshot_sha256: str | None
    created_at: datetime


class DocumentPage(Contract):
    """One page of a list of documents."""

    documents: tuple[Document, ...]
    next_cursor: str | None


class Ingest(Contract):
    """The answer to an upload: the run that reads the documents, and their ids in the order of the files."""

    run_id: str
    document_ids: tuple[str, ...]


class Problem(Contract):
    """An error as RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    allowed: tuple[str, ...] | None = None
    current_version: int | None = None


class StepObject(Contract):
    """A step as people see it."""

    step_id: str
    kind: str
    status: str
    iteration: int
    attempts: int
    subject: str
    error: str | None
    started_at: datetime | None
    ended_at: datetime | None
    result: dict[str, Any] | None = None
