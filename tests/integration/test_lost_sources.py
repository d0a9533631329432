"""A source whose step fails for good is told as one that was not read, never left as if nobody had tried."""

import pytest

from shared.db.engine import Transactions
from shared.domain.errors import Permanent, Transient
from shared.domain.ids import LOCAL_OWNER
from shared.domain.states import StepKind
from shared.ports.ledger import Outcome, WakeUp
from tests.support.stage import Stage, found


@pytest.fixture
def stage(transactions: Transactions) -> Stage:
    """A ledger with an ordinary lease."""
    return Stage(transactions)


def read_step(stage: Stage) -> tuple[str, WakeUp]:
    """Bring a run to its first read; return the run and the wake-up of the read."""
    run_id, searching = stage.researching()
    [search, *others] = [w for w in searching.wake_ups if w.kind is StepKind.SEARCH]
    for other in others:
        stage.finish(other.step_id, Outcome("nothing"))
    lease = stage.claim(search.step_id)
    committed = stage.ledger.commit(lease, Outcome("found", found=found(run_id, lease.key)))
    assert committed is not None
    [read] = [w for w in committed.wake_ups if w.kind is StepKind.READ_SOURCE]
    return run_id, read


def test_a_read_that_fails_is_a_source_that_was_not_read(stage: Stage) -> None:
    """With the reason of the step, and an event for those who watch."""
    run_id, read = read_step(stage)
    lease = stage.claim(read.step_id)
    committed = stage.ledger.fail(lease, Permanent("bytes_gone", "The bytes are gone."))
    assert committed is not None
    source = stage.materials.source(run_id, str(lease.inputs["source_id"]))
    assert (source.status, source.reason) == ("failed", "The bytes are gone.")
    assert "source_updated" in [event.type for event in committed.events]


def test_a_read_that_is_tried_again_is_still_open(stage: Stage) -> None:
    """What may work again says nothing about the source."""
    run_id, read = read_step(stage)
    lease = stage.claim(read.step_id)
    stage.ledger.fail(lease, Transient("timeout", "Silent."))
    assert stage.materials.source(run_id, str(lease.inputs["source_id"])).status == "candidate"
    assert stage.reads.run(LOCAL_OWNER, run_id).status == "researching"
