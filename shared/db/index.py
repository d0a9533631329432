"""The document index: BM25 over passages, candidates by a GIN index over their terms."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Float, Integer, Select, any_, bindparam, column, func, select, true, values
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session
from sqlalchemy.types import Text

from shared.contracts.runs import Document
from shared.db.documents import document_of
from shared.db.engine import Transactions
from shared.db.tables import DocumentRow, PassageRow
from shared.domain.errors import NotFound
from shared.domain.ids import OwnerId
from shared.domain.rank import CorpusStats, bm25
from shared.ports.materials import DocumentHit

CANDIDATE_PASSAGES = 400
"""Passages that are scored in full for one query, those that hold the most query weight first."""


class PostgresDocumentIndex:
    """See `shared.ports.materials.DocumentIndex`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def search(
        self, owner_id: OwnerId, terms: Sequence[str], document_ids: Sequence[str] | None, limit: int
    ) -> tuple[DocumentHit, ...]:
        """Return the best documents for the terms by their best passage, best first; ties by id."""
        wanted = sorted(set(terms))
        if not wanted:
            return ()

        def work(session: Session) -> tuple[DocumentHit, ...]:
            stats = _stats(session, owner_id, wanted, document_ids)
            weights = {term: stats.weight(term) for term in wanted}
            best: dict[str, DocumentHit] = {}
            for document_id, name, title, held in session.execute(_candidates(owner_id, weights, document_ids)):
                score = bm25(wanted, held, stats)
                known = best.get(document_id)
                if known is None or score > known.score:
                    best[document_id] = DocumentHit(document_id, name, title, score)
            return tuple(sorted(best.values(), key=lambda hit: (-hit.score, hit.document_id))[:limit])

        return self._transactions.run(work)

    def stats(self, owner_id: OwnerId, terms: Collection[str], document_ids: Sequence[str] | None) -> CorpusStats:
        """Count passages and how many of them hold each term."""
        return self._transactions.run(lambda s: _stats(s, owner_id, sorted(set(terms)), document_ids))

    def document(self, owner_id: OwnerId, document_id: str) -> Document:
        """Return a document."""
        wanted = select(DocumentRow).where(DocumentRow.id == document_id, DocumentRow.owner_id == owner_id)
        row = self._transactions.run(lambda session: session.scalar(wanted))
        if row is None:
            raise NotFound(f"There is no document {document_id}.")
        return document_of(row)


def _in_scope(owner_id: OwnerId, document_ids: Sequence[str] | None) -> ColumnElement[bool]:
    scope = (DocumentRow.owner_id == owner_id) & (DocumentRow.status == "ready")
    return scope if document_ids is None else scope & (DocumentRow.id == any_(_texts(document_ids)))


def _texts(items: Collection[str]) -> Any:
    return bindparam(None, list(items), type_=ARRAY(Text()))


def _snapshots(owner_id: OwnerId, document_ids: Sequence[str] | None) -> Select[Any]:
    """Return each snapshot in scope once, however many documents have it."""
    return select(DocumentRow.snapshot_sha256).where(_in_scope(owner_id, document_ids)).distinct()


def _candidates(owner_id: OwnerId, weights: dict[str, float], document_ids: Sequence[str] | None) -> Select[Any]:
    weighed = values(column("term", Text()), column("weight", Float()), name="weighed").data(list(weights.items()))
    held = select(func.sum(weighed.c.weight)).where(weighed.c.term == any_(PassageRow.terms)).scalar_subquery()
    top = (
        select(PassageRow.snapshot_sha256, PassageRow.ordinal, PassageRow.terms)
        .where(
            PassageRow.owner_id == owner_id,
            PassageRow.terms.overlap(_texts(weights)),
            PassageRow.snapshot_sha256.in_(_snapshots(owner_id, document_ids)),
        )
        .order_by(held.desc(), PassageRow.snapshot_sha256, PassageRow.ordinal)
        .limit(CANDIDATE_PASSAGES)
        .subquery()
    )
    return (
        select(DocumentRow.id, DocumentRow.name, DocumentRow.title, top.c.terms)
        .join(top, top.c.snapshot_sha256 == DocumentRow.snapshot_sha256)
        .where(_in_scope(owner_id, document_ids))
    )


def _stats(
    session: Session, owner_id: OwnerId, terms: Sequence[str], document_ids: Sequence[str] | None
) -> CorpusStats:
    """Count over the snapshots in scope; term frequencies come from the GIN index, one look-up a term."""
    scope = (PassageRow.owner_id == owner_id) & PassageRow.snapshot_sha256.in_(_snapshots(owner_id, document_ids))
    count, mean = session.execute(
        select(func.count(), func.coalesce(func.avg(func.cardinality(PassageRow.terms)), 0.0)).where(scope)
    ).one()
    term = func.unnest(_texts(terms)).column_valued("term")
    holding = (
        select(func.count(type_=Integer()))
        .select_from(PassageRow)
        .where(scope, PassageRow.terms.contains(func.array_append(_texts([]), term)))
        .scalar_subquery()
    )
    frequency = session.execute(select(term, holding).where(true())).all() if terms else []
    return CorpusStats(int(count), float(mean), dict(frequency))
