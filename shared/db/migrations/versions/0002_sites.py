"""Slots of sites, the lines before them, and the robots.txt of origins."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_NOW = sa.text("clock_timestamp()")


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "sites",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=True),
        sa.Column("held_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("held_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_start", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.Column("last_hold_s", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_sites")),
    )
    op.create_table(
        "site_waits",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("step_id", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["key"], ["sites.key"], name=op.f("fk_site_waits_key"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", "step_id", name=op.f("pk_site_waits")),
    )
    op.create_table(
        "robots",
        sa.Column("origin_sha256", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("fetched_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("origin_sha256", name=op.f("pk_robots")),
    )


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("robots")
    op.drop_table("site_waits")
    op.drop_table("sites")
