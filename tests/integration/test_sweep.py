"""The sweeper's queries over real Postgres: what is due, in which order, and what time alone moves on."""

import threading
from datetime import timedelta

import pytest

from shared.db.engine import Transactions
from shared.domain.errors import PutOff, RateLimited, SlowSite
from shared.domain.ids import LOCAL_OWNER, OwnerId, RunId, StepId
from shared.domain.research_moves import unread
from shared.domain.states import StepKind
from shared.ports.cpu import CpuBusy
from shared.ports.gateway import Upload
from shared.ports.ledger import Outcome
from tests.support.stage import Stage, found


@pytest.fixture
def stage(transactions: Transactions) -> Stage:
    """A ledger with an ordinary lease."""
    return Stage(transactions)


def uploads(count: int, name: str = "many") -> list[Upload]:
    """Return small distinct files."""
    return [Upload(f"{name}{n}.txt", f"{name} {n}".encode()) for n in range(count)]


def test_admission_is_limited_and_oldest_first(transactions: Transactions) -> None:
    """No more runs of one owner research at once than its limit; the rest start in the order of their approval."""
    stage = Stage(transactions, max_running=2)
    runs = [stage.planned(auto_approve=True)[0] for _ in range(4)]
    stage.ledger.admit(LOCAL_OWNER)
    assert [stage.status(r) for r in runs] == ["researching", "researching", "queued", "queued"]
    assert stage.sweep.owners_with_room(10) == ()
    ended = stage.act(runs[0], "cancel")
    assert ended.admit == LOCAL_OWNER
    assert stage.sweep.owners_with_room(10) == (LOCAL_OWNER,)
    stage.sweep.admit(LOCAL_OWNER)
    assert [stage.status(r) for r in runs[1:]] == ["researching", "researching", "queued"]


def test_owners_without_room_keep_nobody_waiting(transactions: Transactions) -> None:
    """An owner whose limit is reached is not in the list of those to start runs for, however long its runs wait."""
    stage = Stage(transactions, max_running=1)
    for _ in range(2):
        stage.planned(auto_approve=True)
        stage.ledger.admit(LOCAL_OWNER)
    stage.other_owner("own_other")
    stage.scalar(
        "update runs set owner_id = 'own_other' where id = :id returning 1",
        id=stage.planned(auto_approve=True)[0],
    )
    assert stage.sweep.owners_with_room(1) == (OwnerId("own_other"),)


def test_a_fresh_step_is_left_to_whoever_has_just_committed(stage: Stage) -> None:
    """The sweeper sends a second wake-up only when a second has passed without anybody taking the step up."""
    _, created = stage.create()
    assert [w.kind for w in created.wake_ups] == [StepKind.PLAN]
    assert stage.scalar("select wake_at - created_at from steps where kind = 'plan'") > timedelta(seconds=0.9)
    stage.lapse(1)
    assert created.wake_ups[0].step_id in stage.due()


def test_a_commit_wakes_a_bounded_number_of_steps(stage: Stage) -> None:
    """What a large upload has to wake beyond that is due for the sweeper, which sends it in fair order."""
    _, sent = stage.controls.add_documents(LOCAL_OWNER, uploads(50))
    assert len(sent.wake_ups) == 32
    assert stage.scalar("select count(*) from steps where wake_at < created_at") == 18


def test_the_sweeper_finds_lost_wake_ups(stage: Stage) -> None:
    """A step that nobody was woken for is found, and each time put off for longer."""
    _, created = stage.create()
    step_id = created.wake_ups[0].step_id
    stage.lapse(1)
    assert stage.sweep.due_queues() == {"planner", "extractor"}
    assert step_id in stage.due()
    assert stage.due() == []
    assert stage.sweep.due_queues() == frozenset()
    for wait_s in (4, 8, 16, 30, 30, 30, 30):
        stage.scalar("update steps set wake_at = clock_timestamp() where id = :id returning 1", id=step_id)
        before = stage.scalar("select clock_timestamp()")
        assert step_id in stage.due()
        [(wake_at, after)] = stage.rows("select wake_at, clock_timestamp() from steps where id = :id", id=step_id)
        assert before + timedelta(seconds=wait_s) <= wake_at <= after + timedelta(seconds=wait_s)


def test_a_postponed_step_is_due_at_its_time(stage: Stage) -> None:
    """Neither before nor later: the sweeper sleeps until then."""
    _, created = stage.create()
    step_id = created.wake_ups[0].step_id
    stage.ledger.fail(stage.claim(step_id), RateLimited("busy", "It is busy.", 5))
    stage.rows("delete from steps where kind = 'parse' returning 1")
    assert stage.due() == []
    assert 4 < stage.sweep.seconds_to_next(60) <= 5
    stage.lapse(5)
    assert stage.sweep.seconds_to_next(60) <= 0
    assert stage.due() == [step_id]


