"""What a person may do to runs and documents; each call is one transaction."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from shared.contracts.plan import Plan
from shared.contracts.runs import CreateRun, Ingest
from shared.db.engine import Transactions, new_id
from shared.db.ledger import database_now, lock_run
from shared.db.outbox import Outbox
from shared.db.progress import end_open_steps, progress, set_status
from shared.db.tables import BlobRow, DocumentRow, IdempotencyRow, OwnerRow, PlanRow, RequestRow, RunRow, StepRow
from shared.domain.budget import TIERS, Depth, limits_for
from shared.domain.errors import Conflict, IllegalAction, Invalid, KeyReused, NotFound, StaleVersion
from shared.domain.ids import OwnerId, RunId, StepId, sha256_hex
from shared.domain.states import Action, RunKind, RunStatus, StepKind, StepStatus, allowed_actions
from shared.ports.gateway import Upload
from shared.ports.ledger import Committed

_OPEN_SESSION = "uq_runs_open_session"


@dataclass(frozen=True, slots=True)
class _NewRun:
    run_id: RunId
    owner_id: OwnerId
    request: CreateRun
    engine: str
    key_sha256: str | None
    body_sha256: str


class PostgresControls:
    """See `shared.ports.gateway.Controls`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def create_run(
        self, owner_id: OwnerId, request: CreateRun, key: str | None, engine: str
    ) -> tuple[RunId, Committed]:
        """Create a run, or return the one that this idempotency key made."""
        limits = limits_for(request.depth, {k: v for k, v in request.budget.model_dump().items() if v is not None})
        key_sha256 = sha256_hex(key.encode()) if key is not None else None
        body_sha256 = sha256_hex(request.model_dump_json().encode())
        new = _NewRun(RunId(new_id("run")), owner_id, request, engine, key_sha256, body_sha256)

        def work(session: Session) -> tuple[RunId, Committed]:
            known = _known_run(session, new)
            if known is not None:
                return known, Committed()
            _check_documents(session, owner_id, request)
            run = _insert_run(session, new)
            session.add(RequestRow(run_id=run.id, body=request.model_dump(mode="json"), limits=asdict(limits)))
            session.flush()
            outbox = Outbox(session, run, database_now(session))
            outbox.event("run_created", kind=RunKind.RESEARCH, depth=request.depth, engine=engine)
            progress(session, run, outbox)
            return new.run_id, outbox.committed()

        try:
            return self._transactions.run(work)
        except IntegrityError as error:
            if _OPEN_SESSION in str(error.orig):
                raise Conflict(
                    f"The session {request.session_id} has an open run: wait until it ends, or cancel it.",
                    field="session_id",
                ) from error
            return self._transactions.run(work)  # another request with this key won the race: find its run

    def approve(self, owner_id: OwnerId, run_id: RunId, expected_version: int | None) -> Committed:
        """Approve the plan; approving the approved version again changes nothing."""

        def work(session: Session, run: RunRow, outbox: Outbox) -> None:
            if expected_version is not None and expected_version != run.plan_version:
                raise StaleVersion(expected_version, run.plan_version)
            status = RunStatus(run.status)
            if status in (RunStatus.QUEUED, RunStatus.RESEARCHING, RunStatus.SYNTHESIZING):
                return
            _allow(run, Action.APPROVE_PLAN)
            outbox.event("control", action=Action.APPROVE_PLAN, by=owner_id)
            set_status(run, outbox, RunStatus.QUEUED, "approved")
            progress(session, run, outbox)

        return self._on_run(owner_id, run_id, work)

    def edit_plan(self, owner_id: OwnerId, run_id: RunId, expected_version: int, plan: Plan) -> Committed:
        """Replace the plan by a new version."""

        def work(session: Session, run: RunRow, outbox: Outbox) -> None:
            _allow(run, Action.EDIT_PLAN)
            if expected_version != run.plan_version:
                raise StaleVersion(expected_version, run.plan_version)
            run.plan_version += 1
            body = plan.model_dump(mode="json")
            session.add(PlanRow(run_id=run.id, version=run.plan_version, body=body, by=owner_id))
            outbox.event("plan_changed", plan_version=run.plan_version, by=owner_id)
            run.updated_at = outbox.now

        return self._on_run(owner_id, run_id, work)

    def cancel(self, owner_id: OwnerId, run_id: RunId) -> Committed:
        """Cancel the run and fence every step of it; cancelling a cancelled run changes nothing."""

        def work(session: Session, run: RunRow, outbox: Outbox) -> None:
            if run.status == RunStatus.CANCELLED:
                return
            _allow(run, Action.CANCEL)
            end_open_steps(session, run, None, outbox)
            outbox.event("control", action=Action.CANCEL, by=owner_id)
            run.stop_reason, run.updated_at = "cancelled", outbox.now
            set_status(run, outbox, RunStatus.CANCELLED, "cancelled")

        return self._on_run(owner_id, run_id, work)

    def delete_run(self, owner_id: OwnerId, run_id: RunId) -> None:
        """Remove every row of the run; a worker that still holds a step of it finds nothing to record to."""

        def work(session: Session) -> None:
            if _owned(session, owner_id, run_id) is None:
                raise NotFound(f"There is no run {run_id}.")
            session.execute(delete(RunRow).where(RunRow.id == run_id))

        self._transactions.run(work)

    def add_documents(self, owner_id: OwnerId, uploads: Sequence[Upload]) -> tuple[Ingest, Committed]:
        """Keep files and start the ingest run that reads them; a file that is known already is not read again."""
        run_id = RunId(new_id("run"))
        ids = [new_id("doc") for _ in uploads]
        hashes = [sha256_hex(upload.data) for upload in uploads]

        def work(session: Session) -> tuple[Ingest, Committed]:
            if session.get(RunRow, run_id) is not None:  # an earlier commit worked, its answer was lost
                known = tuple(_document_id(session, owner_id, h, u.name) for h, u in zip(hashes, uploads, strict=True))
                return Ingest(run_id=run_id, document_ids=known), Committed()
            run = RunRow(id=run_id, owner_id=owner_id, kind=RunKind.INGEST, status=RunStatus.CREATED, engine="none")
            session.add(run)
            request = CreateRun(objective=f"Ingest {len(uploads)} document(s)", depth=Depth.QUICK)
            limits = asdict(TIERS[Depth.QUICK])
            session.flush()
            session.add(RequestRow(run_id=run_id, body=request.model_dump(mode="json"), limits=limits))
            outbox = Outbox(session, run, database_now(session))
            outbox.event("run_created", kind=RunKind.INGEST, depth=None, engine=None)
            document_ids = tuple(
                _take_in(session, run, outbox, DocumentRow(id=i, owner_id=owner_id, name=u.name, sha256=h), u.data)
                for i, u, h in zip(ids, uploads, hashes, strict=True)
            )
            progress(session, run, outbox)
            return Ingest(run_id=run_id, document_ids=document_ids), outbox.committed()

        return self._transactions.run(work)

    def delete_document(self, owner_id: OwnerId, document_id: str) -> None:
        """Remove a document from the library; its snapshot stays for the reports that cite it."""

        def work(session: Session) -> None:
            gone = session.scalar(
                delete(DocumentRow)
                .where(DocumentRow.id == document_id, DocumentRow.owner_id == owner_id)
                .returning(DocumentRow.id)
            )
            if gone is None:
                raise NotFound(f"There is no document {document_id}.")

        self._transactions.run(work)

    def _on_run(self, owner_id: OwnerId, run_id: RunId, work: Callable[[Session, RunRow, Outbox], None]) -> Committed:
        def locked(session: Session) -> Committed:
            if _owned(session, owner_id, run_id) is None:
                raise NotFound(f"There is no run {run_id}.")
            run = lock_run(session, run_id)
            if run is None:
                raise NotFound(f"There is no run {run_id}.")
            outbox = Outbox(session, run, database_now(session))
            work(session, run, outbox)
            return outbox.committed()

        return self._transactions.run(locked)


