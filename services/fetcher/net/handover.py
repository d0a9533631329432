"""Hands one exchange of a page on between the browser and a site: heads, bodies and tunnels, counted and timed."""

import selectors
import socket
from collections.abc import Callable

from services.fetcher.net.connection import Route
from shared.domain.errors import LimitExceeded, NotAllowed

_CHUNK = 64 * 1024
HEAD_END = b"\r\n\r\n"
_HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"te", b"trailer", b"upgrade", b"proxy-connection", b"proxy-authorization", b"host")
)


class Handover:
    """Reads and writes within the page's limits; ``count`` hears of every byte and raises when there are too many."""

    def __init__(self, route: Route, count: Callable[[int], None], body_bytes: int) -> None:
        self._route, self._count, self._body_bytes = route, count, body_bytes

    def left(self) -> float:
        """Return the seconds that the next wait may take; raise `LimitExceeded` when nothing is left."""
        return self._route.deadline.left(self._route.limits.silence_s)

    def head(self, sock: socket.socket) -> tuple[bytes, bytes]:
        """Read a request's or an answer's head; return it and what came behind it."""
        data = b""
        while HEAD_END not in data:
            if len(data) > self._route.limits.header_bytes:
                raise LimitExceeded("header_too_large", "The head is too long.")
            sock.settimeout(self.left())
            chunk = sock.recv(_CHUNK)
            if not chunk:
                raise NotAllowed("bad_request", "The head breaks off.")
            self._count(len(chunk))
            data += chunk
        head, _, rest = data.partition(HEAD_END)
        return head, rest

    def body_length(self, fields: list[bytes]) -> int:
        """Return how much a request says that it sends; raise `NotAllowed` when that is too much or not said."""
        named = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in fields)}
        length = named.get(b"content-length", b"0")
        if b"transfer-encoding" in named or not length.isdigit() or int(length) > self._body_bytes:
            raise NotAllowed("body_too_large", "A page may not send that much.")
        return int(length)

    def send_body(self, client: socket.socket, upstream: socket.socket, rest: bytes, left: int) -> None:
        """Send as much as the request says that it has."""
        while left > 0:
            data = (rest or client.recv(_CHUNK))[:left]
            if not data:
                raise NotAllowed("bad_request", "The body breaks off.")
            rest, left = b"", left - len(data)
            self._count(len(data))
            upstream.sendall(data)

    def answer(self, client: socket.socket, upstream: socket.socket) -> None:
        """Hand back the answer, marked as the last one of its connection."""
        head, rest = self.head(upstream)
        status, *lines = head.split(b"\r\n")
        client.sendall(b"\r\n".join((status, *end_to_end(lines), b"Connection: close")) + HEAD_END + rest)
        while chunk := self._receive(upstream):
            client.sendall(chunk)

    def _receive(self, sock: socket.socket) -> bytes:
        sock.settimeout(self.left())
        chunk = sock.recv(_CHUNK)
        self._count(len(chunk))
        return chunk

    def pump(self, client: socket.socket, upstream: socket.socket) -> None:
        """Hand bytes both ways until both sides have ended."""
        other = {client: upstream, upstream: client}
        with selectors.DefaultSelector() as ready:
            for side in other:
                ready.register(side, selectors.EVENT_READ, side)
            while ready.get_map():
                for key, _ in ready.select(self.left()):
                    sock: socket.socket = key.data
                    chunk = self._receive(sock)
                    if chunk:
                        other[sock].settimeout(self.left())
                        other[sock].sendall(chunk)
                    else:
                        ready.unregister(sock)
                        other[sock].shutdown(socket.SHUT_WR)


def end_to_end(lines: list[bytes]) -> list[bytes]:
    """Return the fields of a head that are not about the connection itself."""
    return [line for line in lines if line.partition(b":")[0].strip().lower() not in _HOP_BY_HOP]
