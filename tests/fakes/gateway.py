"""The ports of the gateway in memory: runs that a test moves along, documents, events that can be waited for.

`Desk` holds the state; `FakeControls`, `FakeReads`, `FakeSignals` and `FakeWatch` are its ports; `fake_deps` puts them
together. With an `ending` a run goes to that end by itself as soon as its plan is approved.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from services.gateway.deps import Deps, Limits
from shared.contracts.events import Event
from shared.contracts.evidence import Evidence, Fetch, Source
from shared.contracts.report import Report, Verification
from shared.contracts.runs import (
    ControlRequest,
    CreateRun,
    Document,
    DocumentPage,
    Ingest,
    Reverification,
    Run,
    RunCounts,
    RunPage,
    RunUsage,
    StepObject,
)
from shared.domain.errors import Conflict, IllegalAction, Invalid, KeyReused, LeadlineError, NotFound, StaleVersion
from shared.domain.ids import OwnerId, RunId, StepId, sha256_hex, spell_id
from shared.domain.states import Action, RunStatus, StepKind, allowed_actions, is_final
from shared.ports.gateway import PlanEdit, Upload
from shared.ports.ledger import Committed, WakeUp
from tests.factories.reports import a_plan, a_report

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
APPROVED = (RunStatus.QUEUED, RunStatus.RESEARCHING, RunStatus.SYNTHESIZING)


class DatabaseDown(LeadlineError):
    """What the fakes raise while `Desk.down` is set."""


@dataclass(slots=True)
class Desk:
    """All state, guarded by one condition that is notified at every event."""

    ending: tuple[RunStatus, str] | None = None
    runs: dict[RunId, Run] = field(default_factory=dict)
    owners: dict[str, OwnerId] = field(default_factory=dict)
    keys: dict[tuple[OwnerId, str], tuple[str, RunId]] = field(default_factory=dict)
    events: dict[RunId, list[Event]] = field(default_factory=dict)
    reports: dict[RunId, Report] = field(default_factory=dict)
    documents: dict[str, Document] = field(default_factory=dict)
    sources: dict[RunId, tuple[Source, ...]] = field(default_factory=dict)
    evidence: dict[RunId, tuple[Evidence, ...]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """Snapshots by their sha256."""
    unreadable: tuple[str, ...] = ()
    """Names of documents that reading fails on."""
    sent: list[WakeUp] = field(default_factory=list)
    published: list[Event] = field(default_factory=list)
    down: bool = False
    reads: int = 0
    """How often events were read."""
    changed: threading.Condition = field(default_factory=threading.Condition)
    _made: int = 0

    def new_id(self, prefix: str) -> str:
        """Return the next id."""
        self._made += 1
        return spell_id(prefix, self._made, bytes(10))

    def check(self, owner_id: OwnerId, thing: str) -> None:
        """Raise while the database is down, or when the thing is not the owner's."""
        if self.down:
            raise DatabaseDown("The database is down.")
        if self.owners.get(thing) != owner_id:
            raise NotFound(f"There is no {thing}.")

    def happen(self, run_id: RunId, event_type: str, /, **payload: Any) -> Event:
        """Add an event to a run."""
        with self.changed:
            run = self.runs[run_id]
            seq = run.last_seq + 1
            event = Event(seq=seq, run_id=run_id, at=EPOCH + timedelta(seconds=seq), type=event_type, payload=payload)
            self.events[run_id].append(event)
            self.runs[run_id] = run.model_copy(update={"last_seq": seq})
            self.changed.notify_all()
        return event

    def move(self, run_id: RunId, status: RunStatus, reason: str | None = None, **changes: Any) -> Event:
        """Give a run another status, with its event."""
        with self.changed:
            run = self.runs[run_id]
            update = {"status": status, "allowed_actions": tuple(allowed_actions(status)), **changes}
            self.runs[run_id] = run.model_copy(update=update)
            return self.happen(run_id, "status_changed", **{"from": run.status, "to": status, "reason": reason})

    def end(self, run_id: RunId, status: RunStatus, stop_reason: str) -> None:
        """Let a run come to its end, with a report where that is what the end brings."""
        with self.changed:
            self.move(run_id, RunStatus.RESEARCHING)
            self.happen(run_id, "progress", phase="searching", message="Searching 1 of 1", step_id="stp_1", counts={})
            if status in (RunStatus.COMPLETED, RunStatus.BUDGET_EXHAUSTED):
                self.move(run_id, RunStatus.SYNTHESIZING)
                self.reports[run_id] = a_report(run_id, status=status.value)
                self.happen(run_id, "report_ready", report_version=1, terminal_status=status)
            self.move(run_id, status, stop_reason, stop_reason=stop_reason, report_version=1, completed_at=EPOCH)

    def add_run(self, owner_id: OwnerId, request: CreateRun, kind: str = "research") -> RunId:
        """Insert a run that has just been created."""
        run_id = RunId(self.new_id("run"))
        self.owners[run_id] = owner_id
        self.events[run_id] = []
        self.runs[run_id] = Run(
            run_id=run_id, kind=kind, of_run_id=None, session_id=request.session_id, status="created",
            resume_phase=None, stop_reason=None, objective=request.objective, depth=request.depth, engine="extractive",
            as_of=request.as_of, language=None, plan=None, plan_version=0, source_policy=request.source_policy,
            budget={}, usage=RunUsage(), counts=RunCounts(), allowed_actions=(), last_error=None, report_version=0,
            last_seq=0, created_at=EPOCH, updated_at=EPOCH, started_at=None, completed_at=None,
        )  # fmt: skip
        self.happen(run_id, "run_created", kind=kind)
        return run_id


