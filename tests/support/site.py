"""A web site on loopback that answers under many host names, keeps its own log, and misbehaves when told to."""

import mimetypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from ssl import SSLContext
from urllib.parse import unquote

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Visit:
    """One request as the site saw it, from its arrival until its answer was ready, on the machine's monotonic clock."""

    host: str
    path: str
    agent: str
    start: float
    end: float
    status: int
    wall: float = 0.0
    """When it came, in seconds of the Unix clock, as a database on this machine has it too."""


@dataclass(frozen=True)
class Reply:
    """What to answer: a status, a body and headers, or ``raw`` bytes written by hand."""

    body: bytes | str = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: Callable[["Handler"], None] | None = None


def file_reply(path: Path) -> Reply:
    """Return a file as a plain server sends it: its kind by its name, and nothing about its encoding."""
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Reply(path.read_bytes(), headers={"Content-Type": kind})


Answer = Reply | Callable[["Handler"], Reply]


class Handler(BaseHTTPRequestHandler):
    """Looks the answer up under host and path."""

    protocol_version = "HTTP/1.1"
    server: "_Server"

    body: bytes = b""
    """What was posted."""

    def do_POST(self) -> None:
        """Answer as to a GET, with the body at hand."""
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()

    def do_GET(self) -> None:
        """Answer, after noting the request."""
        start, wall = time.monotonic(), time.time()
        host = (self.headers.get("Host") or "").partition(":")[0]
        site = self.server.site
        site.closing.wait(site.latency.get(host, 0.0))
        reply = site.reply_to(self, host)
        agent = self.headers.get("User-Agent") or ""
        site.note(Visit(host, self.path, agent, start, time.monotonic(), reply.status, wall))
        try:
            self._send(reply)
        except OSError:
            self.close_connection = True

    def _send(self, reply: Reply) -> None:
        if reply.raw is not None:
            reply.raw(self)
            self.close_connection = True
            return
        body = reply.body.encode() if isinstance(reply.body, str) else reply.body
        self.send_response(reply.status)
        headers = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))} | reply.headers
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write nothing to the console."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    site: "Site"

    def handle_error(self, *_: object) -> None:
        """A client that goes away is no news."""


class Site:
    """Hosts and their pages; every host name leads to the same loopback port."""

    def __init__(self, tls: SSLContext | None = None, address: str = LOOPBACK, port: int = 0) -> None:
        self.closing = threading.Event()
        self.latency: dict[str, float] = {}
        self.hosts: set[str] = set()
        self._answers: dict[tuple[str, str], Answer] = {}
        self._visits: list[Visit] = []
        self._lock = threading.Lock()
        self._server = _Server((address, port), Handler)
        self._server.site = self
        self.scheme = "http"
        if tls is not None:
            self.scheme = "https"
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that all hosts answer on."""
        return int(self._server.server_address[1])

    def url(self, host: str, path: str = "/") -> str:
        """Return the address of a page."""
        return f"{self.scheme}://{host}:{self.port}{path}"

    def answer(self, host: str, path: str, answer: Answer | bytes | str) -> str:
        """Set what a path answers; return its address."""
        self.hosts.add(host)
        self._answers[host, path] = Reply(answer) if isinstance(answer, bytes | str) else answer
        return self.url(host, path)

    def redirect(self, host: str, path: str, location: str, status: int = 302) -> str:
        """Let a path redirect; return its address."""
        return self.answer(host, path, Reply(status=status, headers={"Location": location}))

    def serve(self, host: str, folder: Path) -> list[str]:
        """Let a host answer with the files of a folder; return their addresses."""
        found = []
        for path in sorted(p for p in folder.iterdir() if p.is_file()):
            reply = file_reply(path)
            if reply.headers["Content-Type"].startswith("text/"):
                reply.headers["Content-Type"] += "; charset=utf-8"
            found.append(self.answer(host, f"/{path.name}", reply))
        return found

    def reply_to(self, handler: Handler, host: str) -> Reply:
        """Return the answer to a request; robots.txt and everything else that was not set is not found."""
        path = handler.path
        answer = self._answers.get((host, path)) or self._answers.get((host, unquote(path.partition("?")[0])))
        if answer is None:
            return Reply("not here", 404)
        return answer if isinstance(answer, Reply) else answer(handler)

    def note(self, visit: Visit) -> None:
        """Add to the log."""
        with self._lock:
            self._visits.append(visit)

    def visits(self, *hosts: str) -> list[Visit]:
        """Return the log, of some hosts or all, in the order in which the requests came."""
        with self._lock:
            return sorted((v for v in self._visits if not hosts or v.host in hosts), key=lambda v: v.start)

    def paths(self, *hosts: str) -> list[str]:
        """Return the paths that were asked for, in order."""
        return [visit.path for visit in self.visits(*hosts)]

    def hosts_setting(self) -> str:
        """Return the value of LEADLINE_RESOLVE_HOSTS that leads all hosts here."""
        return ",".join(f"{host}={LOOPBACK}" for host in sorted(self.hosts))

    def close(self) -> None:
        """Stop answering."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def gaps(visits: list[Visit]) -> list[float]:
    """Return the seconds from each request's arrival to the next one's."""
    return [later.start - earlier.start for earlier, later in pairwise(visits)]


def overlaps(visits: list[Visit]) -> int:
    """Count the requests that came while the one before them was still being answered."""
    return sum(later.start < earlier.end for earlier, later in pairwise(visits))


@contextmanager
def running_site(tls: SSLContext | None = None) -> Iterator[Site]:
    """Yield a site and stop it."""
    site = Site(tls)
    try:
        yield site
    finally:
        site.close()
