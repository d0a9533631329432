"""What a person may do to a run once it is there: one function for each action, each in one transaction."""

from collections.abc import Callable
from dataclasses import asdict

from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from shared.contracts.runs import ControlRequest
from shared.db.engine import Transactions, new_id
from shared.db.ledger import admit, database_now, lock_run
from shared.db.managed_jobs import forget_ended
from shared.db.outbox import Outbox
from shared.db.progress import end_open_steps, insert_step, pause, progress, set_status
from shared.db.recording import lose_documents
from shared.db.source_policies import check_searches, check_sources, load_policy, replace_policy
from shared.db.tables import (
    CandidacyRow,
    DocumentRow,
    EventRow,
    IterationRow,
    PlanRow,
    RequestRow,
    RunRow,
    StatementRow,
    StepRow,
)
from shared.db.views import load_limits
from shared.domain.budget import changed, raised
from shared.domain.errors import Conflict, IllegalAction, Invalid, NotFound, StaleVersion
from shared.domain.ids import OwnerId, RunId, StepId
from shared.domain.moves import NewStep
from shared.domain.states import (
    PLANNING_STEPS,
    RESEARCH_STEPS,
    SYNTHESIS_STEPS,
    Action,
    RunKind,
    RunStatus,
    StepKind,
    StepStatus,
    allowed_actions,
)
from shared.ports.gateway import PlanEdit
from shared.ports.ledger import Committed

OPEN_SESSION_INDEX = "uq_runs_open_session"

STOPPING = frozenset({Action.PAUSE, Action.CANCEL})
"""Actions after which a run goes on under nobody else's key."""

Control = Callable[[Session, RunRow, Outbox, ControlRequest], None]


class PostgresRunControls:
    """The part of `shared.ports.gateway.Controls` that changes runs."""

    _transactions: Transactions
    _max_running_runs: int
    _web_search: bool

    def act(self, owner_id: OwnerId, run_id: RunId, control: ControlRequest, key_id: str | None = None) -> Committed:
        """Carry out an action that the run's status allows; say so in the run's events.

        From then on the run answers to the key of whoever let it go on.
        """
        action, change_id = Action(control.action), new_id("chg")

        def work(session: Session, run: RunRow, outbox: Outbox) -> None:
            allow(run, action)
            outbox.event("control", action=action, by=owner_id, change_id=change_id)
            _CONTROLS[action](session, run, outbox, control)
            if action not in STOPPING:
                run.key_id = key_id
            run.updated_at = outbox.now

        try:
            return self._on_run(owner_id, run_id, change_id, work)
        except IntegrityError as error:
            if OPEN_SESSION_INDEX not in str(error.orig):
                raise
            raise Conflict("The run's session has a newer open run: wait until it ends, or cancel it.") from error

    def edit_plan(
        self,
        owner_id: OwnerId,
        run_id: RunId,
        edit: PlanEdit,
    ) -> Committed:
        """Replace the plan by a new version, and what else the edit brings: a source policy, limits."""
        change_id, plan = new_id("chg"), edit.plan

        def work(session: Session, run: RunRow, outbox: Outbox) -> None:
            allow(run, Action.EDIT_PLAN)
            if edit.expected_version != run.plan_version:
                raise StaleVersion(edit.expected_version, run.plan_version)
            policy = edit.policy.settled() if edit.policy is not None else None
            if policy is not None:
                check_sources(session, owner_id, policy, run.engine, self._web_search)
            check_searches(plan, policy or load_policy(session, run.id), run.engine)
            run.plan_version += 1
            body = plan.model_dump(mode="json")
            session.add(PlanRow(run_id=run.id, version=run.plan_version, body=body, by=owner_id))
            if policy is not None:
                replace_policy(session, run, policy, outbox)
            if edit.budget:
                limits = changed(load_limits(session, run.id), edit.budget)
                session.execute(update(RequestRow).where(RequestRow.run_id == run.id).values(limits=asdict(limits)))
            outbox.event("plan_changed", plan_version=run.plan_version, by=owner_id, change_id=change_id)
            run.updated_at = outbox.now

        return self._on_run(owner_id, run_id, change_id, work)

    def admit(self, owner_id: OwnerId) -> Committed:
        """Start the owner's oldest queued runs as far as its limit allows."""
        return self._transactions.run(lambda session: admit(session, owner_id, self._max_running_runs))

    def delete_run(self, owner_id: OwnerId, run_id: RunId) -> None:
        """Remove every row of the run; a worker that still holds a step of it finds nothing to record to."""

        found = False

        def work(session: Session) -> None:
            nonlocal found
            run = lock_run(session, run_id)
            if run is None or run.owner_id != owner_id:
                if found:
                    return  # an earlier commit worked, its answer was lost
                raise NotFound(f"There is no run {run_id}.")
            found = True
            if run.kind == RunKind.INGEST:
                lose_documents(session, run_id, "It was not read: the run that was to read it was deleted.")
            forget_ended(session, run_id)
            session.execute(delete(RunRow).where(RunRow.id == run_id))

        self._transactions.run(work)

    def _on_run(
        self, owner_id: OwnerId, run_id: RunId, change_id: str, work: Callable[[Session, RunRow, Outbox], None]
    ) -> Committed:
        """Change a run once: a repetition of a commit whose answer was lost finds the change by its id."""

        def locked(session: Session) -> Committed:
            if owned(session, owner_id, run_id) is None:
                raise NotFound(f"There is no run {run_id}.")
            run = lock_run(session, run_id)
            if run is None:
                raise NotFound(f"There is no run {run_id}.")
            if _was_changed(session, run, change_id):
                return Committed()
            outbox = Outbox(session, run, database_now(session))
            work(session, run, outbox)
            return outbox.committed()

        return self._transactions.run(locked)


