"""A run in memory: the ports that handlers read through, and what committing an outcome would change."""

import pickle
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from shared.contracts.events import NewEvent
from shared.contracts.evidence import Contradiction, Evidence, Fetch, Source
from shared.contracts.plan import Plan
from shared.contracts.report import Draft, Report, VerdictRow
from shared.contracts.runs import CreateRun, Document
from shared.contracts.snapshot import Parse, Snapshot
from shared.domain.budget import TIERS, Usage
from shared.domain.errors import NotFound
from shared.domain.ids import LeaseToken, OwnerId, RunId, StepId
from shared.domain.rank import CorpusStats
from shared.domain.states import RunKind, RunStatus, StepKind, StepStatus
from shared.domain.view import RunView, StepView
from shared.ports.cpu import CpuLimits
from shared.ports.ledger import Lease, Outcome, ReportFile
from shared.ports.materials import DocumentHit, RunFacts
from tests.factories.research import MOMENT, RUN_ID

T = TypeVar("T")
OWNER = OwnerId("own_local")


class InlineCpu:
    """Runs the function here; arguments and result are pickled as they would be on their way to another process."""

    def run(self, function: Callable[..., T], *args: object, limits: CpuLimits) -> T:
        """Return the function's result."""
        assert limits.wall_s > 0
        called, given = pickle.loads(pickle.dumps((function, args)))
        result: T = pickle.loads(pickle.dumps(called(*given)))
        return result

    def close(self) -> None:
        """Do nothing."""


class MemorySnapshots:
    """Snapshots in a dictionary."""

    def __init__(self, snapshots: Collection[Snapshot] = ()) -> None:
        self.texts = {s.sha256: s for s in snapshots}

    def put(self, owner_id: OwnerId, snapshot: Snapshot, parse: Parse) -> None:
        """Keep a snapshot."""
        self.texts[snapshot.sha256] = snapshot

    def put_failed(self, owner_id: OwnerId, parse: Parse) -> None:
        """Forget the fact."""

    def get(self, owner_id: OwnerId, sha256: str) -> Snapshot | None:
        """Return a snapshot."""
        return self.texts.get(sha256)

    def get_many(self, owner_id: OwnerId, sha256s: Collection[str]) -> dict[str, Snapshot]:
        """Return the snapshots that exist."""
        return {sha: self.texts[sha] for sha in sha256s if sha in self.texts}

    def parsed(self, owner_id: OwnerId, content_sha256: str, reader_version: str) -> Parse | None:
        """Return nothing: bytes are always read anew."""
        return None


class MemoryIndex:
    """The index of a library without documents."""

    def search(
        self, owner_id: OwnerId, terms: Sequence[str], document_ids: Sequence[str] | None, limit: int
    ) -> tuple[DocumentHit, ...]:
        """Find nothing."""
        return ()

    def stats(self, owner_id: OwnerId, terms: Collection[str], document_ids: Sequence[str] | None) -> CorpusStats:
        """Count nothing."""
        return CorpusStats(0, 0.0, {})

    def document(self, owner_id: OwnerId, document_id: str) -> Document:
        """Raise that there is none."""
        raise NotFound(f"There is no document {document_id}.")


