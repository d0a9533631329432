"""One run in memory: what the ledger would hold of it, what handlers read of it, and how `advance` moves it on."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from evals.inprocess.library import MOMENT
from shared.contracts.evidence import Contradiction, Evidence, Fetch, Source
from shared.contracts.plan import Plan
from shared.contracts.report import Draft, Report, VerdictRow
from shared.contracts.runs import CreateRun
from shared.domain.advance import advance, gained
from shared.domain.budget import TIERS, Usage
from shared.domain.evidence import RELEVANCE_BAR_BP
from shared.domain.ids import LOCAL_OWNER, LeaseToken, RunId, StepId
from shared.domain.moves import Advance, NewStep
from shared.domain.states import RunKind, RunStatus, StepKind, StepStatus, move
from shared.domain.view import (
    Candidate,
    ContradictionView,
    Knowledge,
    PlanView,
    QuestionView,
    RunView,
    Search,
    StepView,
)
from shared.ports.cpu import CpuLimits
from shared.ports.ledger import FoundSource, Lease, Outcome
from shared.ports.materials import RunFacts

Value = TypeVar("Value")
MAX_MOVES = 20
RUN_ID = RunId("run_00000000000000000000000000")


class InlineCpu:
    """See `shared.ports.cpu.Cpu`: calls the function here."""

    def run(self, function: Callable[..., Value], *args: object, limits: CpuLimits) -> Value:
        """Return the function's result."""
        del limits
        return function(*args)

    def close(self) -> None:
        """Do nothing."""


class NoReceipts:
    """See `shared.ports.ledger.Receipts`: nothing is interrupted here, so nothing is kept."""

    def find(self, lease: Lease, request_hash: str) -> None:
        """Return nothing."""

    def keep(self, lease: Lease, request_hash: str, kind: str, answer: Mapping[str, Any]) -> None:
        """Forget the answer."""


