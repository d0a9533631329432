"""Connections: one engine per process, opened lazily, and transactions that survive a restart of the server."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from shared.db.schema import check_schema
from shared.domain.errors import RateLimited, Transient
from shared.domain.ids import spell_id

Result = TypeVar("Result")

RETRIED_STATES = frozenset(
    {"40001", "40P01", "53300", "55P03", "57014", "57P01", "57P02", "57P03", "08000", "08003", "08006"}
)
"""SQLSTATEs after which the same transaction may work: serialization, deadlock, lock timeout, server restart."""

NO_ROOM = "53"
"""How the SQLSTATE of a server begins that is out of space or memory."""

UNKNOWN_NAMES = frozenset({"42P01", "42703"})
"""SQLSTATEs of a table or column that the database does not have."""

AWAY_S = 1.0
"""How long to put off a step that found the database away."""

CONNECT_TIMEOUT_S = 5
STATEMENT_TIMEOUT_MS = 30_000
LOCK_TIMEOUT_MS = 10_000


class DatabaseUnreachable(RateLimited):
    """The database does not answer; a step that meets this is put off, which costs it no try."""

    def __init__(self, detail: str) -> None:
        told = f"The database cannot be reached ({detail}). Check LEADLINE_DATABASE_URL and that it runs."
        super().__init__("database_away", told, AWAY_S)

    def __str__(self) -> str:
        return self.detail


class StorageFull(Transient):
    """The database has no room for what is to be written; nothing of it has been."""

    def __init__(self, detail: str) -> None:
        super().__init__("storage_full", f"The database is out of space ({detail}). Make room, then try again.")

    def __str__(self) -> str:
        return self.detail


def open_engine(url: str, *, pool_size: int) -> Engine:
    """Return an engine with timeouts on everything; no connection is made before the first query."""
    options = f"-c statement_timeout={STATEMENT_TIMEOUT_MS} -c lock_timeout={LOCK_TIMEOUT_MS} -c timezone=UTC"
    return create_engine(
        url,
        pool_size=pool_size,
        max_overflow=4,
        pool_pre_ping=True,
        pool_timeout=30,
        connect_args={
            "connect_timeout": CONNECT_TIMEOUT_S,
            "options": options,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 15_000,
        },
    )


class Transactions:
    """Runs functions in transactions of their own, again when the server went away or broke a deadlock."""

    def __init__(self, engine: Engine, *, patience_s: float = 20.0) -> None:
        self._engine, self._patience_s = engine, patience_s

    def run(self, work: Callable[[Session], Result]) -> Result:
        """Call ``work`` in a transaction and commit it; it may be called again, so it does nothing but SQL.

        A COMMIT whose answer was lost is followed by another call: every write must be safe to repeat. Raises
        `DatabaseUnreachable` after the patience of this object, `StorageFull`, and `SchemaBehind` for a table or column
        that a migration has still to make.
        """
        started, delay = time.monotonic(), 0.05
        while True:
            try:
                with Session(self._engine, expire_on_commit=False) as session, session.begin():
                    return work(session)
            except PoolTimeoutError as error:
                raise DatabaseUnreachable("all connections are in use") from error
            except DBAPIError as error:
                if not _worth_repeating(error):
                    _raise_if_full(error)
                    self._raise_if_behind(error)
                    raise
                if time.monotonic() - started + delay > self._patience_s:
                    raise DatabaseUnreachable(type(error.orig).__name__) from error
                time.sleep(delay)
                delay = min(delay * 2, 2.0)

    def _raise_if_behind(self, error: DBAPIError) -> None:
        if getattr(error.orig, "sqlstate", None) in UNKNOWN_NAMES:
            with Session(self._engine) as session:
                check_schema(session)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def _worth_repeating(error: DBAPIError) -> bool:
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return error.connection_invalidated or isinstance(error, OperationalError)
    return state in RETRIED_STATES


def _raise_if_full(error: DBAPIError) -> None:
    state = getattr(error.orig, "sqlstate", None) or ""
    if state.startswith(NO_ROOM):
        raise StorageFull(str(error.orig).partition("\n")[0]) from error


def new_id(prefix: str) -> str:
    """Return a fresh id that sorts by its time of making."""
    return spell_id(prefix, int(datetime.now(UTC).timestamp() * 1000), os.urandom(10))
