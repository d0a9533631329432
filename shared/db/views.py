"""Reads a run the way the rules see it; the caller holds the run's lock when the view is to be acted on."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from shared.contracts.evidence import Contradiction
from shared.contracts.plan import Plan
from shared.db.model_usage import load_booked
from shared.db.tables import (
    CandidacyRow,
    ContradictionRow,
    EventRow,
    EvidenceRow,
    IterationRow,
    PlanRow,
    RequestRow,
    RunRow,
    SourceRow,
    StepRow,
)
from shared.domain.budget import Depth, Limits, Usage, stored_limits
from shared.domain.engines import is_managed
from shared.domain.errors import NewerRun
from shared.domain.evidence import RELEVANCE_BAR_BP
from shared.domain.selection import GIVEN
from shared.domain.states import WAITING_RUN, RunKind, RunStatus, StepKind, StepStatus
from shared.domain.view import (
    Candidate,
    ContradictionView,
    Knowledge,
    PlanView,
    QuestionView,
    RunView,
    Search,
    StepCounts,
    StepView,
)

_KNOWN = frozenset(StepKind)
_RESULTS_SHOWN = (
    StepKind.DECIDE,
    StepKind.SEARCH,
    StepKind.READ_SOURCE,
    StepKind.READ_IN_BROWSER,
    StepKind.PARSE,
    StepKind.EXTRACT,
    StepKind.OUTLINE,
    StepKind.WRITE_SECTION,
    StepKind.VERIFY,
    StepKind.ASSEMBLE,
)


def load_view(
    session: Session, run: RunRow, now: datetime, *, may_start: bool = False, wait_limit_s: float | None = None
) -> RunView:
    """Return the run of this row as the rules see it."""
    kind, status = RunKind(run.kind), RunStatus(run.status)
    limits = load_limits(session, run.id)
    waited = _waited_s(session, run, now) if status in WAITING_RUN else 0.0
    if kind is not RunKind.RESEARCH:
        counts = _step_counts(session, run)
        return RunView(kind, status, limits, Usage(), waited_s=waited, wait_limit_s=wait_limit_s, unplanned=counts)
    rows = _step_rows(session, run)
    unknown = next((row.kind for row in rows if row.kind not in _KNOWN), None)
    if unknown is not None:
        raise NewerRun(unknown)
    steps = tuple(_step_view(row, now) for row in rows)
    return RunView(
        kind=kind,
        status=status,
        limits=limits,
        usage=_usage(session, run, steps, now),
        iteration=run.iteration,
        auto_approve=run.auto_approve,
        may_start=may_start,
        plan=_plan(session, run),
        steps=steps,
        candidates=_candidates(session, run),
        contradictions=load_contradictions(session, run),
        knowledge=load_knowledge(session, run),
        gains=tuple(
            session.scalars(
                select(IterationRow.gain)
                .where(IterationRow.run_id == run.id, IterationRow.epoch == run.epoch)
                .order_by(IterationRow.number)
            )
        ),
        stop_reason=run.stop_reason,
        quiet_s=_quiet_s(rows, run, now),
        waited_s=waited,
        wait_limit_s=wait_limit_s,
        managed=is_managed(run.engine),
    )


def load_limits(session: Session, run_id: str) -> Limits:
    """Return the hard limits of a run; one that is younger than the run is that of its tier."""
    body, limits = session.execute(select(RequestRow.body, RequestRow.limits).where(RequestRow.run_id == run_id)).one()
    return stored_limits(Depth(body["depth"]), limits)


def load_plan(session: Session, run: RunRow) -> Plan | None:
    """Return the current version of the run's plan."""
    body = session.scalar(select(PlanRow.body).where(PlanRow.run_id == run.id, PlanRow.version == run.plan_version))
    return Plan.model_validate(body) if body is not None else None


def load_knowledge(session: Session, run: RunRow) -> Knowledge:
    """Count what the run knows: supporting evidence over the bar covers its questions."""
    covered = session.scalars(
        select(func.unnest(EvidenceRow.question_ids))
        .distinct()
        .where(
            EvidenceRow.run_id == run.id,
            EvidenceRow.stance == "supports",
            EvidenceRow.relevance_bp >= RELEVANCE_BAR_BP,
        )
    ).all()
    evidence = session.scalar(select(func.count()).where(EvidenceRow.run_id == run.id)) or 0
    classes = session.scalar(
        select(func.count(func.distinct(SourceRow.source_class))).where(
            SourceRow.run_id == run.id, SourceRow.status == "fetched"
        )
    )
    waiting = sum(not c.followed_up for c in load_contradictions(session, run))
    return Knowledge(frozenset(covered), evidence, classes or 0, waiting)


def load_contradictions(session: Session, run: RunRow) -> tuple[ContradictionView, ...]:
    """Return the contradictions; one is followed up when an iteration after the one that found it has searched."""
    rows = session.execute(
        select(ContradictionRow.body, ContradictionRow.found_in)
        .where(ContradictionRow.run_id == run.id)
        .order_by(ContradictionRow.claim_key)
    ).all()
    searched = _searched_iteration(session, run) if rows else 0
    found = [(Contradiction.model_validate(body), found_in) for body, found_in in rows]
    return tuple(
        ContradictionView(c.claim_key, c.central, c.followed_up or found_in <= searched) for c, found_in in found
    )


def _searched_iteration(session: Session, run: RunRow) -> int:
    last = session.scalar(
        select(func.max(StepRow.iteration)).where(
            StepRow.run_id == run.id, StepRow.kind == StepKind.SEARCH, StepRow.status == StepStatus.COMPLETED
        )
    )
    return last or 0


