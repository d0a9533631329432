"""The ledger over Postgres: how a step is leased, proved alive, finished, failed and given back.

Locks are taken in the order owner, run, step. Time is the database's. A run's row is locked ``FOR NO KEY UPDATE``, so
that inserts of rows that refer to it do not wait.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import uuid4

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from shared.contracts.evidence import Fetch
from shared.db.engine import Transactions
from shared.db.outbox import Outbox
from shared.db.progress import pause, progress
from shared.db.recording import lose_document, lose_source, record, record_fetches
from shared.db.tables import ApiKeyRow, AttemptRow, OwnerRow, RunRow, StepRow
from shared.db.views import load_limits
from shared.db.waiting import waiting_steps
from shared.domain.errors import NoPlace, StepError
from shared.domain.ids import LeaseToken, OwnerId, RunId, StepId
from shared.domain.kinds import KINDS
from shared.domain.retries import Caps, GiveUp, Hold, Retry, Tries, decide_interrupted, decide_retry, is_last
from shared.domain.states import ACQUIRING, PLANNING_STEPS, RunKind, RunStatus, StepKind, StepStatus, claimable
from shared.domain.turns import Waiting
from shared.ports.ledger import Committed, Lease, Outcome

MAX_ERROR_CHARS = 2000
AUTHORITY_REVOKED = "authority_revoked"
"""Why a run pauses whose key was revoked; it goes on when somebody with a living key resumes it."""


@dataclass(frozen=True, slots=True)
class LedgerLimits:
    """What the operator set: seconds of a lease, runs of one owner that research at once, tries of a step."""

    lease_s: float
    max_running_runs: int
    caps: Caps = field(default_factory=Caps)


class PostgresLedger:
    """See `shared.ports.ledger.Ledger`."""

    def __init__(self, transactions: Transactions, limits: LedgerLimits) -> None:
        self._transactions, self._limits = transactions, limits

    def claim(self, step_id: StepId, kinds: Collection[StepKind], worker: str) -> tuple[Lease, Committed] | None:
        """Lease the step, or return None when it is done, taken, not due, or of a kind not in ``kinds``."""
        token = LeaseToken(uuid4().hex)

        def work(session: Session) -> tuple[Lease, Committed] | None:
            locked = lock_step(session, step_id)
            if locked is None:
                return None
            run, step = locked
            if step.status == StepStatus.RUNNING and step.lease_token == token:
                return self._lease_of(run, step, token), Committed()  # this claim has worked, its answer was lost
            now = database_now(session)
            if step.kind not in kinds or not _claimable(run, step, now):  # it may be a kind of newer code
                return None
            outbox = Outbox(session, run, now)
            if _revoked(session, run):
                pause(session, run, outbox, AUTHORITY_REVOKED)
                return None
            if step.status == StepStatus.RUNNING:
                interrupt(session, run, step, outbox, self._limits.caps)
                if step.status != StepStatus.PENDING:
                    return None
            self._begin(session, step, outbox, token, worker)
            return self._lease_of(run, step, token), outbox.committed()

        return self._transactions.run(work)

    def waiting(self, kinds: Collection[StepKind]) -> tuple[Waiting, ...]:
        """Return the oldest step of these kinds that is due of each run."""
        return self._transactions.run(lambda session: waiting_steps(session, kinds))

    def _begin(self, session: Session, step: StepRow, outbox: Outbox, token: LeaseToken, worker: str) -> None:
        """Begin a try of a step that is due."""
        kind = StepKind(step.kind)
        until = outbox.now + timedelta(seconds=self._limits.lease_s)
        step.status, step.lease_token, step.leased_until = StepStatus.RUNNING, token, until
        step.attempts += 1
        step.started_at, step.works_since = step.started_at or outbox.now, outbox.now
        session.add(
            AttemptRow(
                step_id=step.id,
                number=step.attempts,
                lease_token=token,
                worker=worker,
                claimed_at=outbox.now,
                leased_until=until,
            )
        )
        outbox.event("step_started", step_id=step.id, kind=kind, attempt=step.attempts, summary=KINDS[kind].doing)

    def _lease_of(self, run: RunRow, step: StepRow, token: LeaseToken) -> Lease:
        return Lease(
            step_id=StepId(step.id),
            run_id=RunId(run.id),
            owner_id=OwnerId(run.owner_id),
            kind=StepKind(step.kind),
            token=token,
            attempt=step.attempts,
            epoch=step.epoch,
            key=step.key,
            iteration=step.iteration,
            subject=step.subject,
            inputs=step.inputs,
            last_try=is_last(step.errors, self._limits.caps),
        )

    def heartbeat(self, lease: Lease) -> bool:
        """Extend the lease by its full length; False when it is lost."""
        until = func.clock_timestamp() + timedelta(seconds=self._limits.lease_s)

        def work(session: Session) -> bool:
            leased_until = session.scalar(
                update(StepRow)
                .where(
                    StepRow.id == lease.step_id,
                    StepRow.lease_token == lease.token,
                    StepRow.status == StepStatus.RUNNING,
                    StepRow.leased_until > func.clock_timestamp(),
                )
                .values(leased_until=until)
                .returning(StepRow.leased_until)
            )
            if leased_until is None:
                return False
            session.execute(
                update(AttemptRow)
                .where(AttemptRow.step_id == lease.step_id, AttemptRow.number == lease.attempt)
                .values(leased_until=leased_until)
            )
            return True

        return self._transactions.run(work)

    def commit(self, lease: Lease, outcome: Outcome) -> Committed | None:
        """Record the outcome and what follows from it in one transaction; None when the lease was lost."""

        def work(session: Session) -> Committed | None:
            held = _held(session, lease)
            if held is None:
                return Committed() if _was_done(session, lease) else None
            run, step, outbox = held
            end_attempt(session, step, outbox, "done", None)
            step.status, step.result, step.ended_at = StepStatus.COMPLETED, dict(outcome.result), outbox.now
            step.lease_token = step.leased_until = step.error_code = step.error = None
            record(session, run, lease, outcome, outbox)
            _say_finished(step, outcome, outbox)
            progress(session, run, outbox)
            return outbox.committed()

        return self._transactions.run(work)

    def fail(self, lease: Lease, error: Exception) -> Committed | None:
        """Record a failed try and decide whether to try again; None when the lease was lost."""

        def work(session: Session) -> Committed | None:
            held = _held(session, lease)
            if held is None:
                return None
            run, step, outbox = held
            if isinstance(error, StepError):
                record_fetches(session, lease, (row for row in error.log if isinstance(row, Fetch)))
            tries = Tries(step.errors + 1, step.interruptions)
            decision = decide_retry(error, tries, self._limits.caps, _patience_s(session, run, step, outbox.now))
            if isinstance(decision, Hold):
                end_attempt(session, step, outbox, "postponed", str(error))
                _hold(session, run, step, outbox, decision)
                return outbox.committed()
            outcome = "postponed" if isinstance(decision, Retry) and not decision.counts else "failed"
            end_attempt(session, step, outbox, outcome, str(error))
            if outcome == "failed":
                step.errors += 1
            end_try(session, run, step, outbox, decision, outcome)
            if isinstance(error, NoPlace):
                _give_back(session, step)
            return outbox.committed()

        return self._transactions.run(work)

    def hand_back(self, lease: Lease) -> Committed | None:
        """Give the step back untried, for a worker that stops; None when the lease was lost."""

        def work(session: Session) -> Committed | None:
            held = _held(session, lease)
            if held is None:
                return None
            run, step, outbox = held
            end_attempt(session, step, outbox, "handed_back", None)
            end_try(session, run, step, outbox, Retry(0.0, counts=False), "handed_back")
            return outbox.committed()

        return self._transactions.run(work)

    def admit(self, owner_id: OwnerId) -> Committed:
        """Start the owner's oldest queued runs as far as its limit allows."""

        def work(session: Session) -> Committed:
            return admit(session, owner_id, self._limits.max_running_runs)

        return self._transactions.run(work)


