"""Jobs that nobody waits for any more: a run of its own cancels each, until the provider confirms it."""

import threading
from collections.abc import Callable, Iterator

import pytest

from shared.db.engine import Transactions
from shared.domain.errors import Held, Permanent, PutOff, Unconfirmed
from shared.domain.ids import LOCAL_OWNER, RunId
from shared.ports.ledger import Outcome
from tests.support.job_desk import JobDesk, job_desk
from tests.support.job_server import JobServer, Said, Script, job_server
from tests.support.stack import wait_until

REPORT = [Said("The basin is 14 metres deep.", "https://port.test/basin")]


@pytest.fixture(scope="module")
def server() -> Iterator[JobServer]:
    """The providers."""
    with job_server() as running:
        yield running


@pytest.fixture
def desk(transactions: Transactions, server: JobServer) -> Iterator[JobDesk]:
    """A ledger and a provider that starts afresh, whose jobs run for long."""
    server.reset(Script(REPORT, looks=99))
    with job_desk(transactions, server) as made:
        yield made


def test_a_cancelled_run_has_its_job_cancelled(desk: JobDesk) -> None:
    """The run is final at once and hears nothing more; the job counts as cancelled only when the provider says so."""
    desk.server.script.looks_to_cancel = 2
    run_id = desk.submitted()
    desk.stage.act(run_id, "cancel")
    before = desk.run(run_id).last_seq
    cancelling = desk.cancelling()
    assert desk.run(run_id).provider_job.cancel_run_id == cancelling  # type: ignore[union-attr]
    assert isinstance(desk.turn(cancelling, "cancel_job"), PutOff)
    assert isinstance(desk.turn(cancelling, "cancel_job"), PutOff)
    assert (desk.state(), desk.run(cancelling).status) == ("running", "researching")
    outcome = desk.turn(cancelling, "cancel_job")
    assert isinstance(outcome, Outcome)
    assert outcome.summary == "google has cancelled the job."
    assert (desk.state(), desk.run(cancelling).status) == ("cancelled", "completed")
    assert dict(desk.server.asked) == {"submit": 1, "cancel": 1, "look": 2}
    assert desk.run(run_id).last_seq == before
    assert desk.calls() == [("failed", "managed:cancelled")]
    assert desk.stage.sweep.orphaned_jobs(100) == ()


@pytest.mark.parametrize("mode", ["late", "done"])
def test_a_job_may_end_before_it_is_cancelled(desk: JobDesk, mode: str) -> None:
    """What was observed is told, and what was used is booked on the run that asked for it."""
    run_id = desk.submitted()
    desk.server.script.mode, desk.server.script.looks = mode, 0
    desk.stage.act(run_id, "cancel")
    cancelling = desk.cancelling()
    if mode == "late":
        assert isinstance(desk.turn(cancelling, "cancel_job"), PutOff)
    outcome = desk.turn(cancelling, "cancel_job")
    assert isinstance(outcome, Outcome)
    assert outcome.summary == "google had ended the job before: completed."
    assert desk.state() == "completed"
    assert desk.run(run_id).usage.by_phase["managed"]["input_tokens"] == 120_000


def refine(desk: JobDesk, run_id: RunId) -> None:
    """Ask for another plan."""
    desk.stage.act(run_id, "refine", instruction="Only the north.")


def delete(desk: JobDesk, run_id: RunId) -> None:
    """Delete the run."""
    desk.stage.controls.delete_run(LOCAL_OWNER, run_id)


def give_up(desk: JobDesk, run_id: RunId) -> None:
    """Let the step end for good by too many lost workers."""
    for _ in range(5):
        desk.stage.lapse(3600)
        step_ids = desk.stage.pending(run_id, "managed")
        lease = desk.stage.claim(step_ids[0])
        desk.stage.expire(lease)
        desk.stage.sweep.reclaim(lease.step_id)


@pytest.mark.parametrize("orphan", [refine, delete, give_up])
def test_whatever_leaves_a_job_alone_has_it_cancelled(desk: JobDesk, orphan: Callable[[JobDesk, RunId], None]) -> None:
    """Jobs are found by their step alone, whoever ended it."""
    run_id = desk.submitted()
    assert desk.stage.sweep.orphaned_jobs(100) == ()
    orphan(desk, run_id)
    cancelling = desk.cancelling()
    desk.turn(cancelling, "cancel_job")
    assert isinstance(desk.turn(cancelling, "cancel_job"), Outcome)
    assert desk.state() == (None if orphan is delete else "cancelled")


