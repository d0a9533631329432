"""Commits whose answer never arrives: every transaction works, is not known to have worked, and is done again."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest
from sqlalchemy.orm import Session

from shared.db.engine import Transactions, open_engine
from shared.domain.errors import NotFound, RateLimited
from shared.domain.ids import LOCAL_OWNER, RunId
from shared.ports.gateway import PlanEdit
from shared.ports.ledger import Outcome
from tests.support.stage import ALL_KINDS, Stage, found, plan

Result = TypeVar("Result")


class Forgetful(Transactions):
    """Runs every transaction a second time, as one does when the answer to the first COMMIT was lost."""

    def run(self, work: Callable[[Session], Result]) -> Result:
        """Commit twice, and return what the second time gave."""
        super().run(work)
        return super().run(work)


@pytest.fixture
def stages(database: str) -> Iterator[tuple[Stage, Stage]]:
    """A ledger where every answer is lost, and an ordinary one, over the same database."""
    engine = open_engine(database, pool_size=4)
    yield Stage(Forgetful(engine)), Stage(Transactions(engine))
    engine.dispose()


def story(stage: Stage, sure: Stage) -> RunId:
    """Take a run through its life: planned, edited, approved, researched, paused, resumed, refined, cancelled."""
    run_id, _ = stage.create(key=type(stage.transactions).__name__)
    [plan_step] = sure.pending(run_id, "plan")
    postponed = stage.claim(plan_step)
    stage.ledger.fail(postponed, RateLimited("busy", "It is busy.", 1))
    sure.lapse(2)
    stage.ledger.hand_back(stage.claim(plan_step))
    lease = stage.claim(plan_step)
    assert stage.ledger.heartbeat(lease)
    assert stage.ledger.commit(lease, Outcome("planned", plan=plan())) is not None
    stage.controls.edit_plan(LOCAL_OWNER, run_id, PlanEdit(1, plan(2)))
    stage.act(run_id, "approve_plan", expected_version=2)
    stage.ledger.admit(LOCAL_OWNER)
    for search in sure.pending(run_id, "search"):
        lease = stage.claim(search)
        assert stage.ledger.commit(lease, Outcome("found", found=found(run_id, lease.key, 2))) is not None
    stage.act(run_id, "pause")
    stage.act(run_id, "resume")
    stage.expire(stage.claim(sure.pending(run_id, "read_source")[0]))
    for step_id in stage.sweep.expired(10):
        stage.sweep.reclaim(step_id)
    stage.act(run_id, "refine", instruction="How wide is it?")
    stage.act(run_id, "cancel")
    return run_id


def test_a_lost_answer_changes_nothing(stages: tuple[Stage, Stage]) -> None:
    """The run has the same history as one whose every answer came: no event, try or row twice, no step lost."""
    forgetful, sure = stages
    twice, once = story(forgetful, sure), story(sure, sure)

    def history(run_id: RunId) -> list[tuple[str, str | None, str | None]]:
        events = sure.reads.events(LOCAL_OWNER, run_id, 0, 1000)
        return [(e.type, e.payload.get("kind"), e.payload.get("action")) for e in events]

    def tries(run_id: RunId) -> list[tuple[str, int, str | None]]:
        query = (
            "select s.key, a.number, a.outcome from attempts a join steps s on s.id = a.step_id "
            "where s.run_id = :id order by s.epoch, s.kind, s.iteration, s.status, a.number"
        )
        return [("read" if "read" in r.key else r.key, r.number, r.outcome) for r in sure.rows(query, id=run_id)]

    assert history(twice) == history(once)
    assert tries(twice) == tries(once)
    assert sure.scalar("select count(*) from attempts where outcome is null") == 0


def test_a_claim_whose_answer_was_lost_is_ours(stages: tuple[Stage, Stage]) -> None:
    """The worker gets its lease, and nobody else does."""
    forgetful, sure = stages
    _, created = sure.create()
    lease = forgetful.claim(created.wake_ups[0].step_id)
    assert lease.attempt == 1
    assert sure.ledger.claim(lease.step_id, ALL_KINDS, "other") is None
    assert sure.ledger.commit(lease, Outcome("planned", plan=plan())) is not None


def test_what_was_deleted_is_deleted_once(stages: tuple[Stage, Stage]) -> None:
    """A deletion whose answer was lost has worked; what never was there is still not found."""
    forgetful, sure = stages
    run_id, _ = sure.planned()
    forgetful.controls.delete_run(LOCAL_OWNER, run_id)
    forgetful.controls.delete_document(LOCAL_OWNER, sure.scalar("select id from documents"))
    with pytest.raises(NotFound):
        forgetful.controls.delete_run(LOCAL_OWNER, run_id)
    with pytest.raises(NotFound):
        forgetful.controls.delete_document(LOCAL_OWNER, "doc_nothing")
