"""A ledger with runs on it, for integration tests: real Postgres, steps ended by hand."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import text

from shared.contracts.evidence import Fetch, Source
from shared.contracts.plan import Plan, PlannedSection, Question, SearchTask
from shared.contracts.runs import ControlRequest, CreateRun, SourcePolicy
from shared.db.content import PostgresBlobs, PostgresSnapshots
from shared.db.controls import PostgresControls
from shared.db.engine import Transactions, new_id
from shared.db.index import PostgresDocumentIndex
from shared.db.ledger import LedgerLimits, PostgresLedger
from shared.db.materials import PostgresMaterials
from shared.db.read_model import PostgresReadModel
from shared.db.receipts import PostgresReceipts
from shared.db.sweep import PostgresSweep
from shared.domain.ids import LOCAL_OWNER, RunId, StepId
from shared.domain.kinds import QUEUES
from shared.domain.states import StepKind
from shared.ports.gateway import Upload
from shared.ports.ledger import Committed, FoundSource, Lease, Outcome

ALL_KINDS = frozenset(StepKind)


@dataclass
class Stage:
    """Everything that stands on one test database."""

    transactions: Transactions
    lease_s: float = 60.0
    max_running: int = 4

    def __post_init__(self) -> None:
        """Open the adapters."""
        limits = LedgerLimits(self.lease_s, self.max_running)
        self.ledger = PostgresLedger(self.transactions, limits)
        self.sweep = PostgresSweep(self.transactions, limits)
        self.controls = PostgresControls(self.transactions, max_running_runs=self.max_running)
        self.reads = PostgresReadModel(self.transactions)
        self.materials = PostgresMaterials(self.transactions)
        self.snapshots = PostgresSnapshots(self.transactions)
        self.blobs = PostgresBlobs(self.transactions)
        self.index = PostgresDocumentIndex(self.transactions)
        self.receipts = PostgresReceipts(self.transactions)

    def act(self, run_id: RunId, action: str, **more: Any) -> Committed:
        """Carry out an action of the local owner."""
        return self.controls.act(LOCAL_OWNER, run_id, ControlRequest(action=action, **more))  # type: ignore[arg-type]

    def document(self, name: str = "a.txt", data: bytes = b"Some words.") -> str:
        """Upload a document; return its id."""
        ingest, _ = self.controls.add_documents(LOCAL_OWNER, [Upload(name, data)])
        return ingest.document_ids[0]

    def create(self, **changes: Any) -> tuple[RunId, Committed]:
        """Create a run over one document."""
        key = changes.pop("key", None)
        policy = SourcePolicy(document_ids=(self.document(),))
        values = {"objective": "How deep is it?", "depth": "quick", "source_policy": policy} | changes
        return self.controls.create_run(LOCAL_OWNER, CreateRun(**values), key, "extractive")

    def claim(self, step_id: StepId, worker: str = "w1") -> Lease:
        """Claim a step that has to be claimable."""
        claimed = self.ledger.claim(step_id, ALL_KINDS, worker)
        assert claimed is not None
        return claimed[0]

    def finish(self, step_id: StepId, outcome: Outcome) -> Committed:
        """Claim a step and commit an outcome."""
        committed = self.ledger.commit(self.claim(step_id), outcome)
        assert committed is not None
        return committed

    def planned(self, **changes: Any) -> tuple[RunId, Committed]:
        """Create a run and finish its plan step."""
        run_id, created = self.create(**changes)
        return run_id, self.finish(created.wake_ups[0].step_id, Outcome("planned", plan=plan()))

    def researching(self, **changes: Any) -> tuple[RunId, Committed]:
        """Create a run and bring it to its first searches."""
        run_id, _ = self.planned(**changes)
        if self.reads.run(LOCAL_OWNER, run_id).status == "awaiting_plan_approval":
            self.act(run_id, "approve_plan", expected_version=1)
        return run_id, self.ledger.admit(LOCAL_OWNER)

    def expire(self, lease: Lease) -> None:
        """Let a lease run out, by the database's clock."""
        self.scalar(
            "update steps set leased_until = clock_timestamp() - interval '1 second' where id = :id returning 1",
            id=lease.step_id,
        )

    def lapse(self, seconds: float) -> None:
        """Let time pass for whatever the sweeper waits for: wake-ups, retries, runs to look at, running clocks."""
        for table, columns in (("steps", ("wake_at", "not_before")), ("runs", ("wake_at", "active_since"))):
            earlier = ", ".join(f"{c} = {c} - make_interval(secs => :s)" for c in columns)
            self.rows(f"update {table} set {earlier} returning id", s=seconds)
        for table, columns in (("steps", ("created_at", "ended_at", "works_since")), ("events", ("at",))):
            earlier = ", ".join(f"{c} = {c} - make_interval(secs => :s)" for c in columns)
            self.rows(f"update {table} set {earlier} returning 1", s=seconds)

    def due(self, limit: int = 100) -> list[StepId]:
        """Return what a sweeper sends now, over all queues."""
        return [w.step_id for queue in QUEUES for w in self.sweep.take_due(queue, limit)]

    def look(self) -> list[Committed]:
        """Do what a sweeper does for runs whose time has come."""
        return [self.sweep.advance(run_id) for run_id in self.sweep.due_runs(100)]

    def other_owner(self, owner_id: str) -> None:
        """Add an owner beside the local one."""
        self.scalar("insert into owners (id) values (:id) returning 1", id=owner_id)

    def pending(self, run_id: RunId, kind: str) -> list[StepId]:
        """Return the pending steps of a kind, by key."""
        rows = self.rows(
            "select id from steps where run_id = :id and kind = :kind and status = 'pending' order by key",
            id=run_id,
            kind=kind,
        )
        return [StepId(r.id) for r in rows]

    def status(self, run_id: RunId) -> str:
        """Return where a run of the local owner stands."""
        return self.reads.run(LOCAL_OWNER, run_id).status

    def rows(self, query: str, **values: Any) -> list[Any]:
        """Run a query for an assertion."""
        return self.transactions.run(lambda s: list(s.execute(text(query), values).all()))

    def scalar(self, query: str, **values: Any) -> Any:
        """Run a query for one value."""
        return self.transactions.run(lambda s: s.execute(text(query), values).scalar())


def plan(questions: int = 1) -> Plan:
    """Return a small plan."""
    ids = [f"q{n}" for n in range(1, questions + 1)]
    return Plan(
        title="T",
        objective="O",
        questions=tuple(Question(id=i, text=f"How deep is {i}?") for i in ids),
        search_tasks=tuple(SearchTask(question_ids=(i,), query=f"depth {i}") for i in ids),
        writing_plan=tuple(PlannedSection(id=f"s{i[1:]}", title=i, question_ids=(i,)) for i in ids),
    )


def found(run_id: str, lease_key: str, count: int = 1) -> tuple[FoundSource, ...]:
    """Return candidates as a search gives them."""
    return tuple(
        FoundSource(
            Source(
                source_id=new_id("src"),
                kind="document",
                status="candidate",
                url=f"leadline:document/{n}",
                canonical_url=f"leadline:document/{n}",
                document_id=f"doc_{n}",
            ),
            lease_key,
            n,
        )
        for n in range(count)
    )


def fetch(source_id: str) -> Fetch:
    """Return a row of the fetch log."""
    return Fetch(fetch_id=new_id("fch"), source_id=source_id, requested_url="u", tier="document", at=datetime.now(UTC))
