"""The gateway as a process, beside clients that send slowly, or nothing, or come in crowds."""

import contextlib
import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
import requests

from tests.support.fake_gateway import FakeGateway, fake_gateway

THREADS = 8
RUNS = "/api/v1/research-runs"
FORM = "Content-Type: multipart/form-data; boundary=x\r\n"
JSON = "Content-Type: application/json\r\n"


@pytest.fixture(scope="module")
def gateway() -> Iterator[FakeGateway]:
    """A gateway with few threads and little patience."""
    with fake_gateway(LEADLINE_GATEWAY_THREADS=str(THREADS), LEADLINE_REQUEST_PATIENCE_SECONDS="3") as running:
        yield running


def connect(gateway: FakeGateway, sent: str) -> socket.socket:
    """Open a connection and send the beginning of a request."""
    parts = urlsplit(gateway.address)
    connection = socket.create_connection((parts.hostname, parts.port), timeout=20)
    connection.sendall(sent.replace("HOST", parts.netloc).encode())
    return connection


def answer_of(connection: socket.socket) -> tuple[int, dict[str, object]]:
    """Read until the end; return the status and the problem."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(65536):
            data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head, data
    assert b"X-Content-Type-Options: nosniff" in head
    return int(head.split()[1]), json.loads(body)


def still_served(gateway: FakeGateway) -> None:
    """Require that others are answered, and quickly."""
    assert requests.get(f"{gateway.address}/healthz", timeout=2).ok
    assert requests.get(f"{gateway.address}{RUNS}", timeout=2).ok
    sent = requests.post(f"{gateway.address}/api/v1/documents", files=[("f", ("a.txt", b"text"))], timeout=2)
    assert sent.status_code == 202


@pytest.mark.parametrize(
    "sent",
    [
        f"POST /login HTTP/1.1\r\nHost: HOST\r\n{JSON}Content-Length: 60\r\n\r\n{{",
        f"POST {RUNS} HTTP/1.1\r\nHost: HOST\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n5\r\n{{",
        f"POST /api/v1/documents HTTP/1.1\r\nHost: HOST\r\n{FORM}Content-Length: 900000\r\n\r\n--x",
        "GET /healthz HTTP/1.1\r\nHost: HOST\r\nX-",
    ],
    ids=["login", "chunks", "uploads", "heads"],
)
def test_slow_requests_hold_nobody_up_and_end(gateway: FakeGateway, sent: str) -> None:
    """Ten times as many as there are threads: everybody else is answered meanwhile, and each of them gets its 408."""
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(connect(gateway, sent)) for _ in range(10 * THREADS)]
        still_served(gateway)
        answers = [answer_of(connection) for connection in slow]
    assert {(status, body["type"]) for status, body in answers} == {(408, "/problems/too-slow")}


def test_a_client_that_sends_nothing_is_let_go(gateway: FakeGateway) -> None:
    """It held a place, no thread."""
    with connect(gateway, "") as silent:
        still_served(gateway)
        assert answer_of(silent)[0] == 408


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("GET / HTTP/1.1\r\nHost: HOST\r\nno colon\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: HOST\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (f"POST {RUNS} HTTP/1.1\r\nHost: HOST\r\n{JSON}Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (f"GET / HTTP/1.1\r\nHost: HOST\r\nX-Long: {'x' * 200_000}\r\n\r\n", 431),
    ],
)
def test_what_is_no_request_is_refused(gateway: FakeGateway, sent: str, status: int) -> None:
    """As a problem, like any other error."""
    with connect(gateway, sent) as connection:
        assert answer_of(connection)[0] == status


def test_one_address_has_a_bounded_number_of_connections() -> None:
    """Those over it are told so; when others close theirs, there is room again."""
    with fake_gateway(LEADLINE_MAX_CONNECTIONS_PER_ADDRESS="5") as gateway:
        with contextlib.ExitStack() as stack:
            for _ in range(5):
                stack.enter_context(connect(gateway, "GET "))
            with connect(gateway, "") as refused:
                assert answer_of(refused) == (429, {**answer_body("too-many-connections", 429)})
        assert requests.get(f"{gateway.address}/healthz", timeout=20).ok


def answer_body(slug: str, status: int) -> dict[str, object]:
    """Return the problem that is told."""
    return {
        "type": f"/problems/{slug}",
        "title": "Too many connections",
        "status": status,
        "detail": "This address has too many connections open: close some of them.",
    }


def test_a_port_is_taken_again_at_once_while_old_connections_linger() -> None:
    """Connections that the server closed first stay with the system for a minute; a new gateway gets the port."""
    with fake_gateway() as first:
        port = str(urlsplit(first.address).port)
        with connect(first, "GET /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n") as lingering:
            while lingering.recv(65536):
                continue
            first.process.terminate()
            first.process.wait(15)
            with fake_gateway(LEADLINE_GATEWAY_PORT=port) as second:
                assert second.streams() == 0


def test_a_port_is_taken_again_after_a_kill() -> None:
    """The worker of a killed gateway ends a moment later; the new one waits for it."""
    with fake_gateway() as first:
        port = str(urlsplit(first.address).port)
        first.process.kill()
        first.process.wait(15)
        with fake_gateway(LEADLINE_GATEWAY_PORT=port) as second:
            assert second.streams() == 0


def test_many_streams_beside_slow_clients() -> None:
    """Two hundred streams get their events while forty clients send slowly."""
    with fake_gateway(LEADLINE_GATEWAY_THREADS="220") as gateway, contextlib.ExitStack() as stack:
        body = {"objective": "When was the channel dredged?", "source_policy": {"documents_all": True}}
        run_id = requests.post(f"{gateway.address}{RUNS}", json=body, timeout=10).json()["run_id"]
        request = f"GET {RUNS}/{run_id}/events HTTP/1.1\r\nHost: HOST\r\nAccept: text/event-stream\r\n\r\n"
        slow = f"POST /login HTTP/1.1\r\nHost: HOST\r\n{JSON}Content-Length: 60\r\n\r\n{{"
        for _ in range(40):
            stack.enter_context(connect(gateway, slow))
        streams = [stack.enter_context(connect(gateway, request)) for _ in range(200)]
        gateway.pull("end", run_id=run_id, status="completed", stop_reason="finished")
        for stream in streams:
            data = b""
            while piece := stream.recv(65536):
                data += piece
            assert b"event: end" in data
