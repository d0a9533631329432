"""How others can tell that a process is dead, and not merely slow: by a session of its own that holds a lock.

When a process ends, however it ends, its sockets are closed, PostgreSQL ends the session and the lock is free. One
that is frozen keeps its sockets, and with them the lock. A lock that is free is no proof by itself: the session may
have been ended by somebody else, or by a restart of the server. Who asks has to know more, such as a lease that has run
out.
"""

import logging
import secrets
import threading

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

log = logging.getLogger(__name__)

_LOCK = text("select pg_try_advisory_lock(:key)")


class Presence:
    """The session of this process, opened at the first use and again when it was lost.

    It is never closed on purpose: threads may go on for as long as the process lives.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._key = _new_key()
        self._connection: Connection | None = None
        self._lock = threading.Lock()

    def key(self) -> int | None:
        """Return the key of the advisory lock that this process holds now, None when it cannot hold any."""
        with self._lock:
            if self._connection is not None and not _lives(self._connection):
                self._forget(self._connection)
            try:
                self._connection = self._connection or self._open()
            except SQLAlchemyError as error:
                log.warning("this process cannot show that it lives: %s", error)
                return None
            return self._key

    def close(self) -> None:
        """End the session, for a process that goes on without it."""
        with self._lock:
            if self._connection is not None:
                self._forget(self._connection)

    def _forget(self, connection: Connection) -> None:
        connection.close()
        self._connection = None

    def _open(self) -> Connection:
        """Return a session that holds the lock and that no pool gets back."""
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            connection.detach()
            while not connection.scalar(_LOCK, {"key": self._key}):
                self._key = _new_key()  # the server has not noticed yet that the session before is lost
        except SQLAlchemyError:
            connection.close()
            raise
        return connection


def _lives(connection: Connection) -> bool:
    try:
        connection.execute(text("select 1"))
    except SQLAlchemyError:
        return False
    return True


def _new_key() -> int:
    return secrets.randbits(62)
