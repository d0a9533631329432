"""Taking documents in and removing them."""

from collections.abc import Sequence

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from shared.contracts.runs import Ingest
from shared.db.engine import Transactions, new_id
from shared.db.outbox import Outbox
from shared.db.progress import progress
from shared.db.tables import BlobRow, DocumentRow, RunRow, StepRow
from shared.db.unplanned_runs import begin_unplanned
from shared.domain.errors import NotFound
from shared.domain.ids import OwnerId, RunId, StepId, sha256_hex
from shared.domain.states import RunKind, RunStatus, StepKind, StepStatus
from shared.ports.gateway import Upload
from shared.ports.ledger import Committed


class PostgresDocumentControls:
    """The part of `shared.ports.gateway.Controls` that is about documents."""

    _transactions: Transactions

    def add_documents(
        self, owner_id: OwnerId, uploads: Sequence[Upload], key_id: str | None = None
    ) -> tuple[Ingest, Committed]:
        """Keep files and start the ingest run that reads them; a file that is known already is not read again."""
        run_id = RunId(new_id("run"))
        ids = [new_id("doc") for _ in uploads]
        hashes = [sha256_hex(upload.data) for upload in uploads]

        def work(session: Session) -> tuple[Ingest, Committed]:
            if session.get(RunRow, run_id) is not None:  # an earlier commit worked, its answer was lost
                known = tuple(_document_id(session, owner_id, h, u.name) for h, u in zip(hashes, uploads, strict=True))
                return Ingest(run_id=run_id, document_ids=known), Committed()
            run = RunRow(id=run_id, owner_id=owner_id, kind=RunKind.INGEST, status=RunStatus.CREATED, engine="none")
            run.key_id = key_id
            outbox = begin_unplanned(session, run, f"Ingest {len(uploads)} document(s)")
            document_ids = tuple(
                _take_in(session, run, outbox, DocumentRow(id=i, owner_id=owner_id, name=u.name, sha256=h), u.data)
                for i, u, h in zip(ids, uploads, hashes, strict=True)
            )
            progress(session, run, outbox)
            return Ingest(run_id=run_id, document_ids=document_ids), outbox.committed()

        return self._transactions.run(work)

    def delete_document(self, owner_id: OwnerId, document_id: str) -> None:
        """Remove a document from the library; its snapshot stays for the reports that cite it."""
        found = False

        def work(session: Session) -> None:
            nonlocal found
            gone = session.scalar(
                delete(DocumentRow)
                .where(DocumentRow.id == document_id, DocumentRow.owner_id == owner_id)
                .returning(DocumentRow.id)
            )
            if gone is None and not found:  # else an earlier commit worked, its answer was lost
                raise NotFound(f"There is no document {document_id}.")
            found = True

        self._transactions.run(work)


def _take_in(session: Session, run: RunRow, outbox: Outbox, document: DocumentRow, data: bytes) -> str:
    """Insert a document and the step that reads it; return the id of the same document when it is known.

    One that could not be read before is read again.
    """
    values = {"id": document.id, "owner_id": document.owner_id, "name": document.name, "sha256": document.sha256}
    inserted = session.scalar(
        insert(DocumentRow)
        .values(**values, bytes=len(data), status="pending", ingest_run_id=run.id)
        .on_conflict_do_nothing(index_elements=["owner_id", "sha256", "name"])
        .returning(DocumentRow.id)
    )
    if inserted is None:
        inserted = _take_up(session, run, document)
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
        inputs={
            "document_id": document_id,
            "content_sha256": document.sha256,
            "name": document.name,
            "bytes": len(data),
        },
        status=StepStatus.PENDING,
        wake_at=outbox.wake_at,
    )
    session.add(step)
    outbox.wake(StepId(step.id), StepKind.PARSE)
    return document_id


def _take_up(session: Session, run: RunRow, document: DocumentRow) -> str | None:
    """Let this run read the same document again if it has failed; return its id, or None when that is not so."""
    return session.scalar(
        update(DocumentRow)
        .where(
            DocumentRow.owner_id == document.owner_id,
            DocumentRow.sha256 == document.sha256,
            DocumentRow.name == document.name,
            DocumentRow.status == "failed",
        )
        .values(status="pending", reason=None, ingest_run_id=run.id)
        .returning(DocumentRow.id)
    )


def _document_id(session: Session, owner_id: OwnerId, sha256: str, name: str) -> str:
    wanted = select(DocumentRow.id).where(
        DocumentRow.owner_id == owner_id, DocumentRow.sha256 == sha256, DocumentRow.name == name
    )
    document_id: str = session.execute(wanted).scalar_one()
    return document_id