def database_now(session: Session) -> datetime:
    """Return the database's clock, which is the only one that leases and waits are measured by."""
    now: datetime = session.execute(select(func.clock_timestamp())).scalar_one()
    return now


def lock_run(session: Session, run_id: str) -> RunRow | None:
    """Lock a run's row and return it."""
    return session.scalar(
        select(RunRow)
        .where(RunRow.id == run_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )


def lock_step(session: Session, step_id: str) -> tuple[RunRow, StepRow] | None:
    """Lock a step's run, then the step."""
    run_id = session.scalar(select(StepRow.run_id).where(StepRow.id == step_id))
    run = lock_run(session, run_id) if run_id is not None else None
    if run is None:
        return None
    step = session.scalar(
        select(StepRow)
        .where(StepRow.id == step_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )
    return (run, step) if step is not None else None


def _claimable(run: RunRow, step: StepRow, now: datetime) -> bool:
    kinds = claimable(RunKind(run.kind), RunStatus(run.status))
    if StepKind(step.kind) not in kinds or step.epoch != run.epoch:
        return False
    if step.status == StepStatus.PENDING:
        return step.not_before <= now
    expired = step.leased_until is None or step.leased_until <= now
    return step.status == StepStatus.RUNNING and expired


def _revoked(session: Session, run: RunRow) -> bool:
    """Tell whether the key that the run answers to was revoked; one that has merely expired lets it end."""
    if run.key_id is None:
        return False
    return session.scalar(select(ApiKeyRow.revoked_at).where(ApiKeyRow.id == run.key_id)) is not None


def _held(session: Session, lease: Lease) -> tuple[RunRow, StepRow, Outbox] | None:
    """Lock run and step, and return them if the lease is still ours."""
    locked = lock_step(session, lease.step_id)
    if locked is None:
        return None
    run, step = locked
    if step.status != StepStatus.RUNNING or step.lease_token != lease.token:
        return None
    return run, step, Outbox(session, run, database_now(session))


def _patience_s(session: Session, run: RunRow, step: StepRow, now: datetime) -> float | None:
    """Return for how much longer a step may be put off: the run's clock does not run yet while it is planned."""
    if StepKind(step.kind) not in PLANNING_STEPS or step.started_at is None:
        return None
    return load_limits(session, run.id).elapsed_s - (now - step.started_at).total_seconds()


def _was_done(session: Session, lease: Lease) -> bool:
    """Tell whether this lease has been committed: by an earlier call whose answer was lost."""
    outcome = session.scalar(
        select(AttemptRow.outcome).where(
            AttemptRow.step_id == lease.step_id,
            AttemptRow.number == lease.attempt,
            AttemptRow.lease_token == lease.token,
        )
    )
    return outcome == "done"


def end_attempt(session: Session, step: StepRow, outbox: Outbox, outcome: str, error: str | None) -> None:
    """Close the try that runs now."""
    session.execute(
        update(AttemptRow)
        .where(AttemptRow.step_id == step.id, AttemptRow.number == step.attempts)
        .values(ended_at=outbox.now, outcome=outcome, error=error[:MAX_ERROR_CHARS] if error else None)
    )


def _give_back(session: Session, step: StepRow) -> None:
    """Forget the try that has just ended: nothing was begun in it."""
    session.execute(delete(AttemptRow).where(AttemptRow.step_id == step.id, AttemptRow.number == step.attempts))
    step.attempts -= 1


def interrupt(session: Session, run: RunRow, step: StepRow, outbox: Outbox, caps: Caps) -> None:
    """End a try whose lease ran out: the step is pending again, or has failed when that happened too often."""
    end_attempt(session, step, outbox, "interrupted", None)
    step.interruptions += 1
    step.works_since = None  # nobody knows for how long it has worked
    tries = Tries(step.errors, step.interruptions)
    end_try(session, run, step, outbox, decide_interrupted(tries, caps), "interrupted")


def end_try(
    session: Session, run: RunRow, step: StepRow, outbox: Outbox, decision: Retry | GiveUp, outcome: str
) -> None:
    """Make the step due again, or fail it and let the run go on without it; ``outcome`` is that of the try."""
    step.lease_token = step.leased_until = None
    kind = StepKind(step.kind)
    _stop_clock(step, outbox.now, decision)
    if isinstance(decision, Retry):
        due = outbox.now + timedelta(seconds=decision.after_s)
        step.status, step.not_before, step.wakes = StepStatus.PENDING, due, 0
        step.wake_at = due if decision.after_s > 0 else outbox.wake_at
        facts = {"step_id": step.id, "kind": kind, "attempt": step.attempts, "not_before": due.isoformat()}
        outbox.event("step_retrying", outcome=outcome, **facts)
        if decision.after_s <= 0:
            outbox.wake(StepId(step.id), kind)
        return
    step.status, step.ended_at = StepStatus.FAILED, outbox.now
    step.error_code, step.error = decision.code, decision.detail[:MAX_ERROR_CHARS]
    if kind is StepKind.PARSE and "document_id" in step.inputs:
        lose_document(session, str(step.inputs["document_id"]), step.error)
    if kind in ACQUIRING and "source_id" in step.inputs:
        lose_source(session, run, str(step.inputs["source_id"]), step.error, outbox)
    facts = {"step_id": step.id, "kind": kind, "attempt": step.attempts, "summary": step.error}
    outbox.event("step_failed", outcome=outcome, **facts)
    progress(session, run, outbox)


def _stop_clock(step: StepRow, now: datetime, decision: Retry | GiveUp) -> None:
    """Count what the try has worked, and a wait that somebody else has asked for."""
    if step.works_since is not None:
        step.worked_s += max((now - step.works_since).total_seconds(), 0.0)
        step.works_since = None
    if isinstance(decision, Retry) and not decision.ours:
        step.worked_s += decision.after_s


def _hold(session: Session, run: RunRow, step: StepRow, outbox: Outbox, decision: Hold) -> None:
    """Give the step back and pause its run, unless a person has paused it meanwhile."""
    end_try(session, run, step, outbox, Retry(0.0, counts=False), "postponed")
    run.last_error = decision.detail[:MAX_ERROR_CHARS]
    if run.status != RunStatus.PAUSED:
        pause(session, run, outbox, decision.reason)


def _say_finished(step: StepRow, outcome: Outcome, outbox: Outbox) -> None:
    kind = StepKind(step.kind)
    outbox.event("step_finished", step_id=step.id, kind=kind, attempt=step.attempts, summary=outcome.summary)
    outbox.event("progress", phase=KINDS[kind].phase, message=outcome.summary, step_id=step.id)


def admit(session: Session, owner_id: OwnerId, default_limit: int) -> Committed:
    """Start the owner's oldest queued runs as far as its limit allows, in one transaction."""
    owner = session.scalar(select(OwnerRow).where(OwnerRow.id == owner_id).with_for_update(key_share=True))
    if owner is None:
        return Committed()
    running = session.scalar(
        select(func.count()).where(
            RunRow.owner_id == owner_id,
            RunRow.kind == RunKind.RESEARCH,
            RunRow.status.in_([RunStatus.RESEARCHING, RunStatus.SYNTHESIZING]),
        )
    )
    free = (owner.max_running_runs or default_limit) - (running or 0)
    if free <= 0:
        return Committed()
    queued = session.scalars(
        select(RunRow.id)
        .where(RunRow.owner_id == owner_id, RunRow.status == RunStatus.QUEUED)
        .order_by(RunRow.queued_at, RunRow.id)
        .limit(free)
    ).all()
    sent = Committed()
    for run_id in queued:
        run = lock_run(session, run_id)
        if run is not None and run.status == RunStatus.QUEUED:
            outbox = Outbox(session, run, database_now(session))
            progress(session, run, outbox, may_start=True)
            more = outbox.committed()
            sent = Committed(sent.wake_ups + more.wake_ups, sent.events + more.events)
    return sent
