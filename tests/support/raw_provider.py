"""A provider on loopback that answers with the bodies that a test gives it, one for each call."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

GOOD = {
    "id": "c1",
    "object": "chat.completion",
    "created": 0,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": '{"claim": "x"}'}}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
}
"""An answer in OpenAI's format."""


@dataclass
class RawProvider:
    """A running server; ``asked`` holds the bodies that came, the last one of ``answers`` is given for ever."""

    base_url: str
    answers: list[tuple[int, Any]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def give(self, *answers: tuple[int, Any]) -> None:
        """Answer with these from now on."""
        self.answers, self.asked = list(answers), []


@contextmanager
def raw_provider(answers: Sequence[tuple[int, Any]] = ()) -> Iterator[RawProvider]:
    """Yield a server that is stopped afterwards."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Stay silent."""

        def do_POST(self) -> None:
            """Give the next answer."""
            told.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            status, body = told.answers.pop(0) if len(told.answers) > 1 else told.answers[0]
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    told = RawProvider(f"http://127.0.0.1:{http.server_port}/v1", list(answers))
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), name="raw-provider")
    thread.start()
    try:
        yield told
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