def ensure_owner(session: Session, owner_id: OwnerId) -> None:
    """Insert the owner unless it exists."""
    session.execute(insert(OwnerRow).values(id=owner_id).on_conflict_do_nothing())


def _owned(session: Session, owner_id: OwnerId, run_id: RunId) -> str | None:
    return session.scalar(select(RunRow.id).where(RunRow.id == run_id, RunRow.owner_id == owner_id))


def _allow(run: RunRow, action: Action) -> None:
    allowed = allowed_actions(RunStatus(run.status))
    if action not in allowed:
        raise IllegalAction(action, run.status, allowed)


def _known_run(session: Session, new: _NewRun) -> RunId | None:
    """Return the run that this request made before: under its key, or in a commit whose answer was lost."""
    if _owned(session, new.owner_id, new.run_id) is not None:
        return new.run_id
    if new.key_sha256 is None:
        return None
    row = session.get(IdempotencyRow, (new.owner_id, new.key_sha256))
    if row is None:
        return None
    if row.body_sha256 != new.body_sha256:
        raise KeyReused
    return RunId(row.run_id)


def _insert_run(session: Session, new: _NewRun) -> RunRow:
    run = RunRow(
        id=new.run_id,
        owner_id=new.owner_id,
        kind=RunKind.RESEARCH,
        status=RunStatus.CREATED,
        session_id=new.request.session_id,
        engine=new.engine,
        auto_approve=new.request.auto_approve,
    )
    session.add(run)
    session.flush()
    if new.key_sha256 is not None:
        session.add(
            IdempotencyRow(
                owner_id=new.owner_id, key_sha256=new.key_sha256, body_sha256=new.body_sha256, run_id=new.run_id
            )
        )
        session.flush()
    return run