@dataclass(slots=True)
class FakeControls:
    """See `shared.ports.gateway.Controls`."""

    desk: Desk

    def create_run(
        self, owner_id: OwnerId, request: CreateRun, key: str | None, engine: str, key_id: str | None = None
    ) -> tuple[RunId, Committed]:
        """Create a run whose plan is ready at once."""
        desk, body = self.desk, request.model_dump_json()
        if desk.down:
            raise DatabaseDown("The database is down.")
        with desk.changed:
            if key is not None and (owner_id, key) in desk.keys:
                kept, known = desk.keys[owner_id, key]
                if kept != body:
                    raise KeyReused
                return known, Committed()
            self._check(owner_id, request)
            run_id = desk.add_run(owner_id, request)
            if key is not None:
                desk.keys[owner_id, key] = (body, run_id)
            desk.move(run_id, RunStatus.PLANNING)
            plan = a_plan(request.objective)
            desk.runs[run_id] = desk.runs[run_id].model_copy(update={"plan": plan, "plan_version": 1, "engine": engine})
            desk.happen(run_id, "plan_ready", plan_version=1, by="planner")
            if request.auto_approve:
                self._go(run_id)
            else:
                desk.move(run_id, RunStatus.AWAITING_PLAN_APPROVAL)
            return run_id, Committed((WakeUp(StepId("stp_1"), StepKind.PLAN),), tuple(desk.events[run_id]))

    def _check(self, owner_id: OwnerId, request: CreateRun) -> None:
        policy = request.source_policy
        if not policy.uses_documents and not policy.urls and policy.web.mode in (None, "none"):
            raise Invalid("The run has no sources: name documents, or set documents_all.", field="source_policy")
        for document_id in policy.document_ids:
            if self.desk.owners.get(document_id) != owner_id:
                raise Invalid(f"There is no document {document_id}.", field="source_policy.document_ids")
        taken = [r for r in self.desk.runs.values() if r.session_id and r.session_id == request.session_id]
        if any(not is_final(RunStatus(run.status)) for run in taken):
            raise Conflict("The session has an open run.", field="session_id")

    def _go(self, run_id: RunId) -> None:
        self.desk.move(run_id, RunStatus.QUEUED, "approved")
        if self.desk.ending is not None:
            self.desk.end(run_id, *self.desk.ending)

    def act(self, owner_id: OwnerId, run_id: RunId, control: ControlRequest, key_id: str | None = None) -> Committed:
        """Approve the plan or cancel the run."""
        self.desk.check(owner_id, run_id)
        run = self.desk.runs[run_id]
        action = Action(control.action)
        self._allow(run, action)
        if action is Action.CANCEL:
            event = self.desk.move(run_id, RunStatus.CANCELLED, "cancelled", stop_reason="cancelled")
            return Committed(events=(event,))
        if control.expected_version is not None and control.expected_version != run.plan_version:
            raise StaleVersion(control.expected_version, run.plan_version)
        self._go(run_id)
        return Committed(events=tuple(self.desk.events[run_id][-1:]))

    def edit_plan(self, owner_id: OwnerId, run_id: RunId, edit: PlanEdit) -> Committed:
        """Replace the plan and some limits."""
        self.desk.check(owner_id, run_id)
        run = self.desk.runs[run_id]
        self._allow(run, Action.EDIT_PLAN)
        if edit.expected_version != run.plan_version:
            raise StaleVersion(edit.expected_version, run.plan_version)
        budget = {**run.budget, **(edit.budget or {})}
        changes = {"plan": edit.plan, "plan_version": run.plan_version + 1, "budget": budget}
        self.desk.runs[run_id] = run.model_copy(update=changes)
        return Committed(events=(self.desk.happen(run_id, "plan_changed", plan_version=run.plan_version + 1),))

    def _allow(self, run: Run, action: Action) -> None:
        if action not in run.allowed_actions:
            raise IllegalAction(action, run.status, run.allowed_actions)

    def admit(self, owner_id: OwnerId) -> Committed:
        """Start nothing: runs of the desk go by themselves."""
        return Committed()

    def delete_run(self, owner_id: OwnerId, run_id: RunId) -> None:
        """Forget the run."""
        self.desk.check(owner_id, run_id)
        with self.desk.changed:
            del self.desk.owners[run_id], self.desk.runs[run_id], self.desk.events[run_id]
            self.desk.changed.notify_all()

    def reverify(self, owner_id: OwnerId, run_id: RunId, key_id: str | None = None) -> tuple[Reverification, Committed]:
        """Start a run that checks nothing and ends at once."""
        desk = self.desk
        desk.check(owner_id, run_id)
        version = desk.runs[run_id].report_version
        with desk.changed:
            again = desk.add_run(owner_id, CreateRun(objective="Check again"), "reverify")
            desk.move(again, RunStatus.SYNTHESIZING)
            desk.move(again, RunStatus.COMPLETED)
        answer = Reverification(run_id=again, of_run_id=run_id, report_version=version)
        return answer, Committed(events=tuple(desk.events[again]))

    def add_documents(
        self, owner_id: OwnerId, uploads: Sequence[Upload], key_id: str | None = None
    ) -> tuple[Ingest, Committed]:
        """Keep documents and read them at once."""
        desk = self.desk
        with desk.changed:
            run_id = desk.add_run(owner_id, CreateRun(objective="Ingest"), "ingest")
            ids = tuple(self._keep(owner_id, upload) for upload in uploads)
            desk.move(run_id, RunStatus.RESEARCHING)
            desk.move(run_id, RunStatus.COMPLETED)
        return Ingest(run_id=run_id, document_ids=ids), Committed(events=tuple(desk.events[run_id]))

    def _keep(self, owner_id: OwnerId, upload: Upload) -> str:
        sha256 = sha256_hex(upload.data)
        for known in self.desk.documents.values():
            if (known.sha256, known.name) == (sha256, upload.name):
                return known.document_id
        document_id = self.desk.new_id("doc")
        failed = upload.name in self.desk.unreadable
        self.desk.owners[document_id] = owner_id
        self.desk.documents[document_id] = Document(
            document_id=document_id, name=upload.name, mime="text/plain", bytes=len(upload.data), sha256=sha256,
            status="failed" if failed else "ready", reason="no text in it" if failed else None, title=None,
            snapshot_sha256=None if failed else sha256, created_at=EPOCH,
        )  # fmt: skip
        return document_id

    def delete_document(self, owner_id: OwnerId, document_id: str) -> None:
        """Forget a document."""
        self.desk.check(owner_id, document_id)
        del self.desk.documents[document_id], self.desk.owners[document_id]


