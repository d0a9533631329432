"""The proxy before the browser: what it hands on, what it refuses before any connection, and its limits."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from services.fetcher.net.connection import Deadline, Route, trusted
from services.fetcher.net.messages import FetchLimits
from services.fetcher.net.proxy import JudgingProxy, PageLimits
from shared.domain.errors import NotAllowed
from shared.guards.addresses import Allowance, parse_networks
from tests.support.site import Reply, Site, running_site

HOST = "good.test"


@pytest.fixture
def site() -> Iterator[Site]:
    """A site on 127.0.0.1."""
    with running_site() as made:
        made.answer(HOST, "/", "home")
        yield made


def refuse(host: str) -> None:
    """Refuse one host by policy."""
    if host == "excluded.test":
        raise NotAllowed("domain_excluded", "The run's policy excludes it.")


@contextmanager
def proxied(
    opened: str = "127.0.0.1/32", total_s: float = 10, limits: PageLimits | None = None
) -> Iterator[JudgingProxy]:
    """Yield a proxy for which every name leads to loopback, except for those that say where they lead."""
    zone = {"rebound.test": "169.254.169.254", "inner.test": "10.0.0.8"}
    route = Route(
        lambda host, timeout_s: [zone.get(host, "127.0.0.1")],
        Allowance(parse_networks(opened)),
        trusted(),
        FetchLimits(silence_s=5),
        Deadline(total_s),
    )
    proxy = JudgingProxy(route, refuse, limits)
    try:
        yield proxy
    finally:
        proxy.close()


def exchange(proxy: JudgingProxy, *parts: bytes) -> bytes:
    """Send parts, each after an answer to the one before, and return everything that came back."""
    answer = b""
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as sock:
        for number, part in enumerate(parts):
            sock.sendall(part)
            if number < len(parts) - 1:
                answer += sock.recv(65536)
        while chunk := sock.recv(65536):
            answer += chunk
    return answer


def get(url: str, headers: str = "") -> bytes:
    """Return a request as a browser sends it to a proxy."""
    return f"GET {url} HTTP/1.1\r\nHost: x\r\nProxy-Connection: keep-alive\r\n{headers}\r\n".encode()


def test_a_page_is_handed_on_under_its_own_name(site: Site) -> None:
    """The site sees its name and no trace of the proxy; the answer is the last one of its connection."""
    seen: list[dict[str, str]] = []
    site.answer(HOST, "/x", lambda handler: (seen.append(dict(handler.headers)), Reply("here"))[1])
    with proxied() as proxy:
        answer = exchange(proxy, get(site.url(HOST, "/x?q=1"), "Accept: text/html\r\n"))
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.lower().count(b"connection: close") == 1
    assert answer.endswith(b"here")
    assert {name.lower() for name in seen[0]} == {"host", "accept", "connection"}
    assert seen[0]["Host"] == f"{HOST}:{site.port}"


def test_a_tunnel_carries_both_ways(site: Site) -> None:
    """CONNECT to the right port gives a tunnel; what is said in it is not looked at."""
    asked = f"CONNECT {HOST}:{site.port} HTTP/1.1\r\n\r\n".encode()
    with proxied() as proxy:
        inner = f"GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode()
        answer = exchange(proxy, asked, inner)
    assert answer.startswith(b"HTTP/1.1 200 Connected\r\n\r\nHTTP/1.1 200 OK")
    assert answer.endswith(b"home")


REFUSED = {
    "http://169.254.169.254/latest/meta-data/": "ip_metadata",
    "http://127.0.0.2/": "ip_loopback",
    "http://10.0.0.1/": "ip_private",
    "http://[::1]/": "ip_loopback",
    "http://[::ffff:169.254.169.254]/": "ip_embedded",
    "http://rebound.test/": "ip_metadata",
    "http://inner.test/": "ip_private",
    "http://2130706433/": "url_ip_form",
    "http://u:p@good.test/": "url_userinfo",
    "ftp://good.test/": "url_scheme",
    "https://good.test/": "port_forbidden",
    "http://excluded.test/": "domain_excluded",
}


@pytest.mark.parametrize(("url", "code"), REFUSED.items())
def test_requests_into_forbidden_space_are_refused(url: str, code: str) -> None:
    """Before any connection, with the code of the rule."""
    with proxied() as proxy:
        assert exchange(proxy, get(url)).startswith(b"HTTP/1.1 403 Forbidden")
        assert [found for _, found in proxy.traffic.refused] == [code]


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("169.254.169.254:443", "ip_metadata"),
        ("127.0.0.2:443", "ip_loopback"),
        ("[::1]:443", "ip_loopback"),
        ("inner.test:443", "ip_private"),
        ("excluded.test:443", "domain_excluded"),
        ("good.test:80", "port_forbidden"),
        ("nonsense target:443", None),
        ("good.test:99999", "url_port"),
    ],
)
def test_tunnels_into_forbidden_space_are_refused(target: str, code: str | None) -> None:
    """A tunnel is judged like a page, and plain text is not tunnelled: that is how web sockets would leave."""
    with proxied() as proxy:
        answer = exchange(proxy, f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 403 Forbidden")
        assert [found for _, found in proxy.traffic.refused] == ([code] if code else [])


def test_a_port_of_the_public_web_only() -> None:
    """Without opened networks other ports are refused by name."""
    with proxied(opened="") as proxy:
        exchange(proxy, get("http://good.test:6379/"))
        exchange(proxy, b"CONNECT good.test:22 HTTP/1.1\r\n\r\n")
        assert [code for _, code in proxy.traffic.refused] == ["port_forbidden", "port_forbidden"]


@pytest.mark.parametrize(
    "request_head",
    [
        b"DELETE http://good.test/ HTTP/1.1\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"POST http://good.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST http://good.test/ HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
    ],
)
def test_what_a_page_may_not_do(site: Site, request_head: bytes) -> None:
    """Other methods, bodies of unknown or great length, and what is no request end in a refusal."""
    head = request_head.replace(b"good.test", f"{HOST}:{site.port}".encode())
    with proxied() as proxy:
        assert exchange(proxy, head).startswith(b"HTTP/1.1 403")
    assert site.paths() == []


def test_a_page_has_limits_on_bytes_and_connections(site: Site) -> None:
    """What is over them is not handed on."""
    site.answer(HOST, "/big", "x" * 500_000)
    with proxied(limits=PageLimits(bytes=100_000, connections=2)) as proxy:
        assert len(exchange(proxy, get(site.url(HOST, "/big")))) < 200_000
        assert exchange(proxy, get(site.url(HOST, "/"))).startswith(b"HTTP/1.1 502")
        assert exchange(proxy, get(site.url(HOST, "/"))).startswith(b"HTTP/1.1 502")


def test_nothing_outlives_the_proxy(site: Site) -> None:
    """A connection that waits for a silent site ends when the page does."""
    site.answer(HOST, "/silent", Reply(raw=lambda handler: site.closing.wait(30) and None))
    with proxied() as proxy, socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as sock:
        sock.sendall(get(site.url(HOST, "/silent")))
        proxy.close()
        assert received(sock) == b""


def received(sock: socket.socket) -> bytes:
    """Return what comes; a connection that is reset gives nothing."""
    try:
        return sock.recv(1)
    except ConnectionResetError:
        return b""
