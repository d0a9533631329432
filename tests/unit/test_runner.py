"""The runner and its heartbeat: whatever goes wrong with a step is told to the ledger, and hurts no other step."""

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from shared.contracts.events import Event
from shared.domain.errors import Transient
from shared.domain.ids import StepId
from shared.domain.states import StepKind
from shared.ports.ledger import Lease, Outcome, WakeUp
from shared.queues.runner import STUCK_EXIT_CODE, Heartbeat, Overdue, Runner, deadline_of
from tests.fakes.ledger import MemoryLedger
from tests.fakes.materials import make_lease

DONE = Outcome("done")
SELDOM_S = 60.0
OFTEN_S = 0.01


class Silent:
    """Signals that go nowhere."""

    def wake(self, wake_ups: Sequence[WakeUp]) -> int:
        """Send nothing."""
        return 0

    def publish(self, events: Sequence[Event]) -> None:
        """Send nothing."""


def lease(subject: str, kind: StepKind = StepKind.EXTRACT) -> Lease:
    """Return a lease with a token of its own."""
    made = make_lease(kind, subject)
    return Lease(**{name: getattr(made, name) for name in made.__slots__} | {"token": f"lse_{subject}"})


def run(ledger: MemoryLedger, handler: Callable[[Any, Lease], Outcome], held: Lease) -> bool:
    """Run one step with one handler."""
    ledger.leases[held.step_id] = held
    with closing(Heartbeat(ledger, SELDOM_S)) as heartbeat:
        return Runner(ledger, Silent(), heartbeat, {held.kind: handler}, "w").run(held.step_id, None)


def test_an_outcome_is_committed() -> None:
    """What the handler gives goes to the ledger, under its lease."""
    ledger, held = MemoryLedger(), lease("a")
    assert run(ledger, lambda deps, lease: DONE, held)
    assert ledger.of("commit") == [(held.step_id, DONE)]


def test_a_wake_up_that_comes_late_does_nothing() -> None:
    """A step that cannot be claimed is not worked on."""
    ledger = MemoryLedger()
    with closing(Heartbeat(ledger, SELDOM_S)) as heartbeat:
        assert not Runner(ledger, Silent(), heartbeat, {}, "w").run(StepId("stp_done"), None)
    assert [name for name, _, _ in ledger.calls] == ["claim"]


def test_an_error_of_the_handler_is_told_to_the_ledger() -> None:
    """The ledger decides what becomes of the step."""
    ledger, held, error = MemoryLedger(), lease("a"), ValueError("oops")

    def broken(deps: object, lease: Lease) -> Outcome:
        raise error

    assert run(ledger, broken, held)
    assert ledger.of("fail") == [(held.step_id, error)]
    assert ledger.of("commit") == []


def test_an_outcome_that_cannot_be_stored_is_an_error_of_the_step() -> None:
    """The step is not left to its lease running out, which would look like a worker that died."""
    error = ValueError("a value that the database does not take")
    ledger, held = MemoryLedger(broken={"commit": [error]}), lease("a")
    assert run(ledger, lambda deps, lease: DONE, held)
    assert ledger.of("fail") == [(held.step_id, error)]


def test_a_heartbeat_outlives_any_error() -> None:
    """One beat that fails, however it does, is not the last: the leases of the process stay alive."""
    ledger = MemoryLedger(broken={"heartbeat": [Transient("x", "y"), RuntimeError("unforeseen")]})
    with closing(Heartbeat(ledger, OFTEN_S)) as heartbeat:
        heartbeat.hold(lease("a"))
        assert ledger.wait_for("heartbeat", 4)


def test_a_lost_lease_is_no_longer_extended() -> None:
    """A lease that was taken over is let go."""
    held = lease("a")
    ledger = MemoryLedger(lost={held.step_id})
    with closing(Heartbeat(ledger, OFTEN_S)) as heartbeat:
        heartbeat.hold(held)
        assert ledger.wait_for("heartbeat", 1)
        heartbeat.hold(lease("b"))
        assert ledger.wait_for("heartbeat", 3)
        assert heartbeat.held() == (lease("b"),)


def test_a_stuck_step_ends_its_process_and_hurts_no_other() -> None:
    """It fails by name; what else ran there is handed back at once and does not count as interrupted."""
    ledger, exits, ended = MemoryLedger(), [], threading.Event()

    def end(code: int) -> None:
        exits.append(code)
        ended.set()

    limits = {StepKind.EXTRACT: 0.0, StepKind.PARSE: 600.0}
    stuck, innocent = lease("stuck"), lease("innocent", StepKind.PARSE)
    with closing(Heartbeat(ledger, OFTEN_S, end, deadline_s=limits.__getitem__)) as heartbeat:
        heartbeat.hold(innocent)
        heartbeat.hold(stuck)
        assert ended.wait(20)
        heartbeat.release(stuck)
    [(step_id, error), *_] = ledger.of("fail")
    assert (step_id, isinstance(error, Overdue), exits[0]) == (stuck.step_id, True, STUCK_EXIT_CODE)
    assert ledger.of("hand_back")[0][0] == innocent.step_id


def test_the_process_of_a_stuck_step_ends_without_a_database() -> None:
    """What cannot be written down runs out by itself; the process ends all the same."""
    ledger, ended = MemoryLedger(broken={"fail": [Transient("x", "y")] * 100}), threading.Event()
    stuck = lease("stuck")
    with closing(Heartbeat(ledger, OFTEN_S, lambda code: ended.set(), deadline_s=lambda kind: 0.0)) as heartbeat:
        heartbeat.hold(stuck)
        assert ended.wait(20)
        heartbeat.release(stuck)


def test_a_stopping_worker_hands_back_what_runs() -> None:
    """It tells how many steps still run, so that the process knows that it has to end them."""
    ledger, held, release = MemoryLedger(), lease("a"), threading.Event()
    ledger.leases[held.step_id] = held
    started = threading.Event()

    def slow(deps: object, lease: Lease) -> Outcome:
        started.set()
        assert release.wait(20)
        return DONE

    with closing(Heartbeat(ledger, SELDOM_S)) as heartbeat:
        runner = Runner(ledger, Silent(), heartbeat, {held.kind: slow}, "w")
        assert runner.hand_back_all() == 0
        thread = threading.Thread(target=runner.run, args=(StepId(held.step_id), None))
        thread.start()
        assert started.wait(20)
        assert runner.hand_back_all() == 1
        release.set()
        thread.join(20)
    assert ledger.of("hand_back") == [(held.step_id, None)]


def test_only_kinds_that_ask_a_model_wait_longer_for_a_slow_one() -> None:
    """A page that hangs is given up as soon as ever."""
    longer = {kind for kind in StepKind if deadline_of(kind, 3.0) > deadline_of(kind)}
    assert StepKind.EXTRACT in longer
    assert not longer & {StepKind.SEARCH, StepKind.READ_SOURCE, StepKind.PARSE, StepKind.ASSEMBLE}
