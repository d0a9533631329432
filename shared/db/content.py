"""Content-addressed storage: bytes on their way to parsing, and the snapshots with their passages for searching."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from shared.contracts.snapshot import Parse, Snapshot
from shared.db.engine import Transactions
from shared.db.tables import BlobRow, ParseRow, PassageRow, SnapshotRow
from shared.domain.ids import OwnerId, sha256_hex
from shared.domain.passages import passage_terms, passages


class PostgresBlobs:
    """See `shared.ports.materials.Blobs`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def put(self, owner_id: OwnerId, data: bytes) -> str:
        """Keep bytes; return their sha256."""
        sha256 = sha256_hex(data)
        row = insert(BlobRow).values(owner_id=owner_id, sha256=sha256, data=data).on_conflict_do_nothing()
        self._transactions.run(lambda session: session.execute(row))
        return sha256

    def get(self, owner_id: OwnerId, sha256: str) -> bytes | None:
        """Return the bytes, or None when they are gone."""
        wanted = select(BlobRow.data).where(BlobRow.owner_id == owner_id, BlobRow.sha256 == sha256)
        return self._transactions.run(lambda session: session.scalar(wanted))

    def drop(self, owner_id: OwnerId, sha256: str) -> None:
        """Forget the bytes."""
        gone = delete(BlobRow).where(BlobRow.owner_id == owner_id, BlobRow.sha256 == sha256)
        self._transactions.run(lambda session: session.execute(gone))


class PostgresSnapshots:
    """See `shared.ports.materials.Snapshots`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def put(self, owner_id: OwnerId, snapshot: Snapshot, parse: Parse) -> None:
        """Keep a snapshot and what reading its bytes gave, and index its text for searching."""
        rows = _passage_rows(owner_id, snapshot, parse.title or "")

        def work(session: Session) -> None:
            new = session.scalar(
                insert(SnapshotRow)
                .values(_snapshot_values(owner_id, snapshot))
                .on_conflict_do_nothing()
                .returning(SnapshotRow.sha256)
            )
            if new is not None and rows:
                session.execute(insert(PassageRow).on_conflict_do_nothing(), rows)
            session.execute(_parse_insert(owner_id, parse))

        self._transactions.run(work)

    def put_failed(self, owner_id: OwnerId, parse: Parse) -> None:
        """Keep the fact that these bytes cannot be read."""
        self._transactions.run(lambda session: session.execute(_parse_insert(owner_id, parse)))

    def get(self, owner_id: OwnerId, sha256: str) -> Snapshot | None:
        """Return a snapshot."""
        return self.get_many(owner_id, [sha256]).get(sha256)

    def get_many(self, owner_id: OwnerId, sha256s: Collection[str]) -> dict[str, Snapshot]:
        """Return the snapshots that exist, by sha256."""
        wanted = select(SnapshotRow).where(SnapshotRow.owner_id == owner_id, SnapshotRow.sha256.in_(list(sha256s)))
        rows = self._transactions.run(lambda session: session.scalars(wanted).all())
        return {row.sha256: _snapshot(row) for row in rows}

    def parsed(self, owner_id: OwnerId, content_sha256: str, reader_version: str) -> Parse | None:
        """Return what an earlier reading of the same bytes by the same reader gave."""
        wanted = select(ParseRow.body).where(
            ParseRow.owner_id == owner_id,
            ParseRow.content_sha256 == content_sha256,
            ParseRow.reader_version == reader_version,
        )
        body = self._transactions.run(lambda session: session.scalar(wanted))
        return Parse.model_validate(body) if body is not None else None


def _snapshot_values(owner_id: OwnerId, snapshot: Snapshot) -> dict[str, Any]:
    return {
        "owner_id": owner_id,
        "sha256": snapshot.sha256,
        "data": snapshot.text.encode(),
        "segmenter_version": snapshot.segmenter_version,
        "segments": [offset for span in snapshot.segments for offset in span],
        "signature": list(snapshot.signature),
        "maps": {
            "headings": [h.model_dump() for h in snapshot.headings],
            "pages": [p.model_dump() for p in snapshot.pages],
            "parts": [p.model_dump() for p in snapshot.parts],
            "rows": snapshot.rows,
            "truncated": snapshot.truncated,
        },
    }


def _snapshot(row: SnapshotRow) -> Snapshot:
    flat = row.segments
    return Snapshot(
        sha256=row.sha256,
        text=row.data.decode(),
        segmenter_version=row.segmenter_version,
        segments=tuple(zip(flat[::2], flat[1::2], strict=True)),
        signature=tuple(row.signature),
        **row.maps,
    )


def _passage_rows(owner_id: OwnerId, snapshot: Snapshot, title: str) -> list[dict[str, Any]]:
    return [
        {
            "owner_id": owner_id,
            "snapshot_sha256": snapshot.sha256,
            "ordinal": ordinal,
            "start": start,
            "end": end,
            "terms": passage_terms(title, snapshot.text[start:end]),
        }
        for ordinal, (start, end) in enumerate(passages(snapshot.segments))
    ]


def _parse_insert(owner_id: OwnerId, parse: Parse) -> Any:
    return (
        insert(ParseRow)
        .values(
            owner_id=owner_id,
            content_sha256=parse.content_sha256,
            reader_version=parse.reader_version,
            snapshot_sha256=parse.snapshot_sha256,
            body=parse.model_dump(mode="json"),
        )
        .on_conflict_do_nothing()
    )