def test_steps_that_cannot_run_let_the_sweeper_sleep(stage: Stage) -> None:
    """Open steps of a paused run are nobody's business: not due, and no reason to look again at once."""
    run_id, _ = stage.researching()
    stage.rows("delete from steps where kind = 'parse' returning 1")
    stage.act(run_id, "pause")
    stage.look()
    stage.lapse(60)
    assert stage.due() == []
    assert stage.sweep.seconds_to_next(60) == 60


def test_the_sweeper_is_fair_between_runs(stage: Stage) -> None:
    """A run with many due steps does not keep another run's first step waiting."""
    stage.controls.add_documents(LOCAL_OWNER, uploads(20))
    stage.controls.add_documents(LOCAL_OWNER, uploads(3, "other"))
    stage.lapse(1)
    due = stage.due(4)
    runs = {stage.scalar("select run_id from steps where id = :id", id=step_id) for step_id in due}
    assert len(runs) == 2


def test_the_sweeper_is_fair_between_owners(stage: Stage) -> None:
    """An owner with many runs gets no more turns than one with a single run."""
    for n in range(6):
        stage.controls.add_documents(LOCAL_OWNER, uploads(2, f"crowd{n}"))
    stage.other_owner("own_other")
    stage.controls.add_documents(OwnerId("own_other"), uploads(3, "single"))
    stage.lapse(1)
    owners = [
        stage.scalar("select r.owner_id from steps s join runs r on r.id = s.run_id where s.id = :id", id=step_id)
        for step_id in stage.due(6)
    ]
    assert owners.count("own_other") == 3


