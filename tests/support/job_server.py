"""Providers of research jobs on loopback: real HTTP in the formats of Google's Interactions and OpenAI's Responses.

A job is started by a request, found running by so many looks, and then ends as `Script.mode` says. Everything that was
asked is counted, so that a test can require that a job was submitted exactly once.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JOB_KEY = "key-of-the-job-test-5d1e"
GOOGLE, OPENAI = "google", "openai"
GOOGLE_PATH, OPENAI_PATH = "/v1beta/interactions", "/v1/responses"
HUGE = 6_000_000
PATIENCE_S = 30.0


@dataclass(frozen=True)
class Said:
    """A sentence of a report, and the page that it is said to come from."""

    text: str
    url: str | None = None


@dataclass
class Script:
    """How jobs go. ``mode`` names what goes wrong, ``looks`` is how often one is found running before it ends.

    Submission: lost (the job runs, its answer never comes), submit-500, submit-400, submit-429, submit-junk, held
    (answers once `release` is set). Looking: look-500, look-junk, look-huge, look-429. Ending: failed, cancelled,
    incomplete, silent (no usage), empty. Cancelling: late (it ends all the same), done (it had ended before).
    """

    report: list[Said] = field(default_factory=list)
    mode: str = "ok"
    looks: int = 1
    looks_to_cancel: int = 1
    given: int = 120_000
    written: int = 9_000
    cached: int = 20_000
    release: threading.Event = field(default_factory=threading.Event)


@dataclass
class _Job:
    handle: str
    wire: str
    agent: str
    looks: int = 0
    cancelled_at: int | None = None


class JobServer:
    """Both providers at one address."""

    def __init__(self) -> None:
        self.script = Script()
        self.key = JOB_KEY
        self.asked: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.jobs: dict[str, _Job] = {}
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.provider = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """The root of the server, as Google's base URL is given."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """The base URL as OpenAI's is given."""
        return f"{self.address}/v1"

    def reset(self, script: Script) -> None:
        """Forget what was asked and go on with another script."""
        with self._lock:
            self.script, self.key = script, JOB_KEY
            self.asked.clear()
            self.bodies.clear()
            self.jobs.clear()

    def close(self) -> None:
        """Stop answering."""
        self.script.release.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    def submit(self, wire: str, body: dict[str, Any]) -> tuple[int, Any] | None:
        """Start a job; None: the connection is cut without an answer."""
        mode = self.script.mode
        with self._lock:
            self.asked["submit"] += 1
            self.bodies.append(body)
            if mode in ("submit-400", "submit-429"):
                return int(mode[-3:]), _error(wire, "Not like this.")
            handle = f"{'v1_' if wire == GOOGLE else 'resp_'}{len(self.jobs) + 1:08d}"
            job = _Job(handle, wire, str(body.get("agent") or body.get("model")))
            self.jobs[handle] = job
        if mode == "held":
            self.script.release.wait(PATIENCE_S)
        if mode == "lost":
            return None
        if mode == "submit-500":
            return 500, _error(wire, "Something broke.")
        return 200, ["junk"] if mode == "submit-junk" else self._object(job, "queued")

    def look(self, handle: str) -> tuple[int, Any]:
        """Tell how a job stands."""
        mode = self.script.mode
        with self._lock:
            self.asked["look"] += 1
            job = self.jobs.get(handle)
            if job is None:
                return 404, _error(GOOGLE, "There is no such job.")
            if mode in ("look-500", "look-429"):
                return int(mode[-3:]), _error(job.wire, "Not now.")
            if mode in ("look-junk", "look-huge"):
                return 200, "x" * (HUGE if mode == "look-huge" else 3)
            job.looks += 1
            return 200, self._object(job, self._status(job))

    def cancel(self, handle: str) -> tuple[int, Any]:
        """Take note that a job is to end; it is not cancelled before so many looks more."""
        with self._lock:
            self.asked["cancel"] += 1
            job = self.jobs.get(handle)
            if job is None:
                return 404, _error(GOOGLE, "There is no such job.")
            if self.script.mode == "done":
                return 400, _error(job.wire, "It has ended already.")
            job.cancelled_at = job.looks
            return 200, self._object(job, self._status(job))

    def _status(self, job: _Job) -> str:
        if job.cancelled_at is not None and self.script.mode != "late":
            return "cancelled" if job.looks >= job.cancelled_at + self.script.looks_to_cancel else "in_progress"
        if job.looks <= self.script.looks and self.script.mode != "done":
            return "in_progress"
        ends = {"failed": "failed", "cancelled": "cancelled", "incomplete": "incomplete"}
        return ends.get(self.script.mode, "completed")

    def _object(self, job: _Job, status: str) -> dict[str, Any]:
        ended = status in ("completed", "incomplete")
        report = self.script.report if ended and self.script.mode != "empty" else []
        usage = ended and self.script.mode != "silent"
        return (_interaction if job.wire == GOOGLE else _response)(job, status, report, self.script if usage else None)


def _interaction(job: _Job, status: str, report: list[Said], used: Script | None) -> dict[str, Any]:
    """Return a job as Google tells of it: citations name stretches in bytes."""
    text, notes = "# Report\n\n", []
    for said in report:
        start = len(text.encode())
        text += said.text
        if said.url is not None:
            end = len(text.encode())
            note = {"type": "url_citation", "url": said.url, "title": "a page", "start_index": start, "end_index": end}
            notes.append(note)
        text += " "
    searched = [{"type": "google_search_call", "id": f"c{n}", "arguments": {}} for n in range(job.looks)]
    output = {"type": "model_output", "content": [{"type": "text", "text": text, "annotations": notes}]}
    found: dict[str, Any] = {
        "id": job.handle,
        "object": "interaction",
        "agent": job.agent,
        "status": status,
        "created": "2026-01-01T00:00:00Z",
        "steps": [{"type": "thought", "summary": []}, *searched, *([output] if report else [])],
    }
    if used is not None:
        found["usage"] = {
            "total_input_tokens": used.given - 1000,
            "total_tool_use_tokens": 1000,
            "total_output_tokens": used.written - 500,
            "total_thought_tokens": 500,
            "total_cached_tokens": used.cached,
        }
    if status == "failed":
        found["errors"] = [{"code": "internal", "message": "The agent gave up."}]
    return found


def _response(job: _Job, status: str, report: list[Said], used: Script | None) -> dict[str, Any]:
    """Return a job as OpenAI tells of it: links in the text stand for citations."""
    text, notes = "# Report\n\n", []
    for said in report:
        text += said.text.rstrip(".")
        if said.url is not None:
            link = f" ([a page]({said.url}))"
            start = len(text) + 1
            text += link
            note = {"type": "url_citation", "url": said.url, "title": "a page"}
            notes.append({**note, "start_index": start, "end_index": len(text)})
        text += ". "
    searched = [{"type": "web_search_call", "id": f"ws_{n}", "status": "completed"} for n in range(job.looks)]
    part = {"type": "output_text", "text": text, "annotations": notes}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": job.handle,
        "object": "response",
        "model": f"{job.agent}-2026-04-01",
        "status": status,
        "background": True,
        "error": {"code": "server_error", "message": "The model gave up."} if status == "failed" else None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "output": [{"type": "reasoning", "id": "rs_1", "summary": []}, *searched, *([message] if report else [])],
        "usage": None
        if used is None
        else {
            "input_tokens": used.given,
            "input_tokens_details": {"cached_tokens": used.cached},
            "output_tokens": used.written,
            "output_tokens_details": {"reasoning_tokens": 500},
            "total_tokens": used.given + used.written,
        },
    }


def _error(wire: str, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "code": "internal" if wire == GOOGLE else "server_error"}}


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    provider: JobServer

    def handle_error(self, *_: object) -> None:
        """A client that goes away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def do_POST(self) -> None:
        """Start or cancel a job."""
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        wire, rest = self._place()
        if not self._may(wire):
            return
        if not rest:
            self._answer(self.server.provider.submit(wire, json.loads(data)))
        else:
            self._answer(self.server.provider.cancel(rest.removesuffix("/cancel")))

    def do_GET(self) -> None:
        """Tell how a job stands."""
        wire, rest = self._place()
        if self._may(wire):
            self._answer(self.server.provider.look(rest))

    def _place(self) -> tuple[str, str]:
        """Return whose format is spoken, and what stands after its path."""
        for wire, path in ((GOOGLE, GOOGLE_PATH), (OPENAI, OPENAI_PATH)):
            if self.path == path or self.path.startswith(f"{path}/"):
                return wire, self.path[len(path) + 1 :]
        return "", ""

    def _may(self, wire: str) -> bool:
        """Answer 404 or 401 to what is not for this server."""
        sent = {GOOGLE: self.headers.get("x-goog-api-key"), OPENAI: self.headers.get("Authorization")}.get(wire)
        wanted = self.server.provider.key if wire == GOOGLE else f"Bearer {self.server.provider.key}"
        if wire and sent == wanted:
            return True
        self._answer((401 if wire else 404, _error(wire, f"Incorrect API key provided: {sent}.")))
        return False

    def _answer(self, answer: tuple[int, Any] | None) -> None:
        self.close_connection = answer is None
        if answer is None:
            return
        status, found = answer
        body = found.encode() if isinstance(found, str) else json.dumps(found).encode()
        try:
            self.send_response(status)
            if status == 429:
                self.send_header("Retry-After", "7")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Write nothing to the console."""


@contextmanager
def job_server() -> Iterator[JobServer]:
    """Yield a server of jobs and stop it."""
    server = JobServer()
    try:
        yield server
    finally:
        server.close()
