"""A provider's own research job: how it is submitted, looked at and cancelled, and the rows that outlive every process.

What comes from a provider is text with marks: which words it says come from which page. Nothing of it is believed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from shared.domain.ids import OwnerId, RunId
from shared.domain.managed import JobState
from shared.ports.completions import CallBook
from shared.ports.ledger import Lease
from shared.ports.model import TokenUsage


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What a job is to do; ``label`` is how its owner finds it in the provider's account."""

    instructions: str
    input: str
    max_output_tokens: int
    label: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A page that a stretch of a report is said to come from: code points from ``start`` to ``end``, exclusive.

    An empty stretch stands right after what it is about.
    """

    start: int
    end: int
    url: str
    title: str | None = None


@dataclass(frozen=True, slots=True)
class JobSeen:
    """A job as its provider tells of it; ``searches`` is how many it has made so far, as far as it says so."""

    handle: str
    state: JobState
    text: str = ""
    marks: tuple[Mark, ...] = ()
    usage: TokenUsage | None = None
    served_model: str | None = None
    reason: str | None = None
    searches: int = 0


class JobProvider(Protocol):
    """A provider of jobs, asked with one key; each call is one request within a deadline, never repeated by itself.

    All of them raise `RateLimited`, `Transient`, `InvalidAnswer` (no answer that can be read) and `Permanent`
    (refused); `NotSent` alone, of the ones that may pass, says that nothing has left.
    """

    @property
    def name(self) -> str:
        """The provider's name."""
        ...

    @property
    def agent(self) -> str:
        """What does the research there."""
        ...

    @property
    def credential(self) -> str:
        """What stands for the key that is used."""
        ...

    @property
    def key_name(self) -> str:
        """The setting that its key comes from."""
        ...

    def submit(self, request: JobRequest) -> JobSeen:
        """Start a job. Neither provider takes a key that would make a repeated request the same job."""
        ...

    def look(self, handle: str) -> JobSeen:
        """Return how a job stands, and its report once it has one."""
        ...

    def cancel(self, handle: str) -> JobSeen:
        """Ask that a job ends; only a state that is final proves that it has."""
        ...


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job about to be submitted; ``call_id`` is its row in the book of calls."""

    provider: str
    agent: str
    credential: str
    request_sha256: str
    call_id: str


@dataclass(frozen=True, slots=True)
class Job:
    """A job's row; ``age_s`` is by the database's clock."""

    job_id: str
    owner_id: OwnerId
    run_id: RunId
    provider: str
    agent: str
    credential: str
    call_id: str
    state: JobState
    handle: str | None
    age_s: float
    cancel_asked: bool


class Jobs(Protocol):
    """The rows of jobs; each call is a transaction of its own, and needs no lease unless it says so."""

    def of_step(self, lease: Lease) -> Job | None:
        """Return the job of the step."""
        ...

    def get(self, job_id: str) -> Job | None:
        """Return a job."""
        ...

    def begin(self, lease: Lease, job: NewJob) -> Job:
        """Write down that a job is about to be submitted.

        Raises `Transient` when the lease was lost, `Unconfirmed` when the run has asked for a job before whose fate
        nobody knows.
        """
        ...

    def withdraw(self, job_id: str) -> None:
        """Forget a job that the provider has refused, or that it was never asked for."""
        ...

    def accepted(self, job_id: str, handle: str) -> None:
        """Keep the handle, whatever has become of step and run meanwhile."""
        ...

    def lost(self, job_id: str) -> None:
        """Say that nobody knows whether the job was taken, unless its handle is there."""
        ...

    def seen_running(self, lease: Lease, job_id: str, message: str) -> int:
        """Count a look that found it running and tell the run's watchers; return how many there were."""
        ...

    def look_failed(self, job_id: str) -> int:
        """Count a look that failed; return how many have in a row."""
        ...

    def forgive(self, job_id: str) -> None:
        """Count failed looks from nothing again: its run waits for a person now."""
        ...

    def cancel_asked(self, job_id: str) -> None:
        """Note that the provider has been asked to end the job."""
        ...

    def ended(self, job_id: str, state: JobState) -> None:
        """Note how the job ended."""
        ...


@dataclass(frozen=True, slots=True)
class Managed:
    """Everything that jobs need: the providers that have a key here, their rows, and the book of calls."""

    jobs: Jobs
    book: CallBook
    providers: Mapping[str, JobProvider] = field(default_factory=dict)
