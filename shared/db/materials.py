"""What handlers read of their run."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from shared.contracts.evidence import Contradiction, Evidence, Fetch, Source
from shared.contracts.report import Draft, Report, VerdictRow
from shared.contracts.runs import CreateRun
from shared.db import rows
from shared.db.engine import Transactions
from shared.db.ledger import database_now
from shared.db.model_usage import load_cut_prompts
from shared.db.tables import RequestRow, RunRow, SourceRow, StepRow
from shared.db.views import load_limits, load_plan, load_view
from shared.domain.errors import NotFound
from shared.domain.ids import OwnerId, RunId
from shared.domain.states import StepKind, StepStatus
from shared.domain.view import RunView
from shared.ports.materials import RunFacts

Value = TypeVar("Value")


class PostgresMaterials:
    """See `shared.ports.materials.Materials`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def facts(self, run_id: RunId) -> RunFacts:
        """Return the run's request and plan."""

        def work(session: Session, run: RunRow) -> RunFacts:
            body = session.execute(select(RequestRow.body).where(RequestRow.run_id == run.id)).scalar_one()
            return RunFacts(
                run_id=run_id,
                owner_id=OwnerId(run.owner_id),
                request=CreateRun.model_validate(body),
                engine=run.engine,
                plan=load_plan(session, run),
                plan_version=run.plan_version,
                limits=load_limits(session, run.id),
                epoch=run.epoch,
                iteration=run.iteration,
                stop_reason=run.stop_reason,
                report_version=run.report_version,
                created_at=run.created_at,
                started_at=run.started_at,
            )

        return _on_run(self._transactions, run_id, work)

    def view(self, run_id: RunId) -> RunView:
        """Return the run as the rules see it."""
        return _on_run(self._transactions, run_id, lambda session, run: load_view(session, run, database_now(session)))

    def now(self) -> datetime:
        """Return the database's time."""
        return self._transactions.run(database_now)

    def source(self, run_id: RunId, source_id: str) -> Source:
        """Return one source."""
        wanted = select(SourceRow.body).where(SourceRow.id == source_id, SourceRow.run_id == run_id)
        body = self._transactions.run(lambda session: session.scalar(wanted))
        if body is None:
            raise NotFound(f"There is no source {source_id} in run {run_id}.")
        return Source.model_validate(body)

    def sources(self, run_id: RunId) -> tuple[Source, ...]:
        """Return all sources of the run."""
        return self._transactions.run(lambda session: rows.sources_of(session, run_id))

    def evidence(self, run_id: RunId) -> tuple[Evidence, ...]:
        """Return all evidence of the run."""
        return self._transactions.run(lambda session: rows.evidence_of(session, run_id))

    def contradictions(self, run_id: RunId) -> tuple[Contradiction, ...]:
        """Return the contradictions found so far."""
        return self._transactions.run(lambda session: rows.contradictions_of(session, run_id))

    def fetches(self, run_id: RunId) -> tuple[Fetch, ...]:
        """Return the fetch log of the run."""
        return self._transactions.run(lambda session: rows.fetches_of(session, run_id))

    def queries(self, run_id: RunId) -> tuple[str, ...]:
        """Return every query that was searched for, oldest first."""
        wanted = select(StepRow.subject).where(StepRow.run_id == run_id, StepRow.kind == StepKind.SEARCH)
        return tuple(self._transactions.run(lambda session: session.scalars(wanted.order_by(StepRow.id)).all()))

    def cut_prompts(self, run_id: RunId) -> dict[str, int]:
        """Return the models whose servers seem to have cut prompts of the run, and how many calls of each."""
        return self._transactions.run(lambda session: load_cut_prompts(session, run_id))

    def step_result(self, run_id: RunId, key: str) -> dict[str, Any]:
        """Return the result of a completed step of this epoch by its key."""

        def work(session: Session, run: RunRow) -> dict[str, Any]:
            wanted = select(StepRow.result).where(
                StepRow.run_id == run.id,
                StepRow.epoch == run.epoch,
                StepRow.key == key,
                StepRow.status == StepStatus.COMPLETED,
            )
            result: dict[str, Any] | None = session.scalar(wanted)
            if result is None:
                raise NotFound(f"Run {run_id} has no completed step {key}.")
            return result

        return _on_run(self._transactions, run_id, work)

    def drafts(self, run_id: RunId, section_id: str | None = None) -> tuple[Draft, ...]:
        """Return the drafted statements of this epoch, of one section or of all."""
        return _on_run(self._transactions, run_id, lambda session, run: rows.drafts_of(session, run, section_id))

    def verdicts(self, run_id: RunId) -> tuple[VerdictRow, ...]:
        """Return the verdicts of this epoch."""
        return _on_run(self._transactions, run_id, rows.verdicts_of)

    def report(self, run_id: RunId, version: int | None = None) -> Report | None:
        """Return a version of the report, the newest by default."""
        return self._transactions.run(lambda session: rows.report_of(session, run_id, version))


def _on_run(transactions: Transactions, run_id: RunId, work: Callable[[Session, RunRow], Value]) -> Value:
    """Work on the row of a run in a transaction; raise `NotFound` where there is no such run."""

    def found(session: Session) -> Value:
        run = session.get(RunRow, run_id)
        if run is None:
            raise NotFound(f"There is no run {run_id}.")
        return work(session, run)

    return transactions.run(found)
