"""The schema's version: the migration that this code expects, and whether the database is there yet."""

from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from shared.domain.errors import LeadlineError

REVISION = "0008"


class SchemaBehind(LeadlineError):
    """The database lacks migrations that this code needs."""

    def __init__(self, found: str | None) -> None:
        super().__init__(
            f"The database is at schema {found or 'none'}, this version needs {REVISION}: "
            "run `python -m shared.db.migrate`."
        )


def check_schema(session: Session) -> None:
    """Raise `SchemaBehind` when a migration is missing; a newer schema is fine, since migrations expand first."""
    try:
        found = session.scalar(text("select version_num from alembic_version"))
    except ProgrammingError as error:
        raise SchemaBehind(None) from error
    if found is None or found < REVISION:
        raise SchemaBehind(found)
