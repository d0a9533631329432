"""A connection to a judged address: the name resolved once, every answer judged, and the peer judged again.

The URL is not rewritten, so the Host header, the server name in TLS and the check of the certificate all see the name.
No proxy, no environment and no credentials file is ever looked at.
"""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import certifi

from services.fetcher.net.messages import FetchLimits
from services.fetcher.net.resolver import Resolver
from shared.domain.errors import LimitExceeded, Transient
from shared.domain.urls import Url
from shared.guards.addresses import Allowance

_ADDRESSES_TRIED = 4


class Deadline:
    """The end of all that one fetch may take, on this process's monotonic clock."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, time.monotonic() + seconds

    def left(self, at_most: float) -> float:
        """Return the seconds that the next wait may take; raise `LimitExceeded` when nothing is left."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise LimitExceeded("deadline", f"The answer was not complete after {self._seconds:.0f} s.")
        return min(left, at_most)


@dataclass(frozen=True, slots=True)
class Route:
    """What a connection is made by."""

    resolver: Resolver
    allowance: Allowance
    tls: ssl.SSLContext
    limits: FetchLimits
    deadline: Deadline


class JudgedConnection(http.client.HTTPConnection):
    """One connection for one request."""

    def __init__(self, url: Url, route: Route) -> None:
        super().__init__(url.host, url.port)
        self._url, self._route = url, route
        self.timed: TimedSocket | None = None

    def connect(self) -> None:
        """Connect to an address that was judged; raise `NotAllowed` or `Transient`, or ssl.SSLError."""
        sock = open_socket(self._url, self._route)
        if self._url.scheme == "https":
            with _closed_on_error(sock):
                sock.settimeout(self._route.deadline.left(self._route.limits.connect_s))
                sock = self._route.tls.wrap_socket(sock, server_hostname=self._url.host)
        self.timed = TimedSocket(sock, self._route.deadline, self._route.limits)
        self.sock = cast(socket.socket, self.timed)

    def end(self) -> None:
        """Close everything at once, whatever is still on its way."""
        self.close()
        if self.timed is not None:
            self.timed.end()


class TimedSocket:
    """What http.client needs of a socket; reads obey the deadline, and a header may have only so many bytes."""

    def __init__(self, sock: socket.socket, deadline: Deadline, limits: FetchLimits) -> None:
        self._sock, self._deadline, self._limits = sock, deadline, limits
        self._received = 0
        self._in_header = True

    def sendall(self, data: bytes) -> None:
        """Send everything."""
        self._sock.settimeout(self._deadline.left(self._limits.silence_s))
        self._sock.sendall(data)

    def makefile(self, _: str) -> io.BufferedReader:
        """Return a reader of what the peer sends."""
        return io.BufferedReader(_TimedReader(self))

    def header_ended(self) -> None:
        """Count no further: what comes now is the body, which has limits of its own."""
        self._in_header = False

    def receive(self, buffer: memoryview) -> int:
        """Receive into the buffer once."""
        if self._in_header and self._received > self._limits.header_bytes:
            raise LimitExceeded("header_too_large", f"The header has over {self._limits.header_bytes:,} bytes.")
        self._sock.settimeout(self._deadline.left(self._limits.silence_s))
        count = self._sock.recv_into(buffer)
        self._received += count
        return count

    def close(self) -> None:
        """Do nothing: http.client calls this as soon as it has made a reader, which is still to be read."""

    def end(self) -> None:
        """Close the connection."""
        self._sock.close()


class _TimedReader(io.RawIOBase):
    """The raw end of a buffered reader over a `TimedSocket`."""

    def __init__(self, source: TimedSocket) -> None:
        self._source = source

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, buffer: object) -> int:
        """Read once, blocking."""
        return self._source.receive(cast(memoryview, buffer))


def open_socket(url: Url, route: Route) -> socket.socket:
    """Return a socket to one of the host's addresses; one refused address refuses the name."""
    addresses = _addresses(url, route)
    for address in addresses:
        route.allowance.judge_endpoint(url, address)
    reason = "it has no address"
    for address in addresses[:_ADDRESSES_TRIED]:
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            with _closed_on_error(sock):
                sock.settimeout(route.deadline.left(route.limits.connect_s))
                sock.connect((address, url.port))
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                route.allowance.judge_endpoint(url, str(sock.getpeername()[0]))
                return sock
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
    raise Transient("connect_failed", f"{url.netloc} cannot be connected to: {reason}.")


@contextmanager
def _closed_on_error(sock: socket.socket) -> Iterator[None]:
    """Close the socket when the block does not end well."""
    with ExitStack() as stack:
        stack.callback(sock.close)
        yield
        stack.pop_all()


def _addresses(url: Url, route: Route) -> Sequence[str]:
    literal = url.literal
    if literal is not None:
        return [str(literal)]
    return route.resolver(url.host, route.deadline.left(route.limits.connect_s))


@lru_cache(maxsize=1)
def trusted() -> ssl.SSLContext:
    """Return the context that trusts the system's authorities and those of certifi."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    return context
