"""Moves a run on: asks the rules what comes next and writes it, under the run's lock, until that is nothing."""

from datetime import timedelta

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from shared.db.engine import new_id
from shared.db.outbox import Outbox
from shared.db.recording import lose_documents
from shared.db.tables import AttemptRow, IterationRow, RunRow, StepRow
from shared.db.views import elapsed_s, knowledge_of, knowledge_row, load_view
from shared.domain.advance import advance, gained, wake_in_s
from shared.domain.ids import OwnerId, StepId
from shared.domain.managed_moves import clock_runs
from shared.domain.moves import Advance, NewStep
from shared.domain.states import OPEN_STEP, RUNNING_RUN, RunKind, RunStatus, StepKind, StepStatus, is_final, move
from shared.domain.view import Knowledge, RunView

MAX_MOVES = 20
"""More moves than any legal path has: a fuse against rules that never settle."""

BUDGET_MARKS = (50, 80, 100)
"""Percent of a limit at which a `budget` event is sent."""


def progress(
    session: Session, run: RunRow, outbox: Outbox, *, may_start: bool = False, wait_limit_s: float | None = None
) -> None:
    """Apply the rules to the run until they have nothing to add; the caller holds the run's row lock.

    ``wait_limit_s`` is how long a run may wait for a person; whoever does not know it lets the sweeper look at once.
    """
    for _ in range(MAX_MOVES):
        session.flush()
        view = load_view(session, run, outbox.now, may_start=may_start, wait_limit_s=wait_limit_s)
        change = advance(view)
        _apply(session, run, outbox, view, change)
        if not change.again:
            if view.managed:
                _count_activity(run, outbox, active=clock_runs(view, change))
            wake = wake_in_s(view)
            run.wake_at = outbox.now + timedelta(seconds=wake) if wake is not None else None
            run.updated_at = outbox.now
            return
    raise AssertionError(f"the rules did not settle for run {run.id}")


def end_open_steps(session: Session, run: RunRow, kinds: frozenset[StepKind] | None, outbox: Outbox) -> None:
    """Cancel the open steps of the run, of some kinds or of all, and end their tries; who holds one is fenced."""
    wanted = [StepRow.run_id == run.id, StepRow.status.in_(OPEN_STEP)]
    if kinds is not None:
        wanted.append(StepRow.kind.in_(kinds))
    ended = session.scalars(
        update(StepRow)
        .where(*wanted)
        .values(status=StepStatus.CANCELLED, lease_token=None, leased_until=None, ended_at=outbox.now)
        .returning(StepRow.id)
    ).all()
    session.execute(
        update(AttemptRow)
        .where(AttemptRow.step_id.in_(ended), AttemptRow.outcome.is_(None))
        .values(outcome="cancelled", ended_at=outbox.now)
    )
    if run.kind == RunKind.INGEST:
        lose_documents(session, run.id, "It was not read: the run that was to read it has ended.")


def set_status(run: RunRow, outbox: Outbox, status: RunStatus, reason: str | None) -> None:
    """Move the run to another status and say so."""
    before = RunStatus(run.status)
    run.status = move(before, status)
    if status is RunStatus.QUEUED:
        run.queued_at = outbox.now
        outbox.admit(OwnerId(run.owner_id))
    _count_activity(run, outbox, active=status in RUNNING_RUN)
    run.completed_at = outbox.now if is_final(status) else None
    if is_final(status) or status is RunStatus.PAUSED:
        run.wake_at = None
        outbox.admit(OwnerId(run.owner_id))
    outbox.event("status_changed", **{"from": before, "to": status, "reason": reason})


def pause(session: Session, run: RunRow, outbox: Outbox, reason: str) -> None:
    """Stop at the next safe boundary: what runs may end and is kept, nothing further is begun."""
    run.resume_phase = run.status
    set_status(run, outbox, RunStatus.PAUSED, reason)
    progress(session, run, outbox)


def _count_activity(run: RunRow, outbox: Outbox, *, active: bool) -> None:
    """Let the clock of the elapsed limit run exactly while the run is active."""
    if active and run.active_since is None:
        run.active_since = outbox.now
        run.started_at = run.started_at or outbox.now
    elif not active and run.active_since is not None:
        run.active_s, run.active_since = elapsed_s(run, outbox.now), None


def _apply(session: Session, run: RunRow, outbox: Outbox, view: RunView, change: Advance) -> None:
    if change.stop_reason is not None:
        run.stop_reason = change.stop_reason
    if change.error is not None:
        run.last_error = change.error
    if change.cancel:
        end_open_steps(session, run, change.cancel, outbox)
    if change.finished:
        _finish_iteration(session, run, outbox, view)
    if change.iteration is not None:
        run.iteration = change.iteration
    if change.status is not None:
        if change.status is RunStatus.FAILED:
            run.resume_phase = run.status
        set_status(run, outbox, change.status, change.reason)
    for step in change.steps:
        insert_step(session, run, outbox, step)
    _budget_events(outbox, view, change)


def insert_step(session: Session, run: RunRow, outbox: Outbox, step: NewStep) -> None:
    """Insert a step unless the epoch has one of its key, and remember to wake its worker."""
    inserted = session.scalar(
        insert(StepRow)
        .values(
            id=new_id("stp"),
            run_id=run.id,
            epoch=run.epoch,
            kind=step.kind,
            key=step.key,
            iteration=step.iteration,
            subject=step.subject,
            inputs=dict(step.inputs),
            status=StepStatus.PENDING,
            attempts=0,
            errors=0,
            interruptions=0,
            wake_at=outbox.wake_at,
            wakes=0,
        )
        .on_conflict_do_nothing(index_elements=["run_id", "epoch", "key"])
        .returning(StepRow.id)
    )
    if inserted is not None:
        outbox.wake(StepId(inserted), step.kind)


def _finish_iteration(session: Session, run: RunRow, outbox: Outbox, view: RunView) -> None:
    last = session.scalar(
        select(IterationRow.knowledge)
        .where(IterationRow.run_id == run.id)
        .order_by(IterationRow.epoch.desc(), IterationRow.number.desc())
        .limit(1)
    )
    before = knowledge_of(last) if last is not None else Knowledge()
    gain = gained(before, view.knowledge)
    session.add(
        IterationRow(
            run_id=run.id,
            epoch=run.epoch,
            number=run.iteration,
            gain=gain,
            knowledge=knowledge_row(view.knowledge),
            ended_at=outbox.now,
        )
    )
    outbox.event("iteration_finished", iteration=run.iteration, gain=gain)


def _budget_events(outbox: Outbox, view: RunView, change: Advance) -> None:
    """Tell when the new steps carry a limit over one of its marks."""
    if view.kind is not RunKind.RESEARCH:
        return
    for limit, kind in (("searches", StepKind.SEARCH), ("fetches", StepKind.READ_SOURCE)):
        added = sum(step.kind is kind for step in change.steps)
        before, most = getattr(view.usage, limit), getattr(view.limits, limit)
        crossed = [m for m in BUDGET_MARKS if before * 100 < m * most <= (before + added) * 100]
        if crossed:
            outbox.event("budget", limit=limit, used=before + added, of=most)
