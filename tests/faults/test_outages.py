"""Redis and broker away or frozen, gateways killed, answers lost: requests are answered, streams go on, runs end."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
import requests

from tests.faults.conftest import City
from tests.faults.test_crashes import QUESTION
from tests.support.api import Api
from tests.support.invariants import broken_invariants
from tests.support.proxy import proxy_for
from tests.support.sse import Follower, following
from tests.support.stack import wait_until

OUTAGE_S = float(os.environ.get("LEADLINE_TEST_OUTAGE_SECONDS", "5"))
"""How long Redis is away; a minute is what the fault matrix asks for."""

MOST_POSTED = 10
SLOWEST_POST_S = 1.0
SLOWEST_S = 2.0


@contextmanager
def lost(city: City) -> Iterator[None]:
    """Kill Redis, and the broker where it is another, and start it again afterwards, empty."""
    for process in processes(city):
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    try:
        yield
    finally:
        for server in city.carriers:
            server.start()


@contextmanager
def frozen(city: City) -> Iterator[None]:
    """Stop them where they are: they take connections and answer nothing."""
    stopped = processes(city)
    for process in stopped:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in stopped:
            process.send_signal(signal.SIGCONT)


def processes(city: City) -> list[subprocess.Popen[bytes]]:
    """Return the processes that everything sent goes through."""
    return [server.process for server in city.carriers if server.process is not None]


def waiting(api: Api, documents: list[str]) -> str:
    """Return a run that waits for approval."""
    run_id = api.ask(QUESTION, documents, auto_approve=False)
    wait_until(lambda: api.run(run_id)["status"] == "awaiting_plan_approval", "the plan")
    return run_id


def act(api: Api, run_id: str, action: str, **more: int) -> requests.Response:
    """Carry out an action, which has to be accepted."""
    answer = api.call("POST", f"/research-runs/{run_id}/actions", json={"action": action, **more})
    assert answer.status_code == 200, answer.text
    return answer


@dataclass
class Requests:
    """Makes the same round of requests again and again; ``slowest`` is the longest that each took."""

    city: City
    under_way: str
    watched: str
    posted: list[str] = field(default_factory=list)
    slowest: dict[str, float] = field(default_factory=dict)

    def round(self) -> None:
        """Make each request once."""
        api, address = self.city.api, self.city.stack.address
        asked = {"auto_approve": False}
        if len(self.posted) < MOST_POSTED:
            timed(self.slowest, "post", lambda: self.posted.append(api.ask(QUESTION, self.city.documents, **asked)))
        timed(self.slowest, "run", lambda: api.json(f"/research-runs/{self.under_way}"))
        timed(self.slowest, "list", lambda: api.json("/research-runs"))
        timed(self.slowest, "capabilities", lambda: api.json("/capabilities"))
        timed(self.slowest, "ready", lambda: requests.get(f"{address}/readyz", timeout=10).raise_for_status())
        timed(self.slowest, "metrics", lambda: requests.get(f"{address}/metrics", timeout=10).raise_for_status())
        timed(self.slowest, "stream", lambda: Follower(address, self.watched).connect().close())

    def too_slow(self, usual: dict[str, float]) -> dict[str, float]:
        """Return what took longer than is promised, on a machine that takes ``usual`` for it when all is well."""
        return {
            name: seconds
            for name, seconds in self.slowest.items()
            if seconds > max(SLOWEST_POST_S if name == "post" else SLOWEST_S, 4 * usual[name])
        }


def timed(slowest: dict[str, float], name: str, call: Callable[[], object]) -> None:
    """Make a call and keep how long it took, if that is the longest of its name."""
    began = time.monotonic()
    call()
    slowest[name] = max(slowest.get(name, 0.0), time.monotonic() - began)


@pytest.mark.parametrize("outage", [lost, frozen])
def test_redis_away_slows_and_breaks_nothing(city: City, outage: Callable[[City], object]) -> None:
    """Redis gone, and Redis frozen: everything is answered in time, streams go on, runs finish after its return."""
    api, stack = city.api, city.stack
    under_way = api.ask(QUESTION, city.documents)
    watched = waiting(api, city.documents)
    usual, meanwhile = Requests(city, under_way, watched), Requests(city, under_way, watched)
    usual.round()
    with following(stack.address, watched) as stream:
        wait_until(lambda: stream.seen, "the stream begins")
        with outage(city):  # type: ignore[attr-defined]
            end = time.monotonic() + OUTAGE_S
            act(api, watched, "approve_plan", expected_version=1)
            approved = api.run(watched)["last_seq"]
            wait_until(lambda: stream.last >= approved, "the stream shows what was just done", 10)
            meanwhile.round()
            while time.monotonic() < end:
                meanwhile.round()
        assert meanwhile.too_slow(usual.slowest) == {}
        for run_id in (under_way, watched):
            api.complete(run_id)
        wait_until(lambda: stream.ended, "the stream ends with its run")
        assert [seq for seq, _ in stream.seen] == list(range(1, api.run(watched)["last_seq"] + 1))
    posted = [*usual.posted, *meanwhile.posted]
    for run_id in posted:
        wait_until(lambda: api.run(run_id)["status"] == "awaiting_plan_approval", "runs posted are planned")  # noqa: B023
        act(api, run_id, "cancel")
    assert api.evidence_spans(under_way) == api.evidence_spans(watched)
    assert broken_invariants(stack.database_url) == {}


def test_a_stream_moves_to_another_gateway(city: City) -> None:
    """A gateway dies under its stream: with Last-Event-ID the other one goes on, nothing missing, nothing twice."""
    api, stack = city.api, city.stack
    run_id = waiting(api, city.documents)
    other = Api(stack.address_of("gateway-2"))
    with following(stack.address, run_id) as first:
        wait_until(lambda: len(first.seen) == api.run(run_id)["last_seq"], "the stream has caught up")
        act(other, run_id, "approve_plan", expected_version=1)
        wait_until(lambda: any(kind == "step_started" for _, kind in first.seen[8:]), "the stream goes on")
        stack.kill("gateway")
    with following(other.address, run_id, first.last) as second:
        other.complete(run_id)
        wait_until(lambda: second.ended, "the stream ends with its run")
    table = [(e["seq"], e["type"]) for e in other.events(run_id)]
    assert first.seen + second.seen == table
    stack.start("gateway")


def test_a_cancellation_is_obeyed_whoever_took_it(city: City) -> None:
    """One gateway streams, the other cancels, the first shows the end of the run within five seconds."""
    run_id = city.api.ask(QUESTION, city.documents)
    with following(city.stack.address, run_id) as stream:
        wait_until(lambda: stream.seen, "the stream begins")
        act(Api(city.stack.address_of("gateway-2")), run_id, "cancel")
        wait_until(lambda: stream.ended, "the stream ends", 5)
    assert city.api.run(run_id)["status"] == "cancelled"
    assert city.api.events(run_id)[-1]["to"] == "cancelled"


def test_a_request_whose_answer_was_lost_is_repeated(city: City) -> None:
    """The answer to a POST never arrives: the same key gives the same run, and there is no second one."""
    before = len(city.api.json("/research-runs?limit=100")["runs"])
    body = {"objective": "How deep is it?", "source_policy": {"document_ids": city.documents}}
    headers = {"Idempotency-Key": "a-key-of-the-test"}
    with proxy_for(city.stack.address) as proxy:
        address = f"http://127.0.0.1:{proxy.port}{urlsplit(city.stack.address).path}/api/v1/research-runs"
        proxy.swallow(b"a-key-of-the-test", 2)
        for _ in range(2):
            with pytest.raises(requests.ConnectionError):
                requests.post(address, json=body, headers=headers, timeout=10)
        answer = requests.post(address, json=body, headers=headers, timeout=10)
    assert (proxy.lost, answer.status_code) == (2, 202)
    runs = city.api.json("/research-runs?limit=100")["runs"]
    assert len(runs) == before + 1
    assert runs[0]["run_id"] == answer.json()["run_id"]
    act(city.api, answer.json()["run_id"], "cancel")