def _check_documents(session: Session, owner_id: OwnerId, request: CreateRun) -> None:
    policy = request.source_policy
    if policy.document_ids:
        known = set(
            session.scalars(
                select(DocumentRow.id).where(DocumentRow.owner_id == owner_id, DocumentRow.id.in_(policy.document_ids))
            )
        )
        missing = [i for i in policy.document_ids if i not in known]
        if missing:
            raise Invalid(f"There is no document {missing[0]}.", field="source_policy.document_ids")
        return
    if not policy.documents_all:
        raise Invalid("The run has no sources: name documents, or set documents_all.", field="source_policy")
    if session.scalar(select(DocumentRow.id).where(DocumentRow.owner_id == owner_id).limit(1)) is None:
        raise Invalid("There are no documents yet: upload some first.", field="source_policy.documents_all")


def _take_in(session: Session, run: RunRow, outbox: Outbox, document: DocumentRow, data: bytes) -> str:
    """Insert a document and the step that reads it; return the id of the same document when it is known."""
    values = {"id": document.id, "owner_id": document.owner_id, "name": document.name, "sha256": document.sha256}
    inserted = session.scalar(
        insert(DocumentRow)
        .values(**values, bytes=len(data), status="pending", ingest_run_id=run.id)
        .on_conflict_do_nothing(index_elements=["owner_id", "sha256", "name"])
        .returning(DocumentRow.id)
    )
    if inserted is None:
        return _document_id(session, OwnerId(document.owner_id), document.sha256, document.name)
    session.execute(
        insert(BlobRow).values(owner_id=document.owner_id, sha256=document.sha256, data=data).on_conflict_do_nothing()
    )
    document_id = str(inserted)
    step = StepRow(
        id=new_id("stp"),
        run_id=run.id,
        epoch=run.epoch,
        kind=StepKind.PARSE,
        key=f"parse:{document_id}",
        iteration=0,
        subject=document_id,
        inputs={"document_id": document_id, "content_sha256": document.sha256, "name": document.name},
        status=StepStatus.PENDING,
    )
    session.add(step)
    outbox.wake(StepId(step.id), StepKind.PARSE)
    return document_id


def _document_id(session: Session, owner_id: OwnerId, sha256: str, name: str) -> str:
    wanted = select(DocumentRow.id).where(
        DocumentRow.owner_id == owner_id, DocumentRow.sha256 == sha256, DocumentRow.name == name
    )
    document_id: str = session.execute(wanted).scalar_one()
    return document_id
