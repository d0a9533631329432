"""The table of research jobs at providers."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from shared.db.tables import NOW, Base


class ManagedJobRow(Base):
    """A provider's research job. It outlives its step and run, so that it can still be cancelled at the provider.

    The row is written before the job is asked for, its handle in a transaction of its own as soon as it is known.
    """

    __tablename__ = "managed_jobs"
    __table_args__ = (
        Index("uq_managed_jobs_step", "step_id", unique=True),
        Index("ix_managed_jobs_run", "run_id"),
        Index(
            "ix_managed_jobs_open",
            "id",
            postgresql_where=text("state in ('submitting', 'running')"),
        ),
    )
    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    run_id: Mapped[str]
    step_id: Mapped[str]
    call_id: Mapped[str]
    provider: Mapped[str]
    agent: Mapped[str]
    credential: Mapped[str]
    """The hash of the key, and of where it is used."""
    request_sha256: Mapped[str]
    state: Mapped[str]
    handle: Mapped[str | None]
    polls: Mapped[int] = mapped_column(server_default=text("0"), default=0)
    failures: Mapped[int] = mapped_column(server_default=text("0"), default=0)
    """Looks in a row that failed."""
    cancel_asked: Mapped[bool] = mapped_column(server_default=text("false"), default=False)
    cancel_run_id: Mapped[str | None]
    """The run that cancels it, once whatever waited for it has ended without it."""
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    ended_at: Mapped[datetime | None]
