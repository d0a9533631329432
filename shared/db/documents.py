"""The queries about documents that answer people."""

from collections.abc import Sequence
from typing import Literal, cast

from sqlalchemy import Select, select

from shared.contracts.runs import Document, DocumentPage
from shared.db.engine import Transactions
from shared.db.tables import DocumentRow
from shared.domain.errors import NotFound
from shared.domain.ids import OwnerId


def document_of(row: DocumentRow) -> Document:
    """Return the document object of a row."""
    return Document(
        document_id=row.id,
        name=row.name,
        mime=row.mime,
        bytes=row.bytes,
        sha256=row.sha256,
        status=cast(Literal["pending", "ready", "failed"], row.status),
        reason=row.reason,
        title=row.title,
        snapshot_sha256=row.snapshot_sha256,
        created_at=row.created_at,
    )


class PostgresDocumentReads:
    """The part of `shared.ports.gateway.ReadModel` that is about documents."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def documents(self, owner_id: OwnerId, cursor: str | None, limit: int) -> DocumentPage:
        """Return documents, newest first."""
        wanted = select(DocumentRow).where(DocumentRow.owner_id == owner_id)
        if cursor is not None:
            wanted = wanted.where(DocumentRow.id < cursor)
        found = self._all(wanted.order_by(DocumentRow.id.desc()).limit(limit + 1))
        more = found[limit - 1].id if len(found) > limit else None
        return DocumentPage(documents=tuple(document_of(row) for row in found[:limit]), next_cursor=more)

    def document(self, owner_id: OwnerId, document_id: str) -> Document:
        """Return one document."""
        found = self._all(select(DocumentRow).where(DocumentRow.id == document_id, DocumentRow.owner_id == owner_id))
        if not found:
            raise NotFound(f"There is no document {document_id}.")
        return document_of(found[0])

    def _all(self, wanted: Select[DocumentRow]) -> Sequence[DocumentRow]:
        return self._transactions.run(lambda session: session.scalars(wanted).all())