def test_two_sweepers_do_not_send_the_same(stage: Stage) -> None:
    """Sweepers at once share the due steps out between them."""
    stage.controls.add_documents(LOCAL_OWNER, uploads(40))
    stage.lapse(1)
    barrier, got = threading.Barrier(4), []

    stage.rows("update steps set wakes = 5 returning id")  # so that none is due once more while this runs

    def sweep() -> None:
        barrier.wait()
        got.extend(stage.due())

    threads = [threading.Thread(target=sweep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == len(set(got)) == 40


def test_expired_leases_are_reclaimed_without_a_wake_up(stage: Stage) -> None:
    """The sweeper ends the try of a dead worker, and the step is due again."""
    _, created = stage.create()
    lease = stage.claim(created.wake_ups[0].step_id)
    stage.expire(lease)
    assert stage.sweep.expired(10) == (lease.step_id,)
    sent = stage.sweep.reclaim(lease.step_id)
    assert [w.step_id for w in sent.wake_ups] == [lease.step_id]
    assert stage.sweep.expired(10) == ()


def test_what_cannot_be_dealt_with_is_put_off(stage: Stage) -> None:
    """A step or a run that is put off is left alone for that long, so that others get their turn."""
    run_id, created = stage.create()
    stage.expire(stage.claim(created.wake_ups[0].step_id))
    stage.scalar("update runs set wake_at = clock_timestamp() where id = :id returning 1", id=run_id)
    for item in (created.wake_ups[0].step_id, run_id):
        stage.sweep.put_off(item, 30)
    assert stage.sweep.expired(10) == ()
    assert stage.sweep.due_runs(10) == ()


def test_elapsed_time_ends_research(stage: Stage) -> None:
    """When the time for research is up, the sweeper moves the run on to synthesis and cancels what is open."""
    run_id, _ = stage.researching()
    stage.lapse(500)
    stage.look()
    run = stage.reads.run(LOCAL_OWNER, run_id)
    assert (run.status, run.stop_reason) == ("synthesizing", "budget:elapsed_s")
    open_kinds = stage.rows("select kind from steps where run_id = :id and status = 'pending'", id=run_id)
    assert [r.kind for r in open_kinds] == ["outline"]


def test_a_straggler_does_not_hold_the_iteration(stage: Stage) -> None:
    """When its wait is over the sweeper lets research go on; the late result still counts, in the next iteration."""
    run_id, started = stage.researching()
    search = stage.claim(started.wake_ups[0].step_id)
    stage.ledger.commit(search, Outcome("found", found=found(run_id, search.key, 2)))
    slow, quick = (stage.claim(step_id) for step_id in stage.pending(run_id, "read_source"))
    stage.ledger.commit(quick, Outcome("read"))
    stage.lapse(14)
    stage.look()
    assert stage.pending(run_id, "decide") == []
    stage.lapse(2)
    stage.look()
    [decide] = stage.pending(run_id, "decide")
    stage.ledger.commit(slow, Outcome("read late", result={"next": {"source_id": slow.subject, "query": "q"}}))
    assert stage.scalar("select iteration from steps where run_id = :id and kind = 'parse'", id=run_id) == 2
    action = {"action": "search", "query": "more", "question_ids": ["q1"], "endpoint": "documents", "results": 3}
    stage.finish(decide, Outcome("decided", result={"actions": [action]}))
    assert stage.pending(run_id, "search") != []


def reading(stage: Stage, count: int) -> tuple[RunId, list[StepId]]:
    """Return a run whose only search has found so many sources, and the steps that are to read them."""
    run_id, started = stage.researching()
    search = stage.claim(started.wake_ups[0].step_id)
    stage.ledger.commit(search, Outcome("found", found=found(run_id, search.key, count)))
    return run_id, stage.pending(run_id, "read_source")


def parsing(stage: Stage, count: int) -> tuple[RunId, list[StepId]]:
    """Return a run that has fetched so many sources, and the steps that are to parse them."""
    run_id, reads = reading(stage, count)
    for step_id in reads:
        lease = stage.claim(step_id)
        following = {"source_id": lease.subject, "query": "q"}
        stage.ledger.commit(lease, Outcome("read", result={"next": following}))
    return run_id, stage.pending(run_id, "parse")


def test_the_straggler_clock_stands_while_a_step_waits_for_a_place(stage: Stage) -> None:
    """However long it waits, and however often it is put off: only once it works does its time begin."""
    run_id, [busy, quick] = parsing(stage, 2)
    stage.finish(quick, Outcome("parsed"))
    for _ in range(4):
        stage.ledger.fail(stage.claim(busy), CpuBusy())
        stage.lapse(16)
        stage.look()
    assert stage.pending(run_id, "decide") == []
    stage.claim(busy)
    stage.lapse(8)
    stage.look()
    assert stage.pending(run_id, "decide") == []
    stage.lapse(8)
    stage.look()
    assert len(stage.pending(run_id, "decide")) == 1


def test_a_turn_at_a_site_is_a_place_and_a_rest_that_it_asks_for_is_slow(stage: Stage) -> None:
    """Behind our own runs a source is not slow; one whose site asks for more time than we would leave it is."""
    for error, waits in (
        (PutOff("site_busy", "Others ask.", 20), True),
        (SlowSite("site_busy", "It rests.", 20), False),
    ):
        run_id, [busy, quick] = reading(stage, 2)
        stage.finish(quick, Outcome("read"))
        stage.ledger.fail(stage.claim(busy), error)
        stage.lapse(16)
        stage.look()
        assert (stage.pending(run_id, "decide") == []) is waits
        stage.act(run_id, "cancel")


def test_a_worker_that_died_gives_its_source_no_bad_name(stage: Stage) -> None:
    """The time of a lease that ran out is not counted: the next try has its straggler wait before it."""
    run_id, [busy, quick] = parsing(stage, 2)
    stage.finish(quick, Outcome("parsed"))
    lease = stage.claim(busy)
    stage.lapse(8)
    stage.expire(lease)
    stage.sweep.reclaim(busy)
    stage.claim(busy)
    stage.lapse(8)
    stage.look()
    assert stage.pending(run_id, "decide") == []


@pytest.mark.parametrize("kind", ["parse", "extract"])
def test_no_run_ends_for_want_of_evidence_before_its_time(stage: Stage, kind: str) -> None:
    """A source that was fetched is waited for, straggler or not; at the limit it is cancelled, and the limit told."""
    run_id, [slow] = parsing(stage, 1)
    if kind == "extract":
        lease = stage.claim(slow)
        stage.ledger.commit(lease, Outcome("parsed", result={"next": {"source_id": lease.subject, "query": "q"}}))
        [slow] = stage.pending(run_id, "extract")
    stage.claim(slow)
    stage.lapse(16)
    stage.look()
    stage.finish(stage.pending(run_id, "decide")[0], Outcome("decided", result={"actions": []}))
    for _ in range(5):
        stage.lapse(20)
        stage.look()
    assert stage.status(run_id) == "researching"
    stage.lapse(400)
    stage.look()
    run = stage.reads.run(LOCAL_OWNER, run_id)
    assert (run.status, run.stop_reason) == ("synthesizing", "budget:elapsed_s")
    assert unread(stage.materials.view(run_id)) == {
        stage.scalar("select subject from steps where id = :id and status = 'cancelled'", id=slow)
    }


@pytest.mark.parametrize("paused", [False, True])
def test_a_run_that_nobody_attends_to_expires(stage: Stage, paused: bool) -> None:
    """After seven days without approval, or paused, a run is cancelled, its session free and its steps ended."""
    run_id, _ = stage.researching(session_id="s") if paused else stage.planned(session_id="s")
    if paused:
        stage.act(run_id, "pause")
    stage.look()
    look_in: timedelta = stage.scalar("select wake_at - clock_timestamp() from runs where id = :id", id=run_id)
    assert timedelta(days=6.9) < look_in <= timedelta(days=7)
    stage.lapse(6.9 * 86_400)
    stage.look()
    assert stage.status(run_id) == ("paused" if paused else "awaiting_plan_approval")
    stage.lapse(0.2 * 86_400)
    stage.look()
    run = stage.reads.run(LOCAL_OWNER, run_id)
    assert (run.status, run.stop_reason) == ("cancelled", "expired")
    last = stage.reads.events(LOCAL_OWNER, run_id, 0, 1000)[-1]
    assert (last.type, last.payload["to"], last.payload["reason"]) == ("status_changed", "cancelled", "expired")
    assert stage.scalar("select count(*) from steps where run_id = :id and status = 'pending'", id=run_id) == 0
    assert stage.sweep.due_runs(10) == ()
    stage.create(session_id="s")