@dataclass
class MemoryRun:
    """The rows of one run; `commit` does to them what the ledger would do."""

    plan: Plan
    found: list[Source] = field(default_factory=list)
    pieces: list[Evidence] = field(default_factory=list)
    log: list[Fetch] = field(default_factory=list)
    conflicts: list[Contradiction] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    request: CreateRun | None = None
    engine: str = "extractive"
    stop_reason: str | None = "finished"
    results: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    drafted: dict[str, Draft] = field(default_factory=dict)
    judged: dict[str, VerdictRow] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    files: dict[str, ReportFile] = field(default_factory=dict)
    events: list[NewEvent] = field(default_factory=list)
    steps: list[StepView] = field(default_factory=list)

    def commit(self, lease: Lease, outcome: Outcome) -> None:
        """Record an outcome."""
        self.results[lease.key] = outcome.result
        done = StepView(lease.key, lease.kind, StepStatus.COMPLETED, lease.iteration, lease.subject, outcome.result)
        self.steps.append(done)
        replaced = {s.source_id: s for s in outcome.sources}
        self.found = [replaced.get(s.source_id, s) for s in self.found]
        self.drafted |= {d.statement.id: d for d in outcome.drafts}
        self.judged |= {v.statement_id: v for v in outcome.verdicts}
        self.reports += [outcome.report] if outcome.report else []
        self.files |= {f.fmt: f for f in outcome.files}
        self.events += outcome.events

    def facts(self, run_id: RunId) -> RunFacts:
        """Return the run's request and plan."""
        request = self.request or CreateRun(objective=self.plan.objective)
        return RunFacts(
            run_id=run_id,
            owner_id=OWNER,
            request=request,
            engine=self.engine,
            plan=self.plan,
            plan_version=1,
            limits=TIERS[request.depth],
            epoch=1,
            iteration=1,
            stop_reason=self.stop_reason,
            report_version=len(self.reports),
            created_at=MOMENT,
            started_at=MOMENT,
        )

    def view(self, run_id: RunId) -> RunView:
        """Return the run as the rules see it."""
        usage = Usage(iterations=1, searches=len(self.asked), fetches=len(self.log), elapsed_s=12.5, run_chars=1000)
        limits = self.facts(run_id).limits
        return RunView(RunKind.RESEARCH, RunStatus.SYNTHESIZING, limits, usage, steps=tuple(self.steps))

    def now(self) -> datetime:
        """Return the time."""
        return MOMENT

    def source(self, run_id: RunId, source_id: str) -> Source:
        """Return one source."""
        found = next((s for s in self.found if s.source_id == source_id), None)
        if found is None:
            raise NotFound(f"There is no source {source_id}.")
        return found

    def sources(self, run_id: RunId) -> tuple[Source, ...]:
        """Return all sources."""
        return tuple(self.found)

    def evidence(self, run_id: RunId) -> tuple[Evidence, ...]:
        """Return all evidence."""
        return tuple(self.pieces)

    def contradictions(self, run_id: RunId) -> tuple[Contradiction, ...]:
        """Return the contradictions."""
        return tuple(self.conflicts)

    def fetches(self, run_id: RunId) -> tuple[Fetch, ...]:
        """Return the fetch log."""
        return tuple(self.log)

    def queries(self, run_id: RunId) -> tuple[str, ...]:
        """Return every query."""
        return tuple(self.asked)

    def cut_prompts(self, run_id: RunId) -> dict[str, int]:
        """See the port: no call of this run was cut."""
        return {}

    def step_result(self, run_id: RunId, key: str) -> dict[str, Any]:
        """Return the result of a step."""
        if key not in self.results:
            raise NotFound(f"The step {key} has no result.")
        return dict(self.results[key])

    def drafts(self, run_id: RunId, section_id: str | None = None) -> tuple[Draft, ...]:
        """Return the drafts of one section or of all."""
        return tuple(d for d in self.drafted.values() if section_id in (None, d.section_id))

    def verdicts(self, run_id: RunId) -> tuple[VerdictRow, ...]:
        """Return the verdicts."""
        return tuple(self.judged.values())

    def report(self, run_id: RunId, version: int | None = None) -> Report | None:
        """Return a version of the report, the newest by default."""
        return self.reports[(version or 0) - 1] if self.reports else None


def make_lease(kind: StepKind, subject: str, attempt: int = 1, **inputs: Any) -> Lease:
    """Return a lease of a step with these inputs."""
    return Lease(
        step_id=StepId(f"stp_{kind}_{subject}"),
        run_id=RunId(RUN_ID),
        owner_id=OWNER,
        kind=kind,
        token=LeaseToken("lse_1"),
        attempt=attempt,
        epoch=1,
        iteration=1,
        key=subject if kind in (StepKind.OUTLINE, StepKind.ASSEMBLE) else f"{kind}:{subject}",
        subject=subject,
        inputs=inputs,
    )
