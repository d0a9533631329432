"""The ledger over real Postgres: leases, fencing, retries, events, admission, sweeping."""

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.contracts.runs import ControlRequest
from shared.db.engine import Transactions
from shared.domain.errors import (
    Conflict,
    IllegalAction,
    Invalid,
    KeyReused,
    NoPlace,
    NotFound,
    Permanent,
    RateLimited,
    StaleVersion,
    Transient,
)
from shared.domain.ids import LOCAL_OWNER, OwnerId, RunId, StepId
from shared.domain.states import StepKind
from shared.ports.cpu import CpuBusy, CpuClosed
from shared.ports.gateway import PlanEdit
from shared.ports.ledger import Outcome
from tests.support.stage import ALL_KINDS, Stage, found, plan

DONE = Outcome("done")


@pytest.fixture
def stage(transactions: Transactions) -> Stage:
    """A ledger with an ordinary lease."""
    return Stage(transactions)


def event_types(stage: Stage, run_id: RunId) -> list[str]:
    """Return the types of the run's events, and check that their sequence has no gap."""
    events = stage.reads.events(LOCAL_OWNER, run_id, 0, 1000)
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    return [e.type for e in events]


def test_a_step_is_claimed_once(stage: Stage) -> None:
    """A second wake-up for the same step finds nothing to do."""
    _, created = stage.create()
    step_id = created.wake_ups[0].step_id
    stage.claim(step_id)
    assert stage.ledger.claim(step_id, ALL_KINDS, "w2") is None


def test_an_unknown_kind_is_left_alone(stage: Stage) -> None:
    """A worker claims only the kinds that it knows."""
    _, created = stage.create()
    assert stage.ledger.claim(created.wake_ups[0].step_id, {StepKind.SEARCH}, "w") is None
    assert stage.ledger.claim(StepId("stp_nothing"), ALL_KINDS, "w") is None


