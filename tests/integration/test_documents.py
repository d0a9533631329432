"""Documents whose reading does not come to an end: nobody waits for them, and they can be sent or tried again."""

import pytest

from shared.contracts.snapshot import Parse
from shared.db.engine import Transactions
from shared.domain.errors import Permanent
from shared.domain.ids import LOCAL_OWNER, RunId
from shared.domain.states import StepKind
from shared.ports.gateway import Upload
from shared.ports.ledger import Committed, DocumentUpdate, Outcome
from tests.support.stage import Stage

FILE = Upload("a.txt", b"Some words.")


@pytest.fixture
def stage(transactions: Transactions) -> Stage:
    """A ledger with an ordinary lease."""
    return Stage(transactions)


def take_in(stage: Stage) -> tuple[RunId, Committed]:
    """Upload one document."""
    ingest, sent = stage.controls.add_documents(LOCAL_OWNER, [FILE])
    return RunId(ingest.run_id), sent


def document(stage: Stage) -> tuple[str, str | None]:
    """Return status and reason of the only document."""
    [row] = stage.rows("select status, reason from documents")
    return row.status, row.reason


def break_down(stage: Stage, sent: Committed) -> None:
    """Let the reading of the document fail for good."""
    stage.ledger.fail(stage.claim(sent.wake_ups[0].step_id), Permanent("bug", "It cannot be done."))


def read(stage: Stage, step_id: object) -> None:
    """Let the reading of the document succeed."""
    [row] = stage.rows("select id from documents")
    parse = Parse(content_sha256="0" * 64, reader_version="1", status="ok", snapshot_sha256="1" * 64)
    stage.finish(step_id, Outcome("read", document=DocumentUpdate(row.id, parse)))  # type: ignore[arg-type]


def test_a_poison_document_is_told_to_be_unreadable(stage: Stage) -> None:
    """When its step is given up, the document says so instead of staying pending for ever."""
    run_id, sent = take_in(stage)
    break_down(stage, sent)
    assert document(stage) == ("failed", "It cannot be done.")
    assert stage.status(run_id) == "failed"


def test_a_document_whose_workers_died_is_told_to_be_unreadable(stage: Stage) -> None:
    """The same when the step was interrupted too often."""
    _, sent = take_in(stage)
    for _ in range(5):
        stage.expire(stage.claim(sent.wake_ups[0].step_id))
    stage.sweep.reclaim(sent.wake_ups[0].step_id)
    assert document(stage)[0] == "failed"


@pytest.mark.parametrize("how", ["cancel", "delete"])
def test_no_document_stays_pending_without_a_run(stage: Stage, how: str) -> None:
    """Cancelling or deleting the run that was to read it settles the document too."""
    run_id, _ = take_in(stage)
    if how == "cancel":
        stage.act(run_id, "cancel")
    else:
        stage.controls.delete_run(LOCAL_OWNER, run_id)
    assert document(stage)[0] == "failed"


def test_a_failed_document_that_is_sent_again_is_read_again(stage: Stage) -> None:
    """It keeps its id; one that was read is not read a second time."""
    _, sent = take_in(stage)
    break_down(stage, sent)
    run_id, again = take_in(stage)
    assert document(stage) == ("pending", None)
    read(stage, again.wake_ups[0].step_id)
    assert (document(stage)[0], stage.status(run_id)) == ("ready", "completed")
    _, once_more = take_in(stage)
    assert once_more.wake_ups == ()


def test_an_ingest_run_that_failed_can_be_retried(stage: Stage) -> None:
    """It reads anew what it could not, and ends like any other."""
    run_id, sent = take_in(stage)
    break_down(stage, sent)
    again = stage.act(run_id, "retry")
    assert [w.kind for w in again.wake_ups] == [StepKind.PARSE]
    assert (document(stage), stage.status(run_id)) == (("pending", None), "researching")
    read(stage, again.wake_ups[0].step_id)
    assert (document(stage)[0], stage.status(run_id)) == ("ready", "completed")
