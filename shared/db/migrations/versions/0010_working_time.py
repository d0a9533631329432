"""How long a step has worked, time in queues left out."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Add the columns; a version that does not know them leaves them at their defaults."""
    op.add_column("steps", sa.Column("works_since", sa.DateTime(timezone=True), nullable=True))
    op.add_column("steps", sa.Column("worked_s", sa.Float(), server_default=sa.text("0"), nullable=False))


def downgrade() -> None:
    """Remove them."""
    op.drop_column("steps", "worked_s")
    op.drop_column("steps", "works_since")
