"""What a person does to a run, over the real ledger: pause, resume, refine, retry, increase the budget."""

import pytest
from sqlalchemy import text

from shared.db.engine import Transactions
from shared.domain.errors import Conflict, IllegalAction, Invalid, Permanent
from shared.domain.ids import LOCAL_OWNER, RunId, StepId
from shared.domain.states import StepKind
from shared.ports.ledger import Committed, Outcome
from tests.support.stage import ALL_KINDS, Stage, found, plan


@pytest.fixture
def stage(transactions: Transactions) -> Stage:
    """A ledger with an ordinary lease."""
    return Stage(transactions)


def status(stage: Stage, run_id: RunId) -> str:
    """Return the run's status."""
    return stage.reads.run(LOCAL_OWNER, run_id).status


def due(stage: Stage, run_id: RunId) -> dict[str, StepId]:
    """Return the pending steps of the run's epoch by kind."""
    rows = stage.rows(
        "select s.kind, s.id from steps s join runs r on r.id = s.run_id and r.epoch = s.epoch "
        "where s.run_id = :id and s.status = 'pending' order by s.key",
        id=run_id,
    )
    return {r.kind: StepId(r.id) for r in rows}


def play_out(stage: Stage, run_id: RunId, findings: int = 1) -> None:
    """End every step of a run with nothing found, up to its report."""
    for _ in range(100):
        steps = due(stage, run_id)
        if not steps:
            return
        for kind, step_id in steps.items():
            ended = {"findings": findings, "terminal_status": "budget_exhausted"}
            results = {"assemble": ended, "outline": {"sections": []}}
            stage.finish(step_id, Outcome("played", result=results.get(kind, {})))
    raise AssertionError("the run does not end")


def test_a_pause_keeps_what_runs_and_begins_nothing(stage: Stage) -> None:
    """A step under way when the run is paused may end and is kept; others wait until it is resumed."""
    run_id, started = stage.researching()
    lease = stage.claim(started.wake_ups[0].step_id)
    stage.act(run_id, "pause")
    committed = stage.ledger.commit(lease, Outcome("found", found=found(run_id, lease.key, 2)))
    assert committed is not None
    assert committed.wake_ups == ()
    run = stage.reads.run(LOCAL_OWNER, run_id)
    assert (run.status, run.resume_phase, run.counts.sources) == ("paused", "researching", 2)
    assert not set(stage.due()) & set(due(stage, run_id).values())
    resumed = stage.act(run_id, "resume")
    assert status(stage, run_id) == "researching"
    assert {w.kind for w in resumed.wake_ups} == {StepKind.READ_SOURCE}


def test_a_pause_stops_the_clock(stage: Stage) -> None:
    """Time spent in a pause does not count against the elapsed limit."""
    run_id, _ = stage.researching()
    stage.scalar("update runs set active_since = active_since - interval '100 s' where id = :id returning 1", id=run_id)
    stage.act(run_id, "pause")
    before = stage.reads.run(LOCAL_OWNER, run_id).usage.elapsed_s
    assert 100 <= before < 110
    assert stage.reads.run(LOCAL_OWNER, run_id).usage.elapsed_s == before


@pytest.mark.parametrize("phase", ["planning", "awaiting_plan_approval"])
def test_every_phase_resumes_where_it_was(stage: Stage, phase: str) -> None:
    """A run paused while planning or waiting goes back to just that."""
    run_id, created = stage.create() if phase == "planning" else stage.planned()
    stage.act(run_id, "pause")
    for wake_up in created.wake_ups:
        assert stage.ledger.claim(wake_up.step_id, ALL_KINDS, "w") is None
    stage.act(run_id, "resume")
    assert status(stage, run_id) == phase


def test_refine_goes_back_to_the_plan(stage: Stage) -> None:
    """What is under way is fenced, evidence stays, and a revised plan waits for approval as a new version."""
    run_id, started = stage.researching(auto_approve=True)
    lease = stage.claim(started.wake_ups[0].step_id)
    sent = stage.act(run_id, "refine", instruction="How wide is it?")
    assert [w.kind for w in sent.wake_ups] == [StepKind.REVISE_PLAN]
    assert stage.ledger.commit(lease, Outcome("late")) is None
    stage.finish(sent.wake_ups[0].step_id, Outcome("revised", plan=plan(2)))
    run = stage.reads.run(LOCAL_OWNER, run_id)
    assert (run.status, run.plan_version) == ("awaiting_plan_approval", 2)
    stage.act(run_id, "approve_plan", expected_version=2)
    stage.ledger.admit(LOCAL_OWNER)
    assert status(stage, run_id) == "researching"
    assert set(due(stage, run_id)) == {"search"}


