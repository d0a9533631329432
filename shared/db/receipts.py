"""Receipts over Postgres, each in a transaction of its own so that a crash after the call does not lose it."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from shared.db.engine import Transactions
from shared.db.tables import ReceiptRow
from shared.ports.ledger import Lease


class PostgresReceipts:
    """See `shared.ports.ledger.Receipts`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def find(self, lease: Lease, request_hash: str) -> Mapping[str, Any] | None:
        """Return the kept answer to the request within this step and epoch."""

        def work(session: Session) -> Mapping[str, Any] | None:
            return session.scalar(
                select(ReceiptRow.answer).where(
                    ReceiptRow.step_id == lease.step_id,
                    ReceiptRow.epoch == lease.epoch,
                    ReceiptRow.request_sha256 == request_hash,
                )
            )

        return self._transactions.run(work)

    def keep(self, lease: Lease, request_hash: str, kind: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer; the first one kept for a request stays."""

        def work(session: Session) -> None:
            session.execute(
                insert(ReceiptRow)
                .values(
                    step_id=lease.step_id,
                    epoch=lease.epoch,
                    request_sha256=request_hash,
                    kind=kind,
                    answer=dict(answer),
                )
                .on_conflict_do_nothing()
            )

        self._transactions.run(work)
