"""The gateway as a process of granian: streams over real connections, limits, start and stop."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from tests.support.fake_gateway import PROJECT, QUEUED_EVENTS, FakeGateway, fake_gateway
from tests.support.waiting import wait_until

BODY = {"objective": "When was the channel dredged?", "source_policy": {"documents_all": True}}


@pytest.fixture(scope="module")
def gateway() -> Iterator[FakeGateway]:
    """A gateway for the tests of this module that do not end it."""
    with fake_gateway() as running:
        yield running


def start(gateway: FakeGateway) -> str:
    """Start a run whose plan waits for approval, with four events, and return its id."""
    answer = requests.post(f"{gateway.address}/api/v1/research-runs", json=BODY, timeout=10)
    return str(answer.json()["run_id"])


def open_stream(gateway: FakeGateway, run_id: str, after: int | None = None) -> requests.Response:
    """Follow a run."""
    headers = {"Accept": "text/event-stream"} | ({} if after is None else {"Last-Event-ID": str(after)})
    url = f"{gateway.address}/api/v1/research-runs/{run_id}/events"
    return requests.get(url, headers=headers, stream=True, timeout=10)


def names(answer: requests.Response, until: int | None = None) -> list[str | int]:
    """Return the sequence numbers that come, and the names of what is no event, up to ``until`` or the end."""
    return names_in(answer.iter_lines(decode_unicode=True), until)


def names_in(lines: Iterator[str], until: int | None = None) -> list[str | int]:
    """Do the same for lines of which more will be taken later."""
    seen: list[str | int] = []
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            seen.append(json.loads(line[6:]).get("seq", name))
            if seen[-1] == until:
                break
    return seen


def test_a_stream_is_what_event_sources_expect(gateway: FakeGateway) -> None:
    """Media type, no buffering, id and event and data lines, and the security headers."""
    run_id = start(gateway)
    with open_stream(gateway, run_id) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        lines = answer.iter_lines(decode_unicode=True)
        first = [next(lines) for _ in range(5)]
    assert first[:4] == ["retry: 1000", "", "id: 1", "event: run_created"]
    assert json.loads(first[4].removeprefix("data: "))["type"] == "run_created"


def test_a_client_that_comes_back_misses_and_repeats_nothing(gateway: FakeGateway) -> None:
    """Cut after every few events, the pieces together are every event once and in order, then the end."""
    run_id = start(gateway)
    gateway.pull("happen", run_id=run_id, times=20)
    seen: list[str | int] = []
    for until in (3, 7, 8, 24):
        with open_stream(gateway, run_id, len(seen)) as answer:
            seen += names(answer, until)
    gateway.pull("end", run_id=run_id, status="completed", stop_reason="finished")
    with open_stream(gateway, run_id, len(seen)) as answer:
        seen += names(answer)
    assert seen == [*range(1, len(seen)), "end"]


def test_two_clients_see_the_same(gateway: FakeGateway) -> None:
    """Events that happen while both follow reach both, in order."""
    run_id = start(gateway)
    with open_stream(gateway, run_id) as one, open_stream(gateway, run_id) as two:
        wait_until(lambda: gateway.streams() == 2, "both to listen")
        gateway.pull("happen", run_id=run_id, times=10)
        gateway.pull("end", run_id=run_id, status="failed", stop_reason="failed:poison")
        seen = names(one)
        assert names(two) == seen == [*range(1, len(seen)), "end"]


def test_clients_that_go_leave_the_register(gateway: FakeGateway) -> None:
    """Within two pings, though nothing happens on their run."""
    run_id = start(gateway)
    answers = [open_stream(gateway, run_id) for _ in range(10)]
    wait_until(lambda: gateway.streams() == 10, "all to listen")
    for answer in answers[:7]:
        answer.close()
    wait_until(lambda: gateway.streams() == 3, "seven to be gone")
    for answer in answers[7:]:
        answer.close()
    wait_until(lambda: gateway.streams() == 0, "all to be gone")


def test_a_client_that_does_not_read_is_dropped(gateway: FakeGateway) -> None:
    """With its window closed and its queue full it is off the register, and others get every event."""
    run_id = start(gateway)
    parts = urlsplit(gateway.address)
    with socket.socket() as deaf, open_stream(gateway, run_id) as other:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect((parts.hostname, parts.port))
        deaf.sendall(
            f"GET /api/v1/research-runs/{run_id}/events HTTP/1.1\r\nHost: {parts.netloc}\r\n"
            "Accept: text/event-stream\r\n\r\n".encode()
        )
        wait_until(lambda: gateway.streams() == 2, "both to listen")
        lines = other.iter_lines(decode_unicode=True)
        assert names_in(lines, 4) == [1, 2, 3, 4]
        last, batch = 4, QUEUED_EVENTS // 2
        deadline = time.monotonic() + 30
        while gateway.streams() == 2:
            assert time.monotonic() < deadline, "the client that does not read was not dropped"
            gateway.pull("happen", run_id=run_id, times=batch, payload={"message": "x" * 20_000})
            assert names_in(lines, last + batch) == list(range(last + 1, last + batch + 1))
            last += batch
        assert gateway.streams() == 1
    wait_until(lambda: gateway.streams() == 0, "all to be gone")


def test_streams_leave_threads_to_requests() -> None:
    """With as many streams as are taken, the next is told to wait, and requests are answered."""
    with fake_gateway(LEADLINE_GATEWAY_THREADS="4") as gateway:
        run_id = start(gateway)
        with open_stream(gateway, run_id), open_stream(gateway, run_id):
            wait_until(lambda: gateway.streams() == 2, "both to listen")
            with open_stream(gateway, run_id) as refused:
                assert refused.status_code == 503
                assert refused.headers["Retry-After"]
                assert refused.json()["type"] == "/problems/busy"
            assert start(gateway)


def test_a_large_body_is_answered_before_it_is_read(gateway: FakeGateway) -> None:
    """The client gets its 413 and no broken connection, with a length and in chunks."""
    url = f"{gateway.address}/api/v1/research-runs"
    headers = {"Content-Type": "application/json"}
    data = b'{"objective": "' + b"x" * 3_000_000 + b'"}'
    assert requests.post(url, data=data, headers=headers, timeout=10).status_code == 413
    assert requests.post(url, data=iter([data[:50_000], data[50_000:]]), headers=headers, timeout=10).status_code == 413


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_does_not_wait_for_open_streams(number: signal.Signals) -> None:
    """The streams end, the process exits with 0, and nothing of it is left."""
    with fake_gateway() as gateway:
        run_id = start(gateway)
        with open_stream(gateway, run_id) as answer:
            wait_until(lambda: gateway.streams() == 1, "the stream to be open")
            gateway.process.send_signal(number)
            assert names(answer) == [1, 2, 3, 4]
            assert gateway.process.wait(4) == 0
        with pytest.raises(requests.ConnectionError):
            requests.get(gateway.address, timeout=1)


def test_a_killed_main_process_takes_its_worker_along() -> None:
    """Nobody goes on serving on the port."""
    with fake_gateway() as gateway:
        with open_stream(gateway, start(gateway)) as answer:
            wait_until(lambda: gateway.streams() == 1, "the stream to be open")
            gateway.process.kill()
            assert names(answer) == [1, 2, 3, 4]
        parts = urlsplit(gateway.address)

        def refused() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex((parts.hostname, parts.port)) != 0

        wait_until(refused, "the worker to end")


def test_a_killed_worker_takes_the_main_process_along() -> None:
    """It ends with an error at once: a gateway that listens and serves nothing would be missed by nobody."""
    with fake_gateway() as gateway:
        [worker] = Path(f"/proc/{gateway.process.pid}/task/{gateway.process.pid}/children").read_text().split()
        os.kill(int(worker), signal.SIGKILL)
        assert gateway.process.wait(10) == 1


def test_a_port_in_use_is_said_in_one_sentence(gateway: FakeGateway) -> None:
    """Exit 2, no traceback, and the first gateway goes on."""
    port = str(urlsplit(gateway.address).port)
    second = subprocess.run(
        [sys.executable, "-m", "tests.support.fake_gateway"],
        env={**os.environ, "LEADLINE_GATEWAY_PORT": port},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert second.returncode == 2
    assert second.stderr.count("\n") == 1
    assert f"port {port}" in second.stderr
    assert "LEADLINE_GATEWAY_PORT" in second.stderr
    assert gateway.streams() == 0
