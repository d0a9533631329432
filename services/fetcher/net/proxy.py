"""A proxy on loopback for a browser: whatever a page asks for goes through it, and through the judge of addresses.

It lives as long as one page. It knows CONNECT for https and absolute addresses for http, one request a connection, and
has limits on bytes, connections and time for the page as a whole. Where a request may not go it answers 403.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from services.fetcher.net.connection import Route, open_socket
from services.fetcher.net.handover import HEAD_END, Handover, end_to_end
from shared.domain.errors import LimitExceeded, NotAllowed, StepError
from shared.domain.urls import Url, parse_url

LOOPBACK = "127.0.0.1"
_METHODS = frozenset((b"GET", b"HEAD", b"POST", b"OPTIONS"))


@dataclass(frozen=True, slots=True)
class PageLimits:
    """What one page may take with all that it loads."""

    bytes: int = 40_000_000
    connections: int = 300
    body_bytes: int = 1_000_000
    """The largest body that a page may send."""


@dataclass(slots=True)
class Traffic:
    """What went through."""

    connections: int = 0
    bytes: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Host and code of each request that was refused."""


class JudgingProxy:
    """Listens on a free port from its making until it is closed; ``refuse`` raises for hosts that policy forbids."""

    def __init__(self, route: Route, refuse: Callable[[str], None], limits: PageLimits | None = None) -> None:
        self._route, self._refuse, self._limits = route, refuse, limits or PageLimits()
        self.traffic = Traffic()
        self._handover = Handover(route, self._count_bytes, self._limits.body_bytes)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._closed = False
        self._listener = socket.create_server((LOOPBACK, 0), backlog=128)
        self._thread = threading.Thread(target=self._accept, name="page-proxy", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._listener.getsockname()[1])

    def close(self) -> None:
        """Stop listening and end every connection at once."""
        with self._lock:
            self._closed = True
            connections = tuple(self._open)
        for sock in (self._listener, *connections):
            with suppress(OSError):  # it may have ended by itself
                sock.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), name="page-proxy-connection", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), self._held(client):  # either side may go away at any moment
            try:
                self._pass_on(client)
            except StepError as error:
                status = b"403 Forbidden" if isinstance(error, NotAllowed) else b"502 Bad Gateway"
                client.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    @contextmanager
    def _held(self, sock: socket.socket) -> Iterator[None]:
        """Close the socket at the end, or at once when the proxy is closed already."""
        with self._lock:
            self._open.add(sock)
            closed = self._closed
        try:
            if closed:
                raise ConnectionAbortedError("the proxy is closed")
            yield
        finally:
            with self._lock:
                self._open.discard(sock)
            sock.close()

    def _count_connection(self) -> None:
        with self._lock:
            self.traffic.connections += 1
            if self.traffic.connections > self._limits.connections:
                raise LimitExceeded("page_connections", "The page asks for too much.")

    def _count_bytes(self, count: int) -> None:
        with self._lock:
            self.traffic.bytes += count
            if self.traffic.bytes > self._limits.bytes:
                raise LimitExceeded("page_bytes", "The page loads too much.")

    def _pass_on(self, client: socket.socket) -> None:
        head, rest = self._handover.head(client)
        self._count_connection()
        request, *lines = head.split(b"\r\n")
        words = request.split(b" ")
        if len(words) != 3:
            raise NotAllowed("bad_request", "That is no request.")
        method, target, _ = words
        if method == b"CONNECT":
            with self._upstream(f"https://{target.decode('latin-1')}/", tunnel=True) as (_, upstream):
                client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                self._handover.pump(client, upstream)
            return
        if method not in _METHODS:
            raise NotAllowed("method", "A page may not do that.")
        fields = end_to_end(lines)
        length = self._handover.body_length(fields)
        with self._upstream(target.decode("latin-1"), tunnel=False) as (url, upstream):
            asked = b"%s %s HTTP/1.1" % (method, url.target.encode())
            own = (b"Host: " + url.netloc.encode(), b"Connection: close")
            upstream.sendall(b"\r\n".join((asked, *own, *fields)) + HEAD_END)
            self._handover.send_body(client, upstream, rest, length)
            self._handover.answer(client, upstream)

    @contextmanager
    def _upstream(self, address: str, *, tunnel: bool) -> Iterator[tuple[Url, socket.socket]]:
        """Yield a connection to where the request may go."""
        try:
            url = parse_url(address)
            if tunnel is not (url.scheme == "https") or (tunnel and url.port == 80):
                raise NotAllowed("port_forbidden", "Only https is tunnelled.")
            self._route.allowance.judge_url(url)
            self._refuse(url.host)
            upstream = open_socket(url, self._route)
        except NotAllowed as error:
            with self._lock:
                self.traffic.refused.append((address[:200], error.code))
            raise
        with self._held(upstream):
            upstream.settimeout(self._handover.left())
            yield url, upstream
