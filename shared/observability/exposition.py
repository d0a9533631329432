"""A small HTTP server that shows the figures of a process that serves nothing else: ``/metrics`` and ``/healthz``."""

import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from shared.ports.observer import Exposition

CLIENT_TIMEOUT_S = 5.0
OK, SILENT = b'{"status": "ok"}', b'{"status": "silent"}'


class MetricsServer:
    """Listens on ``host`` and ``port`` (0 takes a free one) from a thread of its own; OSError when it cannot.

    ``alive`` is what ``/healthz`` answers by: 200, or 503 when the process does not do its work.
    """

    def __init__(self, exposition: Exposition, host: str, port: int, alive: Callable[[], bool] = lambda: True) -> None:
        self._server = _Server((host, port), exposition, alive)
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], exposition: Exposition, alive: Callable[[], bool]) -> None:
        self.exposition, self.alive = exposition, alive
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Take no notice of a client that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = CLIENT_TIMEOUT_S
    server_version = "leadline"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer."""
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(HTTPStatus.OK, self.server.exposition.media_type, self.server.exposition.text())
        elif path == "/healthz" and self.server.alive():
            self._answer(HTTPStatus.OK, "application/json", OK)
        elif path == "/healthz":
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "application/json", SILENT)
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"Here are /metrics and /healthz.\n")

    def _answer(self, status: HTTPStatus, media_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Write nothing: scrapes are frequent and tell nothing."""
