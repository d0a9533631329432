"""Where calls to a model may go: the operator's endpoint, inside or outside, and never a metadata service."""

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest

from shared.adapters.model.judged import JudgedTransport, RefusedAddress
from shared.adapters.model.transport import OtherOrigin, open_client
from tests.support.site import running_site


class Recorder(httpx2.AsyncBaseTransport):
    """Notes what would be sent; the first ``broken`` addresses cannot be connected to."""

    def __init__(self, broken: int = 0) -> None:
        self.sent: list[httpx2.Request] = []
        self._broken = broken

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer with nothing."""
        self.sent.append(request)
        if len(self.sent) <= self._broken:
            raise httpx2.ConnectError("refused")
        return httpx2.Response(200)


def send(transport: JudgedTransport, url: str) -> None:
    """Send a request."""

    async def sending() -> None:
        await transport.handle_async_request(httpx2.Request("POST", url, content=b"{}"))

    asyncio.run(sending())


@pytest.mark.parametrize("url", ["http://169.254.169.254/v1", "http://[fd00:ec2::254]/v1", "http://0.0.0.0:11434/v1"])
def test_a_metadata_service_is_no_endpoint(url: str) -> None:
    """Refused before anything is sent, with a sentence that says what the address is."""
    inner = Recorder()
    with pytest.raises(RefusedAddress, match="is not connected to"):
        send(JudgedTransport(inner), url)
    assert inner.sent == []


def test_a_name_is_pinned_to_its_judged_address() -> None:
    """The connection goes to the address; header, server name and certificate check keep the name."""
    inner = Recorder()
    send(JudgedTransport(inner), "http://localhost:11434/v1/chat")
    [sent] = inner.sent
    assert sent.url.host in ("127.0.0.1", "::1")
    assert (sent.url.port, sent.url.path) == (11434, "/v1/chat")
    assert sent.headers["host"] == "localhost:11434"
    assert sent.extensions["sni_hostname"] == "localhost"


def test_an_address_is_its_own_name() -> None:
    """Nothing is looked up and nothing changed, in either family."""
    inner = Recorder()
    send(JudgedTransport(inner), "http://127.0.0.1:8080/v1")
    send(JudgedTransport(inner), "http://[::1]:8080/v1")
    assert [str(request.url) for request in inner.sent] == ["http://127.0.0.1:8080/v1", "http://[::1]:8080/v1"]


def test_a_name_that_nobody_knows() -> None:
    """Is an error of the connection, which may pass."""
    with pytest.raises(httpx2.ConnectError, match="cannot be resolved"):
        send(JudgedTransport(Recorder()), "http://a..b/v1")


def post(url: str) -> httpx2.Response:
    """Post to an endpoint as the adapters do."""

    async def posting() -> httpx2.Response:
        async with open_client(url) as client:
            return await client.post(url, json={})

    return asyncio.run(posting())


def test_a_model_on_this_machine_answers_by_name() -> None:
    """A server on loopback that is named localhost is reached."""
    with running_site() as site:
        assert post(f"http://localhost:{site.port}/v1").status_code == 404


def test_a_refused_endpoint_is_told_as_one() -> None:
    """The error is one of the endpoint, with the reason."""
    with pytest.raises(OtherOrigin, match="metadata service"):
        post("http://169.254.169.254/v1")


def test_a_redirect_of_an_endpoint_is_not_followed() -> None:
    """It is an answer like any other, and nothing is sent to where it leads."""

    def lead_away(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(307)
        handler.send_header("Location", "http://169.254.169.254/")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    handler = type("Away", (BaseHTTPRequestHandler,), {"do_POST": lead_away, "log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert post(f"http://127.0.0.1:{server.server_address[1]}/v1").status_code == 307
        server.shutdown()
