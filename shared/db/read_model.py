"""The queries that answer people; everything is seen through its owner."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Literal, TypeVar, cast

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from shared.contracts.events import Event
from shared.contracts.evidence import Evidence, Fetch, Source
from shared.contracts.report import Recheck, Report, Verification
from shared.contracts.runs import CreateRun, ProviderJob, Run, RunCounts, RunPage, RunUsage, StepObject
from shared.db import rows
from shared.db.documents import PostgresDocumentReads
from shared.db.ledger import database_now
from shared.db.managed_jobs import newest_job
from shared.db.model_usage import load_booked, load_by_phase, load_cut_prompts, load_switched
from shared.db.recheck_controls import recheck_of
from shared.db.schema import check_schema
from shared.db.tables import (
    ContradictionRow,
    EventRow,
    EvidenceRow,
    ReportFileRow,
    RequestRow,
    RunRow,
    SnapshotRow,
    SourceRow,
    StepRow,
)
from shared.db.views import elapsed_s, load_knowledge, load_plan
from shared.domain.budget import Depth
from shared.domain.engines import is_managed
from shared.domain.errors import Invalid, NotFound
from shared.domain.ids import OwnerId, RunId
from shared.domain.managed import JobState
from shared.domain.states import RunKind, RunStatus, StepKind, StepStatus, allowed_actions

Value = TypeVar("Value")


class PostgresReadModel(PostgresDocumentReads):
    """See `shared.ports.gateway.ReadModel`."""

    def run(self, owner_id: OwnerId, run_id: RunId) -> Run:
        """Return the run object."""
        return self._on(owner_id, run_id, _run_object)

    def runs(
        self, owner_id: OwnerId, *, session_id: str | None, status: str | None, cursor: str | None, limit: int
    ) -> RunPage:
        """Return research runs, newest first."""
        wanted = select(RunRow).where(RunRow.owner_id == owner_id, RunRow.kind == "research")
        if session_id is not None:
            wanted = wanted.where(RunRow.session_id == session_id)
        if status is not None:
            if status not in set(RunStatus):
                raise Invalid(f"There is no status {status}; known: {', '.join(RunStatus)}.", field="status")
            wanted = wanted.where(RunRow.status == status)
        if cursor is not None:
            wanted = wanted.where(RunRow.id < cursor)

        def work(session: Session) -> RunPage:
            found = session.scalars(wanted.order_by(RunRow.id.desc()).limit(limit + 1)).all()
            more = found[limit - 1].id if len(found) > limit else None
            return RunPage(runs=tuple(_run_object(session, row) for row in found[:limit]), next_cursor=more)

        return self._transactions.run(work)

    def events(self, owner_id: OwnerId, run_id: RunId, after: int, limit: int) -> tuple[Event, ...]:
        """Return events with a sequence number over ``after``, in order."""
        wanted = select(EventRow).where(EventRow.run_id == run_id, EventRow.seq > after).order_by(EventRow.seq)

        def work(session: Session, _: RunRow) -> tuple[Event, ...]:
            found = session.scalars(wanted.limit(limit))
            return tuple(Event(seq=e.seq, run_id=e.run_id, at=e.at, type=e.type, payload=e.payload) for e in found)

        return self._on(owner_id, run_id, work)

    def steps(self, owner_id: OwnerId, run_id: RunId) -> tuple[StepObject, ...]:
        """Return the steps of the run, oldest first."""
        wanted = select(StepRow).where(StepRow.run_id == run_id).order_by(StepRow.id)
        return self._on(owner_id, run_id, lambda s, _: tuple(_step_object(row) for row in s.scalars(wanted)))

    def sources(self, owner_id: OwnerId, run_id: RunId) -> tuple[Source, ...]:
        """Return the sources of the run."""
        return self._on(owner_id, run_id, lambda session, run: rows.sources_of(session, run.id))

    def evidence(self, owner_id: OwnerId, run_id: RunId) -> tuple[Evidence, ...]:
        """Return the evidence of the run."""
        return self._on(owner_id, run_id, lambda session, run: rows.evidence_of(session, run.id))

    def fetches(self, owner_id: OwnerId, run_id: RunId) -> tuple[Fetch, ...]:
        """Return the fetch log of the run."""
        return self._on(owner_id, run_id, lambda session, run: rows.fetches_of(session, run.id))

    def report(self, owner_id: OwnerId, run_id: RunId) -> Report:
        """Return the newest report."""
        return _present(self._on(owner_id, run_id, lambda session, run: rows.report_of(session, run.id)), run_id)

    def rendered(self, owner_id: OwnerId, run_id: RunId, fmt: str) -> tuple[bytes, str]:
        """Return the newest report as a file and its media type."""

        def work(session: Session, run: RunRow) -> tuple[bytes, str] | None:
            wanted = select(ReportFileRow.data, ReportFileRow.mime).where(
                ReportFileRow.run_id == run.id,
                ReportFileRow.version == run.report_version,
                ReportFileRow.fmt == fmt,
            )
            row = session.execute(wanted).one_or_none()
            return (row.data, row.mime) if row is not None else None

        return _present(self._on(owner_id, run_id, work), run_id)

    def verification(self, owner_id: OwnerId, run_id: RunId) -> Verification | Recheck:
        """Return the verdicts of the newest report, or what a run of kind reverify found."""
        return self._on(owner_id, run_id, _verification)

    def snapshot_text(self, owner_id: OwnerId, sha256: str) -> str:
        """Return the text of a snapshot."""
        wanted = select(SnapshotRow.data).where(SnapshotRow.owner_id == owner_id, SnapshotRow.sha256 == sha256)
        data = self._transactions.run(lambda session: session.scalar(wanted))
        if data is None:
            raise NotFound(f"There is no snapshot {sha256}.")
        return data.decode()

    def ready(self) -> None:
        """Raise when the database cannot be reached or its schema is behind."""
        self._transactions.run(check_schema)

    def _on(self, owner_id: OwnerId, run_id: RunId, work: Callable[[Session, RunRow], Value]) -> Value:
        def found(session: Session) -> Value:
            run = session.scalar(select(RunRow).where(RunRow.id == run_id, RunRow.owner_id == owner_id))
            if run is None:
                raise NotFound(f"There is no run {run_id}.")
            return work(session, run)

        return self._transactions.run(found)


def _verification(session: Session, run: RunRow) -> Verification | Recheck:
    if run.kind == RunKind.REVERIFY:
        return recheck_of(session, run)
    report = _present(rows.report_of(session, run.id), run.id)
    again = session.scalars(
        select(RunRow.id).where(RunRow.of_run_id == run.id, RunRow.kind == RunKind.REVERIFY).order_by(RunRow.id)
    ).all()
    return Verification(
        summary=report.verification, verdicts=rows.verdicts_of(session, run), reverifications=tuple(again)
    )


def _present(value: Value | None, run_id: str) -> Value:
    if value is None:
        raise NotFound(f"Run {run_id} has no report yet.")
    return value


def _run_object(session: Session, run: RunRow) -> Run:
    request_row = session.get_one(RequestRow, run.id)
    request = CreateRun.model_validate(request_row.body)
    plan = load_plan(session, run)
    status = RunStatus(run.status)
    return Run(
        run_id=run.id,
        kind=cast(Literal["research", "ingest", "reverify", "cancel_job"], run.kind),
        of_run_id=run.of_run_id,
        session_id=run.session_id,
        status=status,
        resume_phase=run.resume_phase,
        stop_reason=run.stop_reason,
        objective=request.objective,
        depth=Depth(request.depth),
        engine=run.engine,
        as_of=request.as_of,
        language=request.language,
        plan=plan,
        plan_version=run.plan_version,
        source_policy=request.source_policy,
        budget={name: value for name, value in request_row.limits.items() if value is not None},
        usage=_usage(session, run),
        counts=_counts(session, run, [q.id for q in plan.questions if q.priority == "required"] if plan else []),
        allowed_actions=allowed_actions(status),
        last_error=run.last_error,
        provider_job=_provider_job(session, run),
        report_version=run.report_version,
        last_seq=run.last_seq,
        created_at=run.created_at,
        updated_at=run.updated_at,
        started_at=run.started_at,
        completed_at=run.completed_at,
    )


def _provider_job(session: Session, run: RunRow) -> ProviderJob | None:
    job = newest_job(session, run.id) if is_managed(run.engine) else None
    if job is None:
        return None
    return ProviderJob(
        provider=job.provider,
        agent=job.agent,
        handle=job.handle,
        state=JobState(job.state).value,
        cancel_run_id=job.cancel_run_id,
        created_at=job.created_at,
        ended_at=job.ended_at,
    )


def _usage(session: Session, run: RunRow) -> RunUsage:
    counted = dict(
        session.execute(
            select(StepRow.kind, func.count())
            .where(StepRow.run_id == run.id, StepRow.status != StepStatus.CANCELLED)
            .group_by(StepRow.kind)
        ).all()
    )
    tries = select(func.coalesce(func.sum(StepRow.errors + StepRow.interruptions), 0)).where(StepRow.run_id == run.id)
    spent = load_booked(session, run.id)
    return RunUsage(
        iterations=run.iteration,
        searches=counted.get(StepKind.SEARCH, 0),
        fetches=counted.get(StepKind.READ_SOURCE, 0),
        elapsed_s=round(elapsed_s(run, database_now(session)), 3),
        retries=session.scalar(tries) or 0,
        **{**asdict(spent.settled + spent.under_way), "cost_usd": spent.cost_usd},
        cached_tokens=spent.cached_tokens,
        switched_models=load_switched(session, run.id),
        cut_prompts=load_cut_prompts(session, run.id),
        by_phase=load_by_phase(session, run.id),
    )


def _counts(session: Session, run: RunRow, required: list[str]) -> RunCounts:
    def count(table: Any) -> int:
        return session.scalar(select(func.count()).select_from(table).where(table.run_id == run.id)) or 0

    return RunCounts(
        sources=count(SourceRow),
        evidence=count(EvidenceRow),
        questions_covered=len(load_knowledge(session, run).covered & set(required)),
        questions_required=len(required),
        contradictions=count(ContradictionRow),
    )


def _step_object(row: StepRow) -> StepObject:
    return StepObject(
        step_id=row.id,
        kind=row.kind,
        status=row.status,
        iteration=row.iteration,
        attempts=row.attempts,
        subject=row.subject,
        error=row.error,
        started_at=row.started_at,
        ended_at=row.ended_at,
        result=row.result,
    )
