"""Bearer keys over Postgres."""

import hmac
import os
from datetime import timedelta

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from shared.db.engine import Transactions, new_id
from shared.db.tables import ApiKeyRow, OwnerRow
from shared.domain.errors import NotFound
from shared.domain.ids import OwnerId
from shared.domain.keys import ID_BYTES, SECRET_BYTES, read_key, spell_key
from shared.ports.keys import Holder, KeyFacts

USED_AT_GRAIN_S = 60
"""How fresh the time of a key's last use is kept; a write at every request would cost more than it tells."""


class PostgresKeys:
    """See `shared.ports.keys.KeyRing`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def holder_of(self, key: str) -> Holder | None:
        """Return whose living key this is; None for an unknown, revoked or expired one."""
        spelt = read_key(key)
        if spelt is None:
            return None

        def work(session: Session) -> Holder | None:
            row = session.scalar(select(ApiKeyRow).where(ApiKeyRow.id == spelt.key_id, _living()))
            if row is None or not hmac.compare_digest(row.secret_sha256, spelt.sha256):
                return None
            stale = func.clock_timestamp() - timedelta(seconds=USED_AT_GRAIN_S)
            session.execute(
                update(ApiKeyRow)
                .where(ApiKeyRow.id == row.id, or_(ApiKeyRow.last_used_at.is_(None), ApiKeyRow.last_used_at < stale))
                .values(last_used_at=func.clock_timestamp())
            )
            return Holder(OwnerId(row.owner_id), row.id)

        return self._transactions.run(work)

    def living(self, key_id: str) -> bool:
        """Tell whether a key that was good before still is."""
        wanted = select(ApiKeyRow.id).where(ApiKeyRow.id == key_id, _living())
        return self._transactions.run(lambda session: session.scalar(wanted)) is not None

    def create(self, owner_name: str, name: str, days: int | None) -> str:
        """Make a key for the owner of this name, who is made too if need be; return the key, which is not kept."""
        spelt = spell_key(os.urandom(ID_BYTES + SECRET_BYTES))
        owner_id = new_id("own")

        def work(session: Session) -> None:
            session.execute(
                insert(OwnerRow).values(id=owner_id, name=owner_name).on_conflict_do_nothing(index_elements=["name"])
            )
            owner = session.execute(select(OwnerRow.id).where(OwnerRow.name == owner_name)).scalar_one()
            until = func.clock_timestamp() + timedelta(days=days) if days is not None else None
            session.execute(
                insert(ApiKeyRow)
                .values(id=spelt.key_id, owner_id=owner, name=name, secret_sha256=spelt.sha256, expires_at=until)
                .on_conflict_do_nothing()
            )

        self._transactions.run(work)
        return spelt.text

    def every(self) -> tuple[KeyFacts, ...]:
        """Return all keys, newest first."""
        wanted = (
            select(ApiKeyRow, func.coalesce(OwnerRow.name, OwnerRow.id))
            .join(OwnerRow, OwnerRow.id == ApiKeyRow.owner_id)
            .order_by(ApiKeyRow.created_at.desc())
        )
        rows = self._transactions.run(lambda session: session.execute(wanted).all())
        return tuple(
            KeyFacts(
                key_id=row.id,
                owner=owner,
                name=row.name,
                created_at=row.created_at,
                expires_at=row.expires_at,
                revoked_at=row.revoked_at,
                last_used_at=row.last_used_at,
            )
            for row, owner in rows
        )

    def revoke(self, key_id: str) -> None:
        """Revoke a key. Revoking twice changes nothing."""
        now = func.coalesce(ApiKeyRow.revoked_at, func.clock_timestamp())
        gone = update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(revoked_at=now).returning(ApiKeyRow.id)
        if self._transactions.run(lambda session: session.scalar(gone)) is None:
            raise NotFound(f"There is no key {key_id}: `leadline keys list` shows them.")


def _living() -> ColumnElement[bool]:
    """Return the condition under which a key counts."""
    unexpired = or_(ApiKeyRow.expires_at.is_(None), ApiKeyRow.expires_at > func.clock_timestamp())
    return ApiKeyRow.revoked_at.is_(None) & unexpired