@dataclass
class World:
    """See `shared.ports.materials.Materials`; `commit` and `move_on` do what the ledger does in its transaction."""

    request: CreateRun
    status: RunStatus = RunStatus.CREATED
    plan_: Plan | None = None
    iteration: int = 0
    stop_reason: str | None = None
    steps: dict[str, StepView] = field(default_factory=dict)
    inputs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    sources_: dict[str, Source] = field(default_factory=dict)
    candidates: list[tuple[str, int, str]] = field(default_factory=list)
    evidence_: dict[str, Evidence] = field(default_factory=dict)
    log: list[Fetch] = field(default_factory=list)
    conflicts: dict[str, tuple[Contradiction, int]] = field(default_factory=dict)
    drafted: dict[str, Draft] = field(default_factory=dict)
    judged: dict[str, VerdictRow] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    gains: list[tuple[bool, Knowledge]] = field(default_factory=list)
    run_id: RunId = RUN_ID

    def facts(self, run_id: RunId) -> RunFacts:
        """Return the run's request and plan."""
        return RunFacts(
            run_id=self.run_id,
            owner_id=LOCAL_OWNER,
            request=self.request,
            engine="extractive",
            plan=self.plan_,
            plan_version=int(self.plan_ is not None),
            limits=TIERS[self.request.depth],
            epoch=1,
            iteration=self.iteration,
            stop_reason=self.stop_reason,
            report_version=len(self.reports),
            created_at=MOMENT,
            started_at=MOMENT,
        )

    def view(self, run_id: RunId) -> RunView:
        """Return the run as the rules see it; time stands still."""
        steps = tuple(sorted(self.steps.values(), key=lambda s: (s.iteration, s.key)))
        return RunView(
            kind=RunKind.RESEARCH,
            status=self.status,
            limits=TIERS[self.request.depth],
            usage=self._usage(),
            iteration=self.iteration,
            auto_approve=True,
            may_start=True,
            plan=_plan_view(self.plan_) if self.plan_ is not None else None,
            steps=steps,
            candidates=tuple(self._candidate(*row) for row in sorted(self.candidates)),
            contradictions=self._conflict_views(),
            knowledge=self._knowledge(),
            gains=tuple(gain for gain, _ in self.gains),
            stop_reason=self.stop_reason,
        )

    def _usage(self) -> Usage:
        counted = [s for s in self.steps.values() if s.status is not StepStatus.CANCELLED]
        return Usage(
            iterations=self.iteration,
            searches=sum(s.kind is StepKind.SEARCH for s in counted),
            fetches=sum(s.kind is StepKind.READ_SOURCE for s in counted),
            run_chars=sum(int(s.result.get("chars", 0)) for s in counted if s.kind is StepKind.PARSE),
        )

    def _candidate(self, key: str, rank: int, source_id: str) -> Candidate:
        source = self.sources_[source_id]
        return Candidate(source_id, key, rank, source.document_id, source.title, source.snapshot_sha256)

    def _conflict_views(self) -> tuple[ContradictionView, ...]:
        searched = max(
            (s.iteration for s in self.steps.values() if s.kind is StepKind.SEARCH and not s.open), default=0
        )
        found = (self.conflicts[key] for key in sorted(self.conflicts))
        return tuple(ContradictionView(c.claim_key, c.central, c.followed_up or n <= searched) for c, n in found)

    def _knowledge(self) -> Knowledge:
        covering = [e for e in self.evidence_.values() if e.stance == "supports" and e.relevance_bp >= RELEVANCE_BAR_BP]
        return Knowledge(
            covered=frozenset(q for e in covering for q in e.question_ids),
            evidence=len(self.evidence_),
            source_classes=len({s.source_class for s in self.sources_.values() if s.status == "fetched"}),
            open_contradictions=sum(not c.followed_up for c in self._conflict_views()),
        )

    def now(self) -> datetime:
        """Return the time."""
        return MOMENT

    def source(self, run_id: RunId, source_id: str) -> Source:
        """Return one source."""
        return self.sources_[source_id]

    def sources(self, run_id: RunId) -> tuple[Source, ...]:
        """Return all sources."""
        return tuple(self.sources_.values())

    def evidence(self, run_id: RunId) -> tuple[Evidence, ...]:
        """Return all evidence, by source and place in it."""
        place = {source_id: n for n, source_id in enumerate(self.sources_)}
        return tuple(sorted(self.evidence_.values(), key=lambda e: (place[e.source_id], e.start, e.end)))

    def contradictions(self, run_id: RunId) -> tuple[Contradiction, ...]:
        """Return the contradictions by claim key."""
        return tuple(self.conflicts[key][0] for key in sorted(self.conflicts))

    def fetches(self, run_id: RunId) -> tuple[Fetch, ...]:
        """Return the fetch log."""
        return tuple(self.log)

    def cut_prompts(self, run_id: RunId) -> dict[str, int]:
        """Return none: no server cuts a prompt here."""
        return {}

    def queries(self, run_id: RunId) -> tuple[str, ...]:
        """Return every query."""
        return tuple(s.subject for s in self.steps.values() if s.kind is StepKind.SEARCH)

    def step_result(self, run_id: RunId, key: str) -> dict[str, Any]:
        """Return the result of a step."""
        return dict(self.steps[key].result)

    def drafts(self, run_id: RunId, section_id: str | None = None) -> tuple[Draft, ...]:
        """Return the drafts of one section or of all."""
        found = (d for d in self.drafted.values() if section_id in (None, d.section_id))
        return tuple(sorted(found, key=lambda d: (d.section_id, d.ordinal)))

    def verdicts(self, run_id: RunId) -> tuple[VerdictRow, ...]:
        """Return the verdicts in the order of their drafts."""
        return tuple(self.judged[d.statement.id] for d in self.drafts(run_id) if d.statement.id in self.judged)

    def report(self, run_id: RunId, version: int | None = None) -> Report | None:
        """Return a version of the report, the newest by default."""
        return self.reports[(version or 0) - 1] if self.reports else None

    def open_steps(self) -> list[str]:
        """Return the keys of the steps that have still to be run, in the order of their insertion."""
        return [key for key, step in self.steps.items() if step.open]

    def lease(self, key: str) -> Lease:
        """Return the lease of a step; its id is that of the step's key."""
        step = self.steps[key]
        return Lease(
            step_id=StepId(f"stp_{key}"),
            run_id=self.run_id,
            owner_id=LOCAL_OWNER,
            kind=step.kind,
            token=LeaseToken("lse_1"),
            attempt=1,
            epoch=1,
            key=key,
            iteration=step.iteration,
            subject=step.subject,
            inputs=self.inputs[key],
        )

    def commit(self, lease: Lease, outcome: Outcome) -> None:
        """Record what a step gave, and move the run on."""
        self.steps[lease.key] = replace(self.steps[lease.key], status=StepStatus.COMPLETED, result=outcome.result)
        self.plan_ = outcome.plan or self.plan_
        self.log += outcome.fetches
        for item in outcome.found:
            self._record_found(item)
        self.sources_ |= {s.source_id: s for s in outcome.sources}
        for evidence in outcome.evidence:
            self.evidence_.setdefault(evidence.sha256, evidence)
        for c in outcome.contradictions:
            found_in = self.conflicts[c.claim_key][1] if c.claim_key in self.conflicts else lease.iteration
            self.conflicts[c.claim_key] = (c, found_in)
        self.drafted |= {d.statement.id: d for d in outcome.drafts}
        self.judged |= {v.statement_id: v for v in outcome.verdicts}
        self.reports += [outcome.report] if outcome.report else []
        self.move_on()

    def _record_found(self, item: FoundSource) -> None:
        known = next((s for s in self.sources_.values() if s.canonical_url == item.source.canonical_url), item.source)
        self.sources_.setdefault(known.source_id, known)
        self.candidates.append((item.search_key, item.rank, known.source_id))

    def move_on(self) -> None:
        """Apply the rules until they have nothing to add."""
        for _ in range(MAX_MOVES):
            change = advance(self.view(self.run_id))
            self._apply(change)
            if not change.again:
                return
        raise AssertionError("the rules did not settle")

    def _apply(self, change: Advance) -> None:
        self.stop_reason = change.stop_reason or self.stop_reason
        for key, step in self.steps.items():
            if step.open and step.kind in change.cancel:
                self.steps[key] = replace(step, status=StepStatus.CANCELLED)
        if change.finished:
            before = self.gains[-1][1] if self.gains else Knowledge()
            self.gains.append((gained(before, self._knowledge()), self._knowledge()))
        self.iteration = self.iteration if change.iteration is None else change.iteration
        self.status = self.status if change.status is None else move(self.status, change.status)
        for new in change.steps:
            self._insert(new)

    def _insert(self, new: NewStep) -> None:
        if new.key not in self.steps:
            self.steps[new.key] = StepView(new.key, new.kind, StepStatus.PENDING, new.iteration, new.subject)
            self.inputs[new.key] = dict(new.inputs)

    def usage(self) -> dict[str, Any]:
        """Return what the run has used."""
        return asdict(self._usage())


def _plan_view(plan: Plan) -> PlanView:
    return PlanView(
        tuple(QuestionView(q.id, q.text, q.priority == "required") for q in plan.questions),
        tuple(Search(t.query, t.question_ids, t.endpoint, t.result_count) for t in plan.search_tasks),
    )
