"""Indexes: what hangs on a step or a source, for deletions, and the few runs among many that are open."""

from collections.abc import Sequence

from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Add the indexes."""
    op.create_index("ix_evidence_step", "evidence", ["step_id"], unique=False)
    op.create_index("ix_fetches_step", "fetches", ["step_id"], unique=False)
    op.create_index("ix_candidacies_source", "candidacies", ["source_id"], unique=False)
    op.create_index("ix_runs_status", "runs", ["status"], unique=False)


def downgrade() -> None:
    """Remove them."""
    op.drop_index("ix_runs_status", table_name="runs")
    op.drop_index("ix_candidacies_source", table_name="candidacies")
    op.drop_index("ix_fetches_step", table_name="fetches")
    op.drop_index("ix_evidence_step", table_name="evidence")
