"""Brings a database to the newest schema: ``python -m shared.db.migrate``. Several at once do no harm."""

import sys
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from shared.config.settings import load_settings
from shared.db.controls import ensure_owner
from shared.db.engine import CONNECT_TIMEOUT_S, Transactions
from shared.domain.ids import LOCAL_OWNER

_LOCK = 7_318_220_144
"""Key of the advisory lock that lets one process migrate at a time."""


LOCK_TIMEOUT_MS = 10_000
"""How long a migration may wait for a table: every query that comes later waits in line behind it."""

LOCKED = "55P03"


def migrate(url: str, revision: str = "head", *, lock_timeout_ms: int = LOCK_TIMEOUT_MS) -> None:
    """Apply what is missing up to a revision, and make the local owner."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    engine = create_engine(url, connect_args={"connect_timeout": CONNECT_TIMEOUT_S})
    try:
        with engine.connect() as connection:
            connection.execute(text("select pg_advisory_lock(:key)"), {"key": _LOCK})
            connection.execute(text("select set_config('lock_timeout', :ms, false)"), {"ms": str(lock_timeout_ms)})
            connection.commit()
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
            connection.execute(text("select pg_advisory_unlock(:key)"), {"key": _LOCK})
            connection.commit()
        Transactions(engine).run(lambda session: ensure_owner(session, LOCAL_OWNER))
    finally:
        engine.dispose()


def main() -> int:
    """Migrate the database of the settings."""
    url = load_settings().database_url
    if url is None:
        print("LEADLINE_DATABASE_URL is not set: name the database to migrate.", file=sys.stderr)  # noqa: T201
        return 2
    try:
        migrate(url.get_secret_value())
    except OperationalError as error:
        reason = str(error.orig).splitlines()[0]
        if getattr(error.orig, "sqlstate", None) == LOCKED:
            print(f"A table is in use for too long ({reason}); nothing was changed: try again.", file=sys.stderr)  # noqa: T201
            return 1
        print(f"The database cannot be reached: {reason}. Check LEADLINE_DATABASE_URL.", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