def _was_changed(session: Session, run: RunRow, change_id: str) -> bool:
    told = select(EventRow.seq).where(
        EventRow.run_id == run.id,
        EventRow.type.in_(["control", "plan_changed"]),
        EventRow.payload["change_id"].astext == change_id,
    )
    return session.scalar(told.limit(1)) is not None


def owned(session: Session, owner_id: OwnerId, run_id: RunId) -> str | None:
    """Return the run's id when it is the owner's."""
    return session.scalar(select(RunRow.id).where(RunRow.id == run_id, RunRow.owner_id == owner_id))


def allow(run: RunRow, action: Action) -> None:
    """Raise `IllegalAction` unless the run's status allows the action."""
    allowed = allowed_actions(RunStatus(run.status))
    if action not in allowed:
        raise IllegalAction(action, run.status, allowed)


def raise_epoch(session: Session, run: RunRow, outbox: Outbox, keep: frozenset[StepKind]) -> None:
    """Begin a new epoch: open steps end; completed steps of the kinds in ``keep`` and what they found go along."""
    end_open_steps(session, run, None, outbox)
    before, run.epoch = run.epoch, run.epoch + 1
    session.execute(
        update(StepRow)
        .where(
            StepRow.run_id == run.id,
            StepRow.epoch == before,
            StepRow.status == StepStatus.COMPLETED,
            StepRow.kind.in_(keep),
        )
        .values(epoch=run.epoch)
    )
    if keep & RESEARCH_STEPS:
        _carry(session, run, before, CandidacyRow, IterationRow)
    if keep & SYNTHESIS_STEPS:
        _carry(session, run, before, StatementRow)


def _carry(
    session: Session, run: RunRow, before: int, *tables: type[CandidacyRow] | type[IterationRow] | type[StatementRow]
) -> None:
    for table in tables:
        session.execute(update(table).where(table.run_id == run.id, table.epoch == before).values(epoch=run.epoch))


def _approve(session: Session, run: RunRow, outbox: Outbox, control: ControlRequest) -> None:
    if control.expected_version is not None and control.expected_version != run.plan_version:
        raise StaleVersion(control.expected_version, run.plan_version)
    set_status(run, outbox, RunStatus.QUEUED, "approved")
    progress(session, run, outbox)


def _pause(session: Session, run: RunRow, outbox: Outbox, _: ControlRequest) -> None:
    pause(session, run, outbox, "paused")


def _resume(session: Session, run: RunRow, outbox: Outbox, _: ControlRequest) -> None:
    phase = RunStatus(run.resume_phase or RunStatus.PLANNING)
    run.resume_phase = run.last_error = None
    set_status(run, outbox, RunStatus.PLANNING if phase is RunStatus.CREATED else phase, "resumed")
    progress(session, run, outbox)
    waiting = select(StepRow).where(
        StepRow.run_id == run.id, StepRow.epoch == run.epoch, StepRow.status == StepStatus.PENDING
    )
    for step in session.scalars(waiting):
        step.wakes, step.wake_at = 0, max(step.not_before, outbox.wake_at)
        outbox.wake(StepId(step.id), StepKind(step.kind))