@dataclass(slots=True)
class FakeReads:
    """See `shared.ports.gateway.ReadModel`."""

    desk: Desk

    def run(self, owner_id: OwnerId, run_id: RunId) -> Run:
        """Return the run object."""
        self.desk.check(owner_id, run_id)
        return self.desk.runs[run_id]

    def runs(
        self, owner_id: OwnerId, *, session_id: str | None, status: str | None, cursor: str | None, limit: int
    ) -> RunPage:
        """Return runs, newest first."""
        found = [
            run
            for run_id, run in sorted(self.desk.runs.items(), reverse=True)
            if self.desk.owners[run_id] == owner_id
            and run.kind == "research"
            and session_id in (None, run.session_id)
            and status in (None, run.status)
            and (cursor is None or run_id < cursor)
        ]
        more = found[limit - 1].run_id if len(found) > limit else None
        return RunPage(runs=tuple(found[:limit]), next_cursor=more)

    def events(self, owner_id: OwnerId, run_id: RunId, after: int, limit: int) -> tuple[Event, ...]:
        """Return events over ``after``."""
        self.desk.reads += 1
        self.desk.check(owner_id, run_id)
        return tuple(self.desk.events[run_id][after : after + limit])

    def steps(self, owner_id: OwnerId, run_id: RunId) -> tuple[StepObject, ...]:
        """Return no steps."""
        self.desk.check(owner_id, run_id)
        return ()

    def sources(self, owner_id: OwnerId, run_id: RunId) -> tuple[Source, ...]:
        """Return the sources."""
        self.desk.check(owner_id, run_id)
        return self.desk.sources.get(run_id, ())

    def evidence(self, owner_id: OwnerId, run_id: RunId) -> tuple[Evidence, ...]:
        """Return the evidence."""
        self.desk.check(owner_id, run_id)
        return self.desk.evidence.get(run_id, ())

    def fetches(self, owner_id: OwnerId, run_id: RunId) -> tuple[Fetch, ...]:
        """Return no fetches."""
        self.desk.check(owner_id, run_id)
        return ()

    def report(self, owner_id: OwnerId, run_id: RunId) -> Report:
        """Return the report."""
        self.desk.check(owner_id, run_id)
        if run_id not in self.desk.reports:
            raise NotFound(f"Run {run_id} has no report yet.")
        return self.desk.reports[run_id]

    def rendered(self, owner_id: OwnerId, run_id: RunId, fmt: str) -> tuple[bytes, str]:
        """Return the title of the report as a file."""
        title = self.report(owner_id, run_id).title
        files = {
            "md": (f"# {title}\n".encode(), "text/markdown; charset=utf-8"),
            "html": (f"<h1>{title}</h1>".encode(), "text/html; charset=utf-8"),
            "bundle": (b"PK\x05\x06" + bytes(18), "application/zip"),
        }
        return files[fmt]

    def verification(self, owner_id: OwnerId, run_id: RunId) -> Verification:
        """Return the figures of the report, and no verdicts."""
        return Verification(summary=self.report(owner_id, run_id).verification, verdicts=())

    def documents(self, owner_id: OwnerId, cursor: str | None, limit: int) -> DocumentPage:
        """Return documents, newest first."""
        found = [
            document
            for document_id, document in sorted(self.desk.documents.items(), reverse=True)
            if self.desk.owners[document_id] == owner_id and (cursor is None or document_id < cursor)
        ]
        more = found[limit - 1].document_id if len(found) > limit else None
        return DocumentPage(documents=tuple(found[:limit]), next_cursor=more)

    def document(self, owner_id: OwnerId, document_id: str) -> Document:
        """Return one document."""
        self.desk.check(owner_id, document_id)
        return self.desk.documents[document_id]

    def snapshot_text(self, owner_id: OwnerId, sha256: str) -> str:
        """Return the text of a snapshot."""
        if sha256 not in self.desk.texts:
            raise NotFound(f"There is no snapshot {sha256}.")
        return self.desk.texts[sha256]

    def ready(self) -> None:
        """Raise while the database is down."""
        if self.desk.down:
            raise DatabaseDown("The database is down.")


@dataclass(slots=True)
class FakeSignals:
    """See `shared.ports.watch.Signals`."""

    desk: Desk

    def wake(self, wake_ups: Sequence[WakeUp]) -> int:
        """Note the wake-ups."""
        self.desk.sent.extend(wake_ups)
        return len(wake_ups)

    def publish(self, events: Sequence[Event]) -> None:
        """Note the events."""
        self.desk.published.extend(events)


@dataclass(slots=True)
class FakeWatch:
    """See `shared.ports.watch.Watch`."""

    desk: Desk

    def wait(self, run_id: str, seconds: float) -> None:
        """Return at the next event of any run, or after ``seconds``."""
        with self.desk.changed:
            self.desk.changed.wait(seconds)


def fake_deps(desk: Desk, limits: Limits | None = None) -> Deps:
    """Return the gateway's ports over one desk."""
    return Deps(
        controls=FakeControls(desk),
        reads=FakeReads(desk),
        signals=FakeSignals(desk),
        watch=FakeWatch(desk),
        limits=limits or Limits(),
        outages=(DatabaseDown,),
    )