def test_a_source_read_before_a_refinement_is_not_read_again(stage: Stage) -> None:
    """In the new epoch a source that has a snapshot goes straight to extraction."""
    run_id, started = stage.researching()
    lease = stage.claim(started.wake_ups[0].step_id)
    [one] = found(run_id, lease.key)
    stage.ledger.commit(lease, Outcome("found", found=(one,)))
    read = one.source.model_copy(update={"status": "fetched", "snapshot_sha256": "0" * 64, "title": "T"})
    stage.finish(due(stage, run_id)["read_source"], Outcome("read", sources=(read,)))
    sent = stage.act(run_id, "refine", instruction="More.")
    stage.finish(sent.wake_ups[0].step_id, Outcome("revised", plan=plan()))
    stage.act(run_id, "approve_plan")
    stage.ledger.admit(LOCAL_OWNER)
    again = stage.claim(due(stage, run_id)["search"])
    stage.ledger.commit(again, Outcome("found", found=found(run_id, again.key)))
    assert set(due(stage, run_id)) == {"extract"}


def test_retry_takes_up_the_failed_phase(stage: Stage) -> None:
    """Only what failed is done anew: searches that ended are not made again."""
    run_id, started = stage.researching()
    stage.finish(started.wake_ups[0].step_id, Outcome("nothing found"))
    decide = due(stage, run_id)["decide"]
    stage.ledger.fail(stage.claim(decide), Permanent("model", "The provider refused."))
    run = stage.reads.run(LOCAL_OWNER, run_id)
    assert (run.status, run.stop_reason, run.allowed_actions) == ("failed", "failed:decide", ("retry",))
    stage.act(run_id, "retry")
    stage.ledger.admit(LOCAL_OWNER)
    assert set(due(stage, run_id)) == {"decide"}
    assert stage.reads.run(LOCAL_OWNER, run_id).usage.searches == 1
    play_out(stage, run_id)
    assert status(stage, run_id) == "budget_exhausted"


def test_retry_of_a_failed_plan_plans_again(stage: Stage) -> None:
    """A run whose planning failed starts with a plan step of its own."""
    run_id, created = stage.create()
    stage.ledger.fail(stage.claim(created.wake_ups[0].step_id), Permanent("model", "No."))
    stage.act(run_id, "retry")
    stage.finish(due(stage, run_id)["plan"], Outcome("planned", plan=plan()))
    assert status(stage, run_id) == "awaiting_plan_approval"


def test_more_budget_goes_on_where_research_stopped(stage: Stage) -> None:
    """A run that stopped at a limit researches on with a higher one, and its limits say so."""
    run_id, started = stage.researching(budget={"iterations": 1})
    stage.finish(started.wake_ups[0].step_id, Outcome("nothing found"))
    play_out(stage, run_id)
    assert stage.reads.run(LOCAL_OWNER, run_id).stop_reason == "budget:iterations"
    with pytest.raises(Invalid):
        stage.act(run_id, "increase_budget", limits={"iterations": 999})
    with pytest.raises(Invalid):
        stage.act(run_id, "increase_budget")
    stage.act(run_id, "increase_budget", limits={"iterations": 3})
    stage.ledger.admit(LOCAL_OWNER)
    run = stage.reads.run(LOCAL_OWNER, run_id)
    assert (run.status, run.budget["iterations"], run.completed_at) == ("researching", 3, None)
    assert set(due(stage, run_id)) == {"decide"}


def test_a_reopened_run_needs_its_session(stage: Stage) -> None:
    """A failed run cannot be retried while its session has a newer open run."""
    run_id, created = stage.create(session_id="s")
    stage.ledger.fail(stage.claim(created.wake_ups[0].step_id), Permanent("model", "No."))
    newer, _ = stage.create(session_id="s")
    with pytest.raises(Conflict, match="newer open run"):
        stage.act(run_id, "retry")
    stage.act(newer, "cancel")
    stage.act(run_id, "retry")
    assert status(stage, run_id) == "planning"


@pytest.mark.parametrize("action", ["resume", "retry", "increase_budget"])
def test_an_action_out_of_place_is_refused(stage: Stage, action: str) -> None:
    """The refusal names what is possible now, and nothing changes."""
    run_id, _ = stage.planned()
    with pytest.raises(IllegalAction) as refused:
        stage.act(run_id, action)
    assert "approve_plan" in refused.value.allowed
    assert stage.transactions.run(lambda s: s.scalar(text("select count(*) from events where type = 'control'"))) == 0


def test_cancel_reaches_a_paused_run(stage: Stage) -> None:
    """A paused run can be cancelled, and its session is free."""
    run_id, _ = stage.planned(session_id="s")
    stage.act(run_id, "pause")
    sent: Committed = stage.act(run_id, "cancel")
    assert sent.admit == LOCAL_OWNER
    assert status(stage, run_id) == "cancelled"
    stage.create(session_id="s")