def _refine(session: Session, run: RunRow, outbox: Outbox, control: ControlRequest) -> None:
    """Go back to the plan with an instruction; what was found stays, what is under way ends."""
    instruction = (control.instruction or "").strip()
    if not instruction:
        raise Invalid("Say in a sentence what is to change.", field="instruction")
    if run.plan_version == 0:
        raise Invalid("The run has no plan to refine yet: cancel it and ask anew.", field="action")
    raise_epoch(session, run, outbox, frozenset())
    run.iteration, run.stop_reason, run.resume_phase = 0, None, None
    run.auto_approve = False
    set_status(run, outbox, RunStatus.PLANNING, "refined")
    inputs = {"instruction": instruction, "plan_version": run.plan_version}
    insert_step(session, run, outbox, NewStep(StepKind.REVISE_PLAN, "revise_plan", 0, "plan", inputs))


def _cancel(session: Session, run: RunRow, outbox: Outbox, _: ControlRequest) -> None:
    end_open_steps(session, run, None, outbox)
    run.stop_reason = "cancelled"
    set_status(run, outbox, RunStatus.CANCELLED, "cancelled")


def _retry(session: Session, run: RunRow, outbox: Outbox, _: ControlRequest) -> None:
    """Take up the failed phase again: what it completed is kept, only what failed or was left open is done anew."""
    if run.kind != RunKind.RESEARCH:
        _do_again(session, run, outbox)
        return
    planning = _failed_planning(session, run) if run.resume_phase == RunStatus.PLANNING else None
    raise_epoch(session, run, outbox, RESEARCH_STEPS | SYNTHESIS_STEPS)
    run.stop_reason = run.last_error = run.resume_phase = None
    set_status(run, outbox, RunStatus.PLANNING if planning else RunStatus.QUEUED, "retried")
    if planning is not None:
        insert_step(session, run, outbox, planning)


def _failed_planning(session: Session, run: RunRow) -> NewStep | None:
    """Return the step that failed to make the plan, or to revise it as a person asked, to be done anew."""
    failed = session.scalar(
        select(StepRow).where(
            StepRow.run_id == run.id,
            StepRow.epoch == run.epoch,
            StepRow.kind.in_(PLANNING_STEPS),
            StepRow.status == StepStatus.FAILED,
        )
    )
    return NewStep(StepKind(failed.kind), failed.key, 0, failed.subject, failed.inputs) if failed is not None else None


def _do_again(session: Session, run: RunRow, outbox: Outbox) -> None:
    """Do the failed steps of a run without a plan anew: documents to read, a report to check."""
    failed = session.scalars(
        select(StepRow).where(StepRow.run_id == run.id, StepRow.epoch == run.epoch, StepRow.status == StepStatus.FAILED)
    ).all()
    raise_epoch(session, run, outbox, frozenset({StepKind.PARSE}))
    run.stop_reason = run.last_error = run.resume_phase = None
    set_status(run, outbox, RunStatus.QUEUED, "retried")
    session.execute(
        update(DocumentRow)
        .where(DocumentRow.ingest_run_id == run.id, DocumentRow.id.in_([step.subject for step in failed]))
        .values(status="pending", reason=None)
    )
    for step in failed:
        insert_step(
            session, run, outbox, NewStep(StepKind(step.kind), step.key, step.iteration, step.subject, step.inputs)
        )
    progress(session, run, outbox)


def _increase_budget(session: Session, run: RunRow, outbox: Outbox, control: ControlRequest) -> None:
    """Raise limits and research on, or plan where there was no room for that.

    The report is written anew and becomes a further version.
    """
    limits = raised(load_limits(session, run.id), control.limits or {})
    session.execute(update(RequestRow).where(RequestRow.run_id == run.id).values(limits=asdict(limits)))
    planning = _failed_planning(session, run)
    raise_epoch(session, run, outbox, RESEARCH_STEPS)
    run.stop_reason = run.last_error = None
    set_status(run, outbox, RunStatus.PLANNING if planning else RunStatus.QUEUED, "budget_increased")
    if planning is not None:
        insert_step(session, run, outbox, planning)


_CONTROLS: dict[Action, Control] = {
    Action.APPROVE_PLAN: _approve,
    Action.PAUSE: _pause,
    Action.RESUME: _resume,
    Action.REFINE: _refine,
    Action.CANCEL: _cancel,
    Action.RETRY: _retry,
    Action.INCREASE_BUDGET: _increase_budget,
}
