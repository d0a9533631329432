"""A gateway process over in-memory ports, and routes by which a test moves its runs along.

``python -m tests.support.fake_gateway`` serves it exactly as the real one is served.
"""

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
from flask import Flask, Response, request

from services.gateway import wsgi
from services.gateway.app import create_app
from services.gateway.deps import Limits
from shared.config.settings import load_settings
from shared.domain.ids import RunId
from shared.domain.states import RunStatus
from tests.fakes.gateway import Desk, fake_deps

PROJECT = Path(__file__).parents[2]
PING_S = 0.2
QUEUED_EVENTS = 50
ENDING = "LEADLINE_FAKE_ENDING"
"""Names the environment variable with the status and stop reason to which approved runs go, such as `failed:poison`."""


def application() -> Flask:
    """Compose the application in a worker of granian."""
    status, _, reason = os.environ.get(ENDING, "").partition(":")
    desk = Desk(ending=(RunStatus(status), reason) if status else None, unreadable=("scan.pdf",))
    limits = Limits(
        ping_s=PING_S,
        poll_s=PING_S,
        queued_events=QUEUED_EVENTS,
        max_streams=wsgi.limits_of(load_settings()).max_streams,
    )
    app = create_app(fake_deps(desk, limits))
    add_levers(app, desk)
    return app


def add_levers(app: Flask, desk: Desk) -> None:
    """Add routes by which a test changes what the gateway sees."""

    @app.post("/test/happen")
    def happen() -> Response:
        body = request.get_json()
        for _ in range(body.get("times", 1)):
            desk.happen(RunId(body["run_id"]), "progress", **body.get("payload", {}))
        return Response(status=204)

    @app.post("/test/end")
    def end() -> Response:
        body = request.get_json()
        desk.end(RunId(body["run_id"]), RunStatus(body["status"]), body["stop_reason"])
        return Response(status=204)

    @app.post("/test/down")
    def down() -> Response:
        desk.down = bool(request.get_json()["down"])
        return Response(status=204)


@dataclass(frozen=True, slots=True)
class FakeGateway:
    """A running process."""

    address: str
    process: subprocess.Popen[str]

    def pull(self, lever: str, **body: Any) -> None:
        """Change something in the process."""
        requests.post(f"{self.address}/test/{lever}", json=body, timeout=10).raise_for_status()

    def streams(self) -> int:
        """Return how many event streams are open."""
        return int(requests.get(f"{self.address}/healthz", timeout=10).json()["streams"])


@contextlib.contextmanager
def fake_gateway(**environment: str) -> Iterator[FakeGateway]:
    """Yield a process that is ended afterwards."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LEADLINE_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.fake_gateway"],
        env={**inherited, **environment},
        cwd=PROJECT,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.stderr.read()
        _wait_for(found[0], process)
        yield FakeGateway(found[0], process)
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
        process.stderr.close()


def _wait_for(address: str, process: subprocess.Popen[str]) -> None:
    """Return when the gateway answers."""
    deadline = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(requests.ConnectionError):
            if requests.get(f"{address}/readyz", timeout=5).ok:
                return
        time.sleep(0.02)
    raise AssertionError("the gateway did not start")


if __name__ == "__main__":
    sys.exit(wsgi.serve(load_settings(), "tests.support.fake_gateway:application"))