def _step_rows(session: Session, run: RunRow) -> Sequence[StepRow]:
    """Return the steps of the epoch in an order that does not depend on when they were inserted."""
    return session.scalars(
        select(StepRow)
        .where(StepRow.run_id == run.id, StepRow.epoch == run.epoch)
        .order_by(StepRow.iteration, StepRow.key)
    ).all()


def _step_view(row: StepRow, now: datetime) -> StepView:
    return StepView(
        key=row.key,
        kind=StepKind(row.kind),
        status=StepStatus(row.status),
        iteration=row.iteration,
        subject=row.subject,
        result=row.result if row.kind in _RESULTS_SHOWN else {},
        error=row.error,
        code=row.error_code if row.status == StepStatus.FAILED else None,
        worked_s=_worked_s(row, now),
    )


def _worked_s(row: StepRow, now: datetime) -> float:
    """Return the seconds that the step has worked, its present try included."""
    since = row.works_since or row.started_at if row.status == StepStatus.RUNNING else None
    if row.kind == StepKind.READ_IN_BROWSER and row.started_at is None:
        since = row.created_at
    return row.worked_s + (max((now - since).total_seconds(), 0.0) if since is not None else 0.0)


def _quiet_s(rows: Sequence[StepRow], run: RunRow, now: datetime) -> float:
    """Return the seconds since a step of the current iteration ended, the iteration began or the run became active."""
    steps = [row for row in rows if row.iteration == run.iteration]
    if not steps or run.active_since is None:
        return 0.0
    began = min(row.created_at for row in steps)
    last = max((row.ended_at for row in steps if row.ended_at is not None), default=began)
    return max((now - max(began, last, run.active_since)).total_seconds(), 0.0)


def _waited_s(session: Session, run: RunRow, now: datetime) -> float:
    """Return the seconds since the run came to its status."""
    entered = session.scalar(
        select(EventRow.at)
        .where(EventRow.run_id == run.id, EventRow.type == "status_changed")
        .order_by(EventRow.seq.desc())
        .limit(1)
    )
    return (now - entered).total_seconds() if entered is not None else 0.0


def _usage(session: Session, run: RunRow, steps: tuple[StepView, ...], now: datetime) -> Usage:
    counted = [s for s in steps if s.status is not StepStatus.CANCELLED]
    chars = sum(int(s.result.get("chars", 0)) for s in counted if s.kind is StepKind.PARSE)
    earlier = _earlier_epochs(session, run) if run.epoch > 1 else {}
    spent = load_booked(session, run.id)
    return Usage(
        iterations=run.iteration,
        searches=sum(s.kind is StepKind.SEARCH for s in counted) + earlier.get(StepKind.SEARCH, 0),
        fetches=sum(s.kind is StepKind.READ_SOURCE for s in counted) + earlier.get(StepKind.READ_SOURCE, 0),
        elapsed_s=elapsed_s(run, now),
        run_chars=chars,
        **{**asdict(spent.settled + spent.under_way), "cost_usd": spent.cost_usd},
        cached_tokens=spent.cached_tokens,
    )


def elapsed_s(run: RunRow, now: datetime) -> float:
    """Return the seconds that the run has been active: researching or synthesizing, waits and pauses left out."""
    current = (now - run.active_since).total_seconds() if run.active_since is not None else 0.0
    return run.active_s + max(current, 0.0)


def _earlier_epochs(session: Session, run: RunRow) -> dict[str, int]:
    rows = session.execute(
        select(StepRow.kind, func.count())
        .where(StepRow.run_id == run.id, StepRow.epoch < run.epoch, StepRow.status != StepStatus.CANCELLED)
        .group_by(StepRow.kind)
    ).all()
    return dict(rows)


def _candidates(session: Session, run: RunRow) -> tuple[Candidate, ...]:
    document, title = SourceRow.body["document_id"].astext, SourceRow.body["title"].astext
    rows = session.execute(
        select(
            CandidacyRow.source_id,
            CandidacyRow.search_key,
            CandidacyRow.rank,
            document,
            title,
            SourceRow.snapshot_sha256,
        )
        .join(SourceRow, SourceRow.id == CandidacyRow.source_id)
        .where(CandidacyRow.run_id == run.id, (CandidacyRow.epoch == run.epoch) | (CandidacyRow.search_key == GIVEN))
        .order_by(CandidacyRow.search_key, CandidacyRow.rank)
    ).all()
    return tuple(Candidate(*row) for row in rows)


def _plan(session: Session, run: RunRow) -> PlanView | None:
    plan = load_plan(session, run)
    if plan is None:
        return None
    return PlanView(
        tuple(QuestionView(q.id, q.text, q.priority == "required") for q in plan.questions),
        tuple(Search(t.query, t.question_ids, t.endpoint, t.result_count) for t in plan.search_tasks),
    )


def _step_counts(session: Session, run: RunRow) -> StepCounts:
    ours = (StepRow.run_id == run.id, StepRow.epoch == run.epoch)
    counts = dict(session.execute(select(StepRow.status, func.count()).where(*ours).group_by(StepRow.status)).all())
    error = session.scalar(
        select(StepRow.error).where(*ours, StepRow.status == StepStatus.FAILED).order_by(StepRow.id).limit(1)
    )
    still = counts.get(StepStatus.PENDING, 0) + counts.get(StepStatus.RUNNING, 0)
    return StepCounts(still, counts.get(StepStatus.COMPLETED, 0), counts.get(StepStatus.FAILED, 0), error)


def knowledge_row(knowledge: Knowledge) -> dict[str, Any]:
    """Return the JSON form of `Knowledge`."""
    return {**asdict(knowledge), "covered": sorted(knowledge.covered)}


def knowledge_of(row: dict[str, Any]) -> Knowledge:
    """Read what `knowledge_row` wrote."""
    return Knowledge(**{**row, "covered": frozenset(row["covered"])})
