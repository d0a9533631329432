"""A TCP proxy that loses answers: what stands between a client and a server when a network fails."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

CHUNK = 65_536
COMMIT = b"COMMIT"


@dataclass
class Proxy:
    """Passes everything on, until told otherwise."""

    target: tuple[str, int]
    lost: int = 0
    """Answers that were swallowed so far."""
    _swallow: int = 0
    _marker: bytes = COMMIT
    _connections: set[socket.socket] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Listen on a free port."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def url(self, original: str) -> str:
        """Return the URL of a server with the proxy's address in it."""
        parts = urlsplit(original)
        credentials, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{credentials}{at}127.0.0.1:{self.port}"))

    def swallow_commits(self, count: int) -> None:
        """Let the next COMMITs reach the server, but not their answers to the client: its connection breaks instead."""
        self.swallow(COMMIT, count)

    def swallow(self, marker: bytes, count: int) -> None:
        """Do the same to the next requests in which these bytes stand."""
        with self._lock:
            self._marker, self._swallow = marker, count

    def cut(self) -> None:
        """Break every connection."""
        with self._lock:
            connections, self._connections = set(self._connections), set()
        for connection in connections:
            _close(connection)

    def close(self) -> None:
        """Stop listening and break every connection."""
        _close(self._listener)
        self._thread.join(10)
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target, 5)
            except OSError:
                _close(client)
                continue
            server.settimeout(None)
            with self._lock:
                self._connections |= {client, server}
            losing = threading.Event()
            for source, sink, to_server in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._pump, args=(source, sink, losing, to_server), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, losing: threading.Event, to_server: bool) -> None:
        """Pass on one direction; ``losing`` is set between a request whose answer is to be lost and that answer."""
        with suppress(OSError):
            while data := source.recv(CHUNK):
                if to_server and self._marker in data and self._take():
                    losing.set()
                elif not to_server and losing.is_set():
                    break
                sink.sendall(data)
        for connection in (source, sink):
            _close(connection)
        with self._lock:
            self._connections -= {source, sink}

    def _take(self) -> bool:
        with self._lock:
            if self._swallow == 0:
                return False
            self._swallow -= 1
            self.lost += 1
            return True


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextmanager
def proxy_for(url: str) -> Iterator[Proxy]:
    """Yield a proxy in front of the server of a URL."""
    parts = urlsplit(url)
    proxy = Proxy((parts.hostname or "127.0.0.1", parts.port or 0))
    try:
        yield proxy
    finally:
        proxy.close()
