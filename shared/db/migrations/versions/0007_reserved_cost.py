"""The most that a call at a model's provider can cost, set aside before it is made; null where no price is known."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("model_calls", sa.Column("reserved_usd", sa.Float(), nullable=True))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("model_calls", "reserved_usd")
