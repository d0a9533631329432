"""What the rules may know of a run: a snapshot of the ledger, read under the run's lock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.domain.budget import Limits, Usage
from shared.domain.states import OPEN_STEP, RunKind, RunStatus, StepKind, StepStatus


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of the run's epoch; ``subject`` is the query, source, section or document that it is about."""

    key: str
    kind: StepKind
    status: StepStatus
    iteration: int
    subject: str
    result: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    code: str | None = None
    """The stable code of the error that a failed step ended with."""
    worked_s: float = 0.0
    """Seconds that it has worked, or waited because a site or provider asked for it; none while it waits for a place.

    A page that waits for a browser counts from the beginning: there may be no worker that has one.
    """

    @property
    def open(self) -> bool:
        """Tell whether the step has still to end."""
        return self.status in OPEN_STEP


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question of the plan."""

    question_id: str
    text: str
    required: bool


@dataclass(frozen=True, slots=True)
class Search:
    """One search to make: a query for some questions at an endpoint, with the number of results wanted."""

    query: str
    question_ids: tuple[str, ...]
    endpoint: str
    results: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A source that a search found: the search's step key, and the source's place there (0 is best)."""

    source_id: str
    search_key: str
    rank: int
    document_id: str | None = None
    title: str | None = None
    snapshot_sha256: str | None = None
    """The source's text, when it has been read."""


@dataclass(frozen=True, slots=True)
class PlanView:
    """The approved plan, as far as the workflow needs it."""

    questions: tuple[QuestionView, ...]
    searches: tuple[Search, ...]


@dataclass(frozen=True, slots=True)
class ContradictionView:
    """A contradiction among the evidence; central when it bears on a required question."""

    claim_key: str
    central: bool
    followed_up: bool


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a run knows, counted; two of these, before and after an iteration, give its gain."""

    covered: frozenset[str] = frozenset()
    evidence: int = 0
    source_classes: int = 0
    open_contradictions: int = 0


@dataclass(frozen=True, slots=True)
class StepCounts:
    """How the steps stand of a run that has no plan: one that ingests documents or checks a report again."""

    open: int = 0
    completed: int = 0
    failed: int = 0
    first_error: str | None = None


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as the rules see it."""

    kind: RunKind
    status: RunStatus
    limits: Limits
    usage: Usage
    iteration: int = 0
    auto_approve: bool = False
    may_start: bool = False
    plan: PlanView | None = None
    steps: tuple[StepView, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    contradictions: tuple[ContradictionView, ...] = ()
    knowledge: Knowledge = Knowledge()
    gains: tuple[bool, ...] = ()
    """Whether each finished iteration brought anything new, oldest first."""
    stop_reason: str | None = None
    quiet_s: float = 0.0
    """Seconds for which no step of the current iteration has ended, while the run was active."""
    waited_s: float = 0.0
    """Seconds for which the run has had its status."""
    wait_limit_s: float | None = None
    """How long it may wait for a person, if whoever asks knows."""
    managed: bool = False
    """Whether a provider's own job does the research."""
    unplanned: StepCounts = StepCounts()

    def of_kind(self, *kinds: StepKind) -> tuple[StepView, ...]:
        """Return the steps of these kinds, by iteration and key."""
        return tuple(step for step in self.steps if step.kind in kinds)

    def is_slow(self, step: StepView) -> bool:
        """Tell whether an open step has worked for a straggler wait, and all else has been quiet for as long."""
        return min(self.quiet_s, step.worked_s) >= self.limits.straggler_wait_s

    def uncovered(self) -> tuple[QuestionView, ...]:
        """Return the required questions that have no evidence yet."""
        questions = self.plan.questions if self.plan else ()
        return tuple(q for q in questions if q.required and q.question_id not in self.knowledge.covered)
