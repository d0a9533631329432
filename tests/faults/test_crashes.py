"""Workers killed, Redis wiped and restarted: a run completes by itself with the evidence of an undisturbed one."""

import pytest

from evals.graders.facts import load_cases
from tests.support.api import FINAL, Api
from tests.support.brokers import put_garbage, wipe
from tests.support.harbor_site import CASES_FILE, CORPUS
from tests.support.invariants import broken_invariants
from tests.support.stack import Stack, wait_until

QUESTION = next(c.question for c in load_cases(CASES_FILE) if c.kind == "multi_document")
WORKERS = ("planner", "fetcher", "extractor", "synthesizer")


def undisturbed(api: Api, documents: list[str]) -> set[tuple[str, int, int, tuple[str, ...]]]:
    """Return the evidence of a run that nothing happens to."""
    run_id = api.ask(QUESTION, documents)
    api.complete(run_id)
    return api.evidence_spans(run_id)


def kill_during(api: Api, stack: Stack, run_id: str, name: str) -> bool:
    """Kill a worker as soon as the run has started a step of its kind, and start another; False if the run was over."""
    kinds = {
        "planner": {"plan", "decide"},
        "fetcher": {"search", "read_source"},
        "extractor": {"parse", "extract"},
        "synthesizer": {"outline", "write_section", "verify", "assemble"},
    }[name]

    def started() -> bool:
        events = api.events(run_id)
        return any(e["type"] == "step_started" and e["kind"] in kinds for e in events) or over()

    def over() -> bool:
        return api.run(run_id)["status"] in FINAL

    wait_until(started, f"a step of the {name}")
    ended = over()
    stack.kill(name)
    stack.start(name)
    return not ended


@pytest.mark.parametrize("name", WORKERS)
def test_a_killed_worker_changes_nothing(name: str, api: Api, stack: Stack) -> None:
    """kill -9 of each kind of worker during a run: it completes with the same evidence."""
    documents = api.upload(CORPUS)
    wanted = undisturbed(api, documents)
    run_id = api.ask(QUESTION, documents)
    kill_during(api, stack, run_id, name)
    api.complete(run_id)
    assert api.evidence_spans(run_id) == wanted
    assert broken_invariants(stack.database_url) == {}


def test_everything_killed_and_redis_wiped(api: Api, stack: Stack) -> None:
    """Every worker, the sweeper and the gateway killed once and FLUSHALL: the run completes by itself."""
    documents = api.upload(CORPUS)
    wanted = undisturbed(api, documents)
    run_id = api.ask(QUESTION, documents)
    for name in (*WORKERS, "sweeper", "gateway"):
        stack.kill(name)
        stack.start(name)
    wipe(stack.redis_url, stack.broker_url)
    api.complete(run_id)
    assert api.evidence_spans(run_id) == wanted
    assert broken_invariants(stack.database_url) == {}


def test_lost_wake_ups_are_made_up_for(api: Api, stack: Stack) -> None:
    """Queues wiped again and again during a run: the sweeper sends what was lost."""
    documents = api.upload(CORPUS)
    run_id = api.ask(QUESTION, documents)

    def wiped() -> bool:
        wipe(stack.redis_url, stack.broker_url)
        return api.run(run_id)["status"] in FINAL

    wait_until(wiped, "the run ends although every message is lost", 90)
    api.complete(run_id)
    assert broken_invariants(stack.database_url) == {}


def test_garbage_in_the_queue_harms_no_run(api: Api, stack: Stack) -> None:
    """What is no message of ours is dropped or costs a worker its life; the run goes on once a worker is there."""
    documents = api.upload(CORPUS)
    for queue in WORKERS:
        put_garbage(stack.broker_url, queue)
    run_id = api.ask(QUESTION, documents)
    api.complete(run_id)
    assert broken_invariants(stack.database_url) == {}


def test_a_worker_that_is_told_to_stop_hands_its_work_on(api: Api, stack: Stack) -> None:
    """SIGTERM to every worker during a run: what they had is finished or handed back, others complete the run."""
    documents = api.upload(CORPUS)
    run_id = api.ask(QUESTION, documents)
    stack.start(*(f"{name}-2" for name in WORKERS))
    for name in WORKERS:
        stack.processes[name].terminate()
    for name in WORKERS:
        stack.processes.pop(name).wait(20)
    api.complete(run_id)
    assert broken_invariants(stack.database_url) == {}
