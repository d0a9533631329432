"""Turns at the processes of a worker, over a real ledger: who waits is nobody's try, and every owner is served."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from services.extractor.parsing import parse_failed
from shared.adapters.cpu import ProcessCpu
from shared.contracts.events import Event
from shared.db.engine import Transactions
from shared.domain.ids import LOCAL_OWNER, OwnerId, StepId
from shared.domain.states import StepKind
from shared.ports.cpu import CpuLimits
from shared.ports.gateway import Upload
from shared.ports.ledger import DocumentUpdate, Lease, Outcome, WakeUp
from shared.queues.runner import Heartbeat, Runner
from shared.queues.turns import TurnedCpu, Turns
from tests.support.stage import ALL_KINDS, Stage
from tests.support.waiting import wait_until

OTHER = OwnerId("own_other")
AMPLE = CpuLimits(wall_s=60, cpu_s=30, memory_bytes=2**30)


class Silent:
    """Signals that go nowhere: every wake-up is given by hand."""

    def wake(self, wake_ups: Sequence[WakeUp]) -> int:
        """Send nothing."""
        return 0

    def publish(self, events: Sequence[Event]) -> None:
        """Send nothing."""


class Worker:
    """A worker with one place; its handler notes what it works on, and holds on until it is let go."""

    def __init__(self, stage: Stage, heartbeat: Heartbeat) -> None:
        self.worked: list[str] = []
        self.turns = Turns(1)
        self._let_go = threading.Semaphore(0)
        self._runner = Runner(stage.ledger, Silent(), heartbeat, {StepKind.PARSE: self._parse}, "w")

    def wake(self, step_id: StepId) -> bool:
        """Do what a thread of the worker does with a wake-up."""
        return self._runner.run_in_turn(step_id, None, self.turns)

    def let_go(self, times: int = 1) -> None:
        """Let so many steps end."""
        self._let_go.release(times)

    def _parse(self, _: Any, lease: Lease) -> Outcome:
        self.worked.append(str(lease.inputs["name"]))
        self._let_go.acquire()
        parse = parse_failed(str(lease.inputs["content_sha256"]), "No text.")
        return Outcome("Read.", document=DocumentUpdate(str(lease.inputs["document_id"]), parse))


@pytest.fixture
def stage(transactions: Transactions) -> Stage:
    """A ledger with two owners."""
    made = Stage(transactions)
    made.other_owner(OTHER)
    return made


def ingest(stage: Stage, owner: OwnerId, *names: str) -> list[StepId]:
    """Upload documents; return the steps that are to read them."""
    uploads = [Upload(name, name.encode()) for name in names]
    _, sent = stage.controls.add_documents(owner, uploads)
    return [w.step_id for w in sent.wake_ups]


def together(worker: Worker, steps: Sequence[StepId], then: Callable[[], None]) -> list[bool]:
    """Wake a worker for steps, one thread each, in order; do something while the first one works."""
    with ThreadPoolExecutor(len(steps)) as threads:
        first = threads.submit(worker.wake, steps[0])
        wait_until(lambda: len(worker.worked) == 1, "the first step is worked on")
        others = [threads.submit(worker.wake, step_id) for step_id in steps[1:]]
        then()
        return [f.result(30) for f in (first, *others)]


def test_another_owner_does_not_wait_for_a_whole_upload(stage: Stage) -> None:
    """Four files of one owner came first; the single one of another owner is the next after the one under way."""
    with closing(Heartbeat(stage.ledger, 60.0)) as heartbeat:
        worker = Worker(stage, heartbeat)
        many = ingest(stage, LOCAL_OWNER, "a1", "a2", "a3", "a4")
        assert len(many) == 4
        [one] = ingest(stage, OTHER, "b1")
        assert together(worker, [*many, one], lambda: worker.let_go(5)) == [True] * 5
    assert worker.worked == ["a1", "b1", "a2", "a3", "a4"]


def test_runs_of_one_owner_take_turns_too(stage: Stage) -> None:
    """A later upload of the same owner is not last in the line."""
    with closing(Heartbeat(stage.ledger, 60.0)) as heartbeat:
        worker = Worker(stage, heartbeat)
        steps = [*ingest(stage, LOCAL_OWNER, "a1", "a2", "a3"), *ingest(stage, LOCAL_OWNER, "c1")]
        together(worker, steps, lambda: worker.let_go(4))
    assert worker.worked == ["a1", "c1", "a2", "a3"]


def test_what_waits_for_a_place_is_not_claimed(stage: Stage) -> None:
    """No try, no lease, no event: another worker may have it at any time."""

    def look() -> None:
        rows = stage.rows("select status, attempts, started_at from steps where kind = 'parse' order by id")
        assert [tuple(row)[:2] for row in rows] == [("running", 1), ("pending", 0)]
        assert stage.scalar("select count(*) from attempts") == 1
        assert stage.ledger.claim(steps[1], ALL_KINDS, "another") is not None
        worker.let_go(1)

    with closing(Heartbeat(stage.ledger, 60.0)) as heartbeat:
        worker = Worker(stage, heartbeat)
        steps = ingest(stage, LOCAL_OWNER, "a1", "a2")
        assert together(worker, steps, look) == [True, False]
    assert worker.worked == ["a1"]


def test_a_worker_that_stops_begins_nothing_more(stage: Stage) -> None:
    """Who waits for a place goes home; what is under way ends."""

    def stop() -> None:
        worker.turns.stop()
        worker.let_go(2)

    with closing(Heartbeat(stage.ledger, 60.0)) as heartbeat:
        worker = Worker(stage, heartbeat)
        steps = ingest(stage, LOCAL_OWNER, "a1", "a2")
        assert together(worker, steps, stop) == [True, False]
    assert worker.worked == ["a1"]
    assert stage.scalar("select status from steps where id = :id", id=steps[1]) == "pending"


def test_a_wake_up_is_for_whatever_is_due(stage: Stage) -> None:
    """One that comes for a step that is done takes up another; with nothing due it does nothing."""
    with closing(Heartbeat(stage.ledger, 60.0)) as heartbeat:
        worker = Worker(stage, heartbeat)
        steps = ingest(stage, LOCAL_OWNER, "a1", "a2")
        worker.let_go(2)
        assert [worker.wake(steps[0]) for _ in range(3)] == [True, True, False]
    assert worker.worked == ["a1", "a2"]


def test_a_place_is_free_once_the_task_has_ended(stage: Stage) -> None:
    """What a step does after its task in a process, such as asking a model, keeps nobody else from the process."""
    cpu = ProcessCpu(1)
    turns = Turns(1)
    given = TurnedCpu(cpu, turns)
    inside: list[bool] = []
    try:
        with turns.place() as got:
            assert got
            assert given.run(pow, 2, 3, limits=AMPLE) == 8

            def other() -> None:
                with turns.place() as free:
                    inside.append(free)

            with ThreadPoolExecutor(1) as threads:
                threads.submit(other).result(30)
    finally:
        given.close()
    assert inside == [True]