def test_racing_claims_give_one_lease(stage: Stage) -> None:
    """Eight workers that are woken for the same step at once: one gets it."""
    _, created = stage.create()
    step_id = created.wake_ups[0].step_id
    barrier, got = threading.Barrier(8), []

    def claim(name: str) -> None:
        barrier.wait()
        got.append(stage.ledger.claim(step_id, ALL_KINDS, name))

    threads = [threading.Thread(target=claim, args=(f"w{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(c is not None for c in got) == 1


def test_a_commit_records_everything_at_once(stage: Stage) -> None:
    """Plan, status, follow-up and events come in one transaction."""
    run_id, _ = stage.planned()
    run = stage.reads.run(LOCAL_OWNER, run_id)
    assert (run.status, run.plan_version, run.plan.title) == ("awaiting_plan_approval", 1, "T")
    assert event_types(stage, run_id) == [
        "run_created",
        "status_changed",
        "step_started",
        "plan_ready",
        "step_finished",
        "progress",
        "status_changed",
    ]


def test_a_zombie_is_refused(stage: Stage) -> None:
    """A worker whose lease ran out and was taken over cannot record its result."""
    run_id, created = stage.create()
    old = stage.claim(created.wake_ups[0].step_id, "zombie")
    stage.expire(old)
    new = stage.claim(old.step_id, "w2")
    assert new.attempt == 2
    assert stage.ledger.heartbeat(old) is False
    assert stage.ledger.commit(old, Outcome("late", plan=plan())) is None
    assert stage.ledger.commit(new, Outcome("in time", plan=plan())) is not None
    outcomes = stage.rows("select number, outcome from attempts where step_id = :id order by 1", id=old.step_id)
    assert [tuple(r) for r in outcomes] == [(1, "interrupted"), (2, "done")]
    assert stage.reads.run(LOCAL_OWNER, run_id).plan_version == 1


def test_a_heartbeat_extends_a_lease(stage: Stage) -> None:
    """A living worker keeps its lease; one whose lease has run out does not get it back."""
    _, created = stage.create()
    lease = stage.claim(created.wake_ups[0].step_id)
    assert stage.ledger.heartbeat(lease) is True
    stage.expire(lease)
    assert stage.ledger.heartbeat(lease) is False


def test_a_poison_step_fails_with_its_reason(stage: Stage) -> None:
    """A step whose worker dies each time ends after five tries, and its run with it."""
    run_id, created = stage.create()
    step_id = created.wake_ups[0].step_id
    for _ in range(5):
        stage.expire(stage.claim(step_id))
    stage.sweep.reclaim(step_id)
    run = stage.reads.run(LOCAL_OWNER, run_id)
    assert (run.status, run.stop_reason, run.resume_phase) == ("failed", "failed:plan", "planning")
    assert "interrupted 5 times" in (run.last_error or "")


def test_errors_are_retried_then_given_up(stage: Stage) -> None:
    """A transient error is tried three times in all; a permanent one once."""
    run_id, created = stage.create()
    step_id = created.wake_ups[0].step_id
    for _ in range(3):
        stage.scalar("update steps set not_before = clock_timestamp() where id = :id returning 1", id=step_id)
        stage.ledger.fail(stage.claim(step_id), Transient("busy", "It is busy."))
    assert stage.reads.run(LOCAL_OWNER, run_id).last_error == "It is busy."
    other, created = stage.create()
    stage.ledger.fail(stage.claim(created.wake_ups[0].step_id), Permanent("no", "Never."))
    assert stage.reads.run(LOCAL_OWNER, other).status == "failed"
    assert event_types(stage, run_id).count("step_retrying") == 2


def test_a_postponement_costs_no_try(stage: Stage) -> None:
    """A rate limit makes the step due later and is not counted as an error."""
    _, created = stage.create()
    step_id = created.wake_ups[0].step_id
    for _ in range(5):
        stage.scalar("update steps set not_before = clock_timestamp() where id = :id returning 1", id=step_id)
        stage.ledger.fail(stage.claim(step_id), RateLimited("429", "Slow down.", 30))
    assert stage.ledger.claim(step_id, ALL_KINDS, "w") is None
    row = stage.rows("select status, errors, not_before > clock_timestamp() from steps where id = :id", id=step_id)[0]
    assert tuple(row) == ("pending", 0, True)


@pytest.mark.parametrize("error", [CpuBusy(), CpuClosed(), NoPlace("browser_busy", "It reads another page.", 2)])
def test_a_put_off_for_want_of_a_place_is_no_try(stage: Stage, error: NoPlace) -> None:
    """The attempt is given back, however often; none of it counts against a cap, and the work may still be done."""
    run_id, created = stage.create()
    step_id = created.wake_ups[0].step_id
    for _ in range(12):
        stage.scalar("update steps set not_before = clock_timestamp() where id = :id returning 1", id=step_id)
        lease = stage.claim(step_id)
        assert (lease.attempt, lease.last_try) == (1, False)
        assert stage.ledger.fail(lease, error) is not None
        assert stage.ledger.commit(lease, DONE) is None
    row = stage.rows("select attempts, errors, interruptions, worked_s from steps where id = :id", id=step_id)[0]
    assert tuple(row)[:3] == (0, 0, 0)
    assert stage.scalar("select count(*) from attempts where step_id = :id", id=step_id) == 0
    stage.lapse(60)
    stage.finish(step_id, Outcome("planned", plan=plan()))
    assert stage.status(run_id) == "awaiting_plan_approval"


def test_an_error_before_and_after_a_put_off_counts_once_each(stage: Stage) -> None:
    """Only the attempt that began nothing is given back."""
    _, created = stage.create()
    step_id = created.wake_ups[0].step_id
    for error in (Transient("busy", "It is busy."), CpuBusy(), Transient("busy", "It is busy.")):
        stage.scalar("update steps set not_before = clock_timestamp() where id = :id returning 1", id=step_id)
        stage.ledger.fail(stage.claim(step_id), error)
    row = stage.rows("select attempts, errors, status from steps where id = :id", id=step_id)[0]
    assert tuple(row) == (2, 2, "pending")
    outcomes = stage.rows("select number, outcome from attempts where step_id = :id order by number", id=step_id)
    assert [tuple(o) for o in outcomes] == [(1, "failed"), (2, "failed")]


def test_a_step_handed_back_is_due_at_once(stage: Stage) -> None:
    """A worker that stops gives its step back; the next claim gets it, and its late result is refused."""
    _, created = stage.create()
    lease = stage.claim(created.wake_ups[0].step_id)
    sent = stage.ledger.hand_back(lease)
    assert sent is not None
    assert [w.step_id for w in sent.wake_ups] == [lease.step_id]
    assert stage.ledger.commit(lease, DONE) is None
    assert stage.claim(lease.step_id).attempt == 2


def test_cancel_fences_what_runs(stage: Stage) -> None:
    """After cancelling, a running step records nothing, and nothing new is claimed."""
    run_id, started = stage.researching()
    lease = stage.claim(started.wake_ups[0].step_id)
    stage.act(run_id, "cancel")
    last = stage.reads.run(LOCAL_OWNER, run_id).last_seq
    assert stage.ledger.commit(lease, Outcome("late", found=found(run_id, lease.key))) is None
    run = stage.reads.run(LOCAL_OWNER, run_id)
    assert (run.status, run.last_seq, run.counts.sources) == ("cancelled", last, 0)
    outcomes = stage.rows("select outcome from attempts where step_id = :id and ended_at is not null", id=lease.step_id)
    assert [r.outcome for r in outcomes] == ["cancelled"]
    with pytest.raises(IllegalAction):
        stage.act(run_id, "cancel")


def test_controls_refuse_what_cannot_be(stage: Stage) -> None:
    """Stale versions, illegal actions and strangers are told so, and nothing changes."""
    run_id, _ = stage.planned()
    with pytest.raises(StaleVersion):
        stage.act(run_id, "approve_plan", expected_version=7)
    with pytest.raises(StaleVersion):
        stage.controls.edit_plan(LOCAL_OWNER, run_id, PlanEdit(0, plan()))
    with pytest.raises(NotFound):
        stage.controls.act(OwnerId("own_other"), run_id, ControlRequest(action="cancel"))
    stage.controls.edit_plan(LOCAL_OWNER, run_id, PlanEdit(1, plan(2)))
    stage.act(run_id, "approve_plan", expected_version=2)
    with pytest.raises(IllegalAction) as refused:
        stage.controls.edit_plan(LOCAL_OWNER, run_id, PlanEdit(2, plan()))
    assert refused.value.allowed == ("pause", "refine", "cancel")


def test_an_idempotency_key_makes_one_run(stage: Stage) -> None:
    """The same key and body give the same run, another body is refused."""
    document = stage.document()
    policy = {"document_ids": (document,)}
    first, _ = stage.create(key="k", source_policy=policy)
    again, sent = stage.create(key="k", source_policy=policy)
    assert (again, sent.wake_ups) == (first, ())
    with pytest.raises(KeyReused):
        stage.create(key="k", objective="Something else?", source_policy=policy)


def test_racing_posts_with_one_key_make_one_run(stage: Stage) -> None:
    """Two requests with the same key at the same time are answered with the same run."""
    policy = {"document_ids": (stage.document(),)}
    barrier, got = threading.Barrier(6), []

    def post() -> None:
        barrier.wait()
        got.append(stage.create(key="race", source_policy=policy)[0])

    threads = [threading.Thread(target=post) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 6
    assert len(set(got)) == 1


def test_one_open_run_per_session(stage: Stage) -> None:
    """A session takes a second run only when its first has ended."""
    run_id, _ = stage.create(session_id="s")
    with pytest.raises(Conflict, match="open run"):
        stage.create(session_id="s")
    stage.act(run_id, "cancel")
    stage.create(session_id="s")


def test_a_run_needs_sources(stage: Stage) -> None:
    """Without documents, or with an unknown one, a run is refused."""
    with pytest.raises(Invalid, match="no sources"):
        stage.create(source_policy={})
    with pytest.raises(Invalid, match="doc_missing"):
        stage.create(source_policy={"document_ids": ("doc_missing",)})


def test_the_same_source_is_one_row(stage: Stage) -> None:
    """A source that two searches find is one source with two candidacies."""
    run_id, started = stage.researching()
    first = stage.claim(started.wake_ups[0].step_id)
    sources = found(run_id, first.key, 3)
    stage.ledger.commit(first, Outcome("found", found=(*sources, *found(run_id, "another", 2))))
    assert stage.reads.run(LOCAL_OWNER, run_id).counts.sources == 3
    assert stage.scalar("select count(*) from candidacies where run_id = :id", id=run_id) == 5


def test_receipts_keep_the_first_answer(stage: Stage) -> None:
    """An answer is kept once for a request within its step."""
    _, created = stage.create()
    lease = stage.claim(created.wake_ups[0].step_id)
    assert stage.receipts.find(lease, "h") is None
    stage.receipts.keep(lease, "h", "search", {"n": 1})
    stage.receipts.keep(lease, "h", "search", {"n": 2})
    assert stage.receipts.find(lease, "h") == {"n": 1}


def test_deleting_a_run_leaves_nothing_of_it(stage: Stage) -> None:
    """Every row of a deleted run is gone, and a worker that holds a step of it records nothing."""
    run_id, started = stage.researching()
    lease = stage.claim(started.wake_ups[0].step_id)
    stage.controls.delete_run(LOCAL_OWNER, run_id)
    assert stage.ledger.commit(lease, DONE) is None
    for table in ("runs where id", "steps where run_id", "events where run_id", "plans where run_id"):
        assert stage.scalar(f"select count(*) from {table} = :id", id=run_id) == 0


@given(order=st.lists(st.integers(0, 5), min_size=12, max_size=12))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_wake_ups_three_times_and_shuffled_change_nothing(stage: Stage, order: list[int]) -> None:
    """Whatever the order and number of wake-ups, each step is executed once."""
    run_id, started = stage.researching()
    wake_ups = [w.step_id for w in started.wake_ups]
    executed: list[str] = []
    waiting = wake_ups * 3
    for pick in order:
        step_id = waiting[pick % len(waiting)]
        claimed = stage.ledger.claim(step_id, ALL_KINDS, "w")
        if claimed is not None:
            executed.append(step_id)
            committed = stage.ledger.commit(claimed[0], Outcome("none found"))
            waiting += [w.step_id for w in committed.wake_ups] * 3 if committed else []
    assert len(executed) == len(set(executed))
    event_types(stage, run_id)
    stage.act(run_id, "cancel")