def test_a_job_that_is_gone_is_told_so(desk: JobDesk) -> None:
    """The run that waits for it fails, the one that was to cancel it has nothing left to do; it counts as paid."""
    waiting, cancelled = desk.submitted(), desk.submitted()
    desk.stage.act(cancelled, "cancel")
    desk.server.jobs.clear()
    assert isinstance(desk.turn(waiting), Permanent)
    assert "does not know the job any more" in (desk.run(waiting).last_error or "")
    outcome = desk.turn(desk.cancelling(), "cancel_job")
    assert isinstance(outcome, Outcome)
    assert outcome.summary.startswith("Nothing is left to cancel")
    assert desk.calls() == [("failed", "managed:gone")] * 2
    assert desk.stage.sweep.orphaned_jobs(100) == ()


def test_one_run_cancels_a_job_and_another_only_if_it_is_deleted(desk: JobDesk) -> None:
    """Sweepers that look at once begin one; deleting that run does not let the job go on."""
    desk.stage.act(desk.submitted(), "cancel")
    found = [*desk.stage.sweep.orphaned_jobs(100), *desk.stage.sweep.orphaned_jobs(100)]
    for job_id in found:
        desk.stage.sweep.cancel_job(job_id)
    first = desk.cancelling()
    desk.stage.controls.delete_run(LOCAL_OWNER, first)
    assert desk.cancelling() != first


def cancelled_while_submitting(desk: JobDesk) -> tuple[threading.Thread, str]:
    """Cancel a run while the provider holds the answer to its submission; return who waits for that, and who cancels.

    The provider answers when the script's ``release`` is set.
    """
    desk.server.script.mode = "held"
    run_id = desk.start()
    submitting = threading.Thread(target=desk.work, args=(desk.claim(run_id),))
    submitting.start()
    wait_until(lambda: desk.server.asked["submit"], "the submission has arrived")
    desk.stage.act(run_id, "cancel")
    return submitting, desk.cancelling()


def test_cancelling_waits_for_a_handle_that_is_on_its_way(desk: JobDesk) -> None:
    """A run that is cancelled while its job is submitted: the handle is kept all the same, and then cancelled."""
    submitting, cancelling = cancelled_while_submitting(desk)
    error = desk.turn(cancelling, "cancel_job")
    assert isinstance(error, PutOff)
    assert error.code == "managed:submitting"
    desk.server.script.release.set()
    submitting.join(30)
    assert desk.state() == "running"
    desk.turn(cancelling, "cancel_job")
    assert isinstance(desk.turn(cancelling, "cancel_job"), Outcome)
    assert desk.state() == "cancelled"


def test_a_job_without_a_handle_cannot_be_cancelled_and_that_is_told(desk: JobDesk) -> None:
    """Cancelled while the answer got lost: the run that was to cancel it fails with what to do."""
    submitting, cancelling = cancelled_while_submitting(desk)
    desk.server.script.mode = "lost"
    desk.server.script.release.set()
    submitting.join(30)
    assert desk.state() == "running"
    desk.stage.scalar("update managed_jobs set handle = null, state = 'indeterminate' returning 1")
    assert isinstance(desk.turn(cancelling, "cancel_job"), Unconfirmed)
    run = desk.run(cancelling)
    assert run.status == "failed"
    assert "Look in your account" in (run.last_error or "")


def test_a_late_handle_of_a_job_given_up_is_cancelled(desk: JobDesk) -> None:
    """Found again after all: it is no secret any more, and nobody waits for it."""
    desk.server.script.mode = "submit-500"
    run_id = desk.start()
    desk.turn(run_id)
    assert (desk.run(run_id).status, desk.stage.sweep.orphaned_jobs(100)) == ("failed", ())
    [job] = desk.stage.rows("select id from managed_jobs")
    desk.server.script.mode = "ok"
    desk.jobs.accepted(job.id, next(iter(desk.server.jobs)))
    cancelling = desk.cancelling()
    desk.turn(cancelling, "cancel_job")
    assert isinstance(desk.turn(cancelling, "cancel_job"), Outcome)


def test_a_provider_that_cannot_be_asked_pauses_the_cancelling_run(desk: JobDesk) -> None:
    """It waits for a person like any other run, and goes on where it was."""
    desk.stage.act(desk.submitted(), "cancel")
    cancelling = desk.cancelling()
    desk.turn(cancelling, "cancel_job")
    desk.server.script.mode = "look-500"
    errors = [desk.turn(cancelling, "cancel_job") for _ in range(5)]
    assert isinstance(errors[-1], Held)
    assert desk.run(cancelling).status == "paused"
    desk.server.script.mode = "ok"
    desk.stage.act(cancelling, "resume")
    assert isinstance(desk.turn(cancelling, "cancel_job"), Outcome)
