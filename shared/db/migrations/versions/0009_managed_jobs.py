"""Research jobs at providers."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "managed_jobs",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("step_id", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("credential", sa.Text(), nullable=False),
        sa.Column("request_sha256", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("handle", sa.Text(), nullable=True),
        sa.Column("polls", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failures", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("cancel_asked", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("cancel_run_id", sa.Text(), nullable=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_managed_jobs_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_managed_jobs")),
    )
    op.create_index("uq_managed_jobs_step", "managed_jobs", ["step_id"], unique=True)
    op.create_index("ix_managed_jobs_run", "managed_jobs", ["run_id"], unique=False)
    op.create_index(
        "ix_managed_jobs_open",
        "managed_jobs",
        ["id"],
        unique=False,
        postgresql_where=sa.text("state in ('submitting', 'running')"),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("managed_jobs")
