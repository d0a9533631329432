"""What goes over the HTTP API about runs: requests, the run object, controls, problems."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field

from shared.contracts.base import Contract, Stored
from shared.contracts.plan import Endpoint, Plan
from shared.domain.budget import Depth
from shared.domain.errors import NotAllowed
from shared.domain.urls import canonical_url, domain_allowed, host_name, parse_url

EngineName = Literal["auto", "extractive", "llm", "managed:google", "managed:openai", "baseline"]


WebMode = Literal["full_web", "only_domains", "prefer_domains", "none"]

_DATE = r"^\d{4}(-\d{2}(-\d{2})?)?$"


def _domain(text: str) -> str:
    try:
        return host_name(text)
    except NotAllowed as error:
        raise ValueError(error.detail) from error


def _addresses(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the addresses in normal form, each page once."""
    try:
        return tuple({canonical_url(text): str(parse_url(text)) for text in texts}.values())
    except NotAllowed as error:
        raise ValueError(error.detail) from error


Domain = Annotated[str, Field(max_length=300), AfterValidator(_domain)]
"""A host name; the hosts below it are meant too."""


class WebPolicy(Contract):
    """Where on the web a run may search and read. Without a mode: nowhere if other sources are given, else anywhere."""

    mode: WebMode | None = None
    domains: tuple[Domain, ...] = Field(default=(), max_length=200)
    excluded_domains: tuple[Domain, ...] = Field(default=(), max_length=1000)


class Published(Contract):
    """The time in which a source was published, as year, month or day; sources without a date pass."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    since: str | None = Field(default=None, alias="from", pattern=_DATE)
    to: str | None = Field(default=None, pattern=_DATE)

    def includes(self, date: str | None) -> bool:
        """Tell whether an ISO 8601 date may lie in this time, as far as it is known."""
        if date is None:
            return True
        early = self.since is not None and date[: len(self.since)] < self.since[: len(date)]
        late = self.to is not None and date[: len(self.to)] > self.to[: len(date)]
        return not early and not late


class SourcePolicy(Contract):
    """Which sources a run may use."""

    document_ids: tuple[str, ...] = Field(default=(), max_length=10_000)
    documents_all: bool = False
    web: WebPolicy = WebPolicy()
    published: Published = Published()
    urls: Annotated[tuple[str, ...], Field(max_length=50), AfterValidator(_addresses)] = ()

    @property
    def web_mode(self) -> WebMode:
        """The mode that holds: private questions do not leak into web searches unless that was asked for."""
        if self.web.mode is not None:
            return self.web.mode
        return "none" if self.uses_documents or self.urls else "full_web"

    @property
    def uses_documents(self) -> bool:
        """Tell whether the library may be searched."""
        return self.documents_all or bool(self.document_ids)

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Where the run may search; nowhere when it is to read given addresses alone."""
        found: tuple[Endpoint, ...] = ("documents",) if self.uses_documents else ()
        return found if self.web_mode == "none" else (*found, "web")

    def allows_endpoint(self, endpoint: Endpoint) -> bool:
        """Tell whether a search may be made there; news and scholar are parts of the web."""
        return ("documents" if endpoint == "documents" else "web") in self.endpoints

    def settled(self) -> "SourcePolicy":
        """Return the policy with the mode that holds written out."""
        return self.model_copy(update={"web": self.web.model_copy(update={"mode": self.web_mode})})

    def allows_host(self, host: str, given: str | None = None) -> bool:
        """Tell whether a page of this host may be read; ``given`` is the host of a given address that led there."""
        only = self.web.domains if self.web_mode == "only_domains" else ()
        return domain_allowed(host, (*only, given) if only and given else only, self.web.excluded_domains)


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
    cost_usd: float | None = Field(default=None, gt=0.0, allow_inf_nan=False)
    """What the run's calls of models may cost, in US dollars; refused unless all their prices are known."""


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
    """The body of ``PATCH /research-runs/{id}/plan``.

    A limit that ``budget`` does not name stays as it is; a ``source_policy`` replaces the run's as a whole.
    """

    expected_version: int
    plan: Plan
    source_policy: SourcePolicy | None = None
    budget: Budget = Budget()


class ControlRequest(Contract):
    """The body of ``POST /research-runs/{id}/actions``."""

    action: Literal["approve_plan", "pause", "resume", "refine", "cancel", "retry", "increase_budget"]
    expected_version: int | None = None
    instruction: str | None = Field(default=None, max_length=4000)
    limits: dict[str, int | float] | None = None


class RunUsage(Stored):
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
    switched_models: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Models that answered where another one was asked for, by the one that was."""
    cut_prompts: dict[str, int] = Field(default_factory=dict)
    """Models whose servers counted fewer tokens than a prompt has words, and in how many calls."""
    by_phase: dict[str, dict[str, int | float]] = Field(default_factory=dict)


class RunCounts(Stored):
    """How much a run has found so far."""

    sources: int = 0
    evidence: int = 0
    questions_covered: int = 0
    questions_required: int = 0
    contradictions: int = 0


class ProviderJob(Stored):
    """The last research job of a run at a provider; ``handle`` is its name in the account of the key there.

    A job that is no longer wanted is cancelled by a run of its own, ``cancel_run_id``; until the state is final, the
    provider has not confirmed it. ``indeterminate``: nobody knows whether the provider took the job.
    """

    provider: str
    agent: str
    handle: str | None
    state: Literal["submitting", "running", "completed", "incomplete", "failed", "cancelled", "indeterminate"]
    cancel_run_id: str | None = None
    created_at: datetime
    ended_at: datetime | None = None


class Run(Stored):
    """The run object of the API."""

    run_id: str
    kind: Literal["research", "ingest", "reverify", "cancel_job"]
    of_run_id: str | None
    """The run whose report this one checks again."""
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
    budget: dict[str, int | float]
    usage: RunUsage
    counts: RunCounts
    allowed_actions: tuple[str, ...]
    last_error: str | None
    provider_job: ProviderJob | None = None
    report_version: int
    last_seq: int
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    completed_at: datetime | None


class RunPage(Stored):
    """One page of a list of runs; ``next_cursor`` asks for the following one."""

    runs: tuple[Run, ...]
    next_cursor: str | None


class Document(Stored):
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


class DocumentPage(Stored):
    """One page of a list of documents."""

    documents: tuple[Document, ...]
    next_cursor: str | None


class Ingest(Stored):
    """The answer to an upload: the run that reads the documents, and their ids in the order of the files."""

    run_id: str
    document_ids: tuple[str, ...]


class Reverification(Stored):
    """The answer to a request to check a report again: the run that does it, and what it checks."""

    run_id: str
    of_run_id: str
    report_version: int


class Problem(Stored):
    """An error as RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    allowed: tuple[str, ...] | None = None
    current_version: int | None = None


class StepObject(Stored):
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
