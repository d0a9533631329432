"""The schema's version: the migration that this code expects, and whether the database is there yet.

Migrations come first: they only add, so code of before goes on with the schema of after. The other way round, code that
meets a schema of before does nothing but say so and wait; it goes on by itself once somebody has migrated.
"""

import logging
import threading
from collections.abc import Callable

from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from shared.domain.errors import LeadlineError, RateLimited

log = logging.getLogger(__name__)

REVISION = "0010"
AGAIN_S = 1.0
"""How long to wait before a schema that was behind is looked at again."""

SAID_AGAIN_S = 30.0
"""How long the log is spared the same sentence."""


class SchemaBehind(RateLimited):
    """The database lacks migrations that this code needs; a step that meets this is put off, at no cost of a try."""

    def __init__(self, found: str | None) -> None:
        told = (
            f"The database is at schema {found or 'none'}, this version needs {REVISION}: "
            "run `python -m shared.db.migrate`."
        )
        super().__init__("schema_behind", told, AGAIN_S)

    def __str__(self) -> str:
        return self.detail


def check_schema(session: Session) -> None:
    """Raise `SchemaBehind` when a migration is missing; a newer schema is fine, since migrations expand first."""
    try:
        found = session.scalar(text("select version_num from alembic_version"))
    except ProgrammingError as error:
        raise SchemaBehind(None) from error
    if found is None or found < REVISION:
        raise SchemaBehind(found)


def wait_for_schema(check: Callable[[], None], stop: threading.Event) -> bool:
    """Wait until ``check`` raises no more, which says why; False when ``stop`` came first."""
    said: str | None = None
    silent_s = 0.0
    while True:
        try:
            check()
        except LeadlineError as error:
            if str(error) != said or silent_s >= SAID_AGAIN_S:
                log.warning("nothing is done yet: %s", error)
                said, silent_s = str(error), 0.0
            if stop.wait(AGAIN_S):
                return False
            silent_s += AGAIN_S
        else:
            return True
