"""Runs that check a report again, and the key that a run answers to."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Add the two columns."""
    op.add_column("runs", sa.Column("of_run_id", sa.Text(), nullable=True))
    op.create_foreign_key("fk_runs_of_run_id", "runs", "runs", ["of_run_id"], ["id"], ondelete="CASCADE")
    op.create_index(
        "ix_runs_of_run", "runs", ["of_run_id"], unique=False, postgresql_where=sa.text("of_run_id is not null")
    )
    op.add_column("runs", sa.Column("key_id", sa.Text(), nullable=True))
    op.create_foreign_key("fk_runs_key_id", "runs", "api_keys", ["key_id"], ["id"])


def downgrade() -> None:
    """Remove them."""
    op.drop_constraint("fk_runs_key_id", "runs", type_="foreignkey")
    op.drop_column("runs", "key_id")
    op.drop_index("ix_runs_of_run", table_name="runs")
    op.drop_constraint("fk_runs_of_run_id", "runs", type_="foreignkey")
    op.drop_column("runs", "of_run_id")
