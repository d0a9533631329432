"""Alembic's entry: runs migrations over the connection that `shared.db.migrate` opened."""

from alembic import context

from shared.db.job_tables import ManagedJobRow

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=ManagedJobRow.metadata, compare_type=True)
with context.begin_transaction():
    context.run_migrations()
