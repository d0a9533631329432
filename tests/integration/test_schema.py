"""The schema as the migrations make it: the same as the tables in the code, and indexed where deletions cascade."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text

from shared.db.engine import Transactions
from shared.db.job_tables import ManagedJobRow
from shared.db.schema import REVISION

UNINDEXED = """
select c.conrelid::regclass || '.' || a.attname
from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
where c.contype = 'f' and c.confdeltype = 'c'
and not exists (select 1 from pg_index i where i.indrelid = c.conrelid and i.indkey[0] = c.conkey[1])
"""


def test_the_migrations_make_the_tables_of_the_code(database: str) -> None:
    """Nothing is missing on either side."""
    engine = create_engine(database)
    try:
        with engine.connect() as connection:
            differences = compare_metadata(MigrationContext.configure(connection), ManagedJobRow.metadata)
    finally:
        engine.dispose()
    assert differences == []


def test_the_code_asks_for_the_newest_migration(database: str) -> None:
    """Whoever adds a migration that code needs says so, else new workers would not wait for it."""
    engine = create_engine(database)
    try:
        with engine.connect() as connection:
            assert MigrationContext.configure(connection).get_current_revision() == REVISION
    finally:
        engine.dispose()


def test_a_deletion_reads_no_whole_table(transactions: Transactions) -> None:
    """Every column by which a deletion cascades leads an index."""
    assert transactions.run(lambda session: list(session.scalars(text(UNINDEXED)))) == []
