"""A stack of tiny processes in place of the services: for tests of what starts, watches and stops them."""

import os
import signal
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from infra.standalone import system
from infra.standalone.home import Home
from infra.standalone.processes import GATEWAY, ProcessRow, ProcessTable

GATEWAY_CODE = """
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/readyz" else 404)
        self.end_headers()
    def log_message(self, *args):
        return None
host, port = os.environ["LEADLINE_GATEWAY_HOST"], int(os.environ["LEADLINE_GATEWAY_PORT"])
http.server.ThreadingHTTPServer((host, port), Handler).serve_forever()
"""
# A worker writes down its environment and its own child, which takes no notice of a polite request to stop.
WORKER_CODE = """
import json, os, pathlib, subprocess, sys, time
home = pathlib.Path(os.environ["LEADLINE_HOME"])
stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", stubborn])
facts = {"pid": os.getpid(), "child": child.pid, "environment": dict(os.environ)}
draft = home / f"worker-{os.getpid()}.new"
draft.write_text(json.dumps(facts))
draft.rename(home / f"worker-{os.getpid()}.json")
time.sleep(600)
"""
STUBBORN_CODE = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
IDLE_SECONDS = 1.0
WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret setting."""

    value: str

    def get_secret_value(self) -> str:
        """Return it."""
        return self.value


@dataclass(frozen=True, slots=True)
class StackSettings:
    """The settings of the stack as a whole. The supervisor adds ten seconds to the grace: half a second remains."""

    database_url: Secret | None = None
    broker_url: Secret | None = None
    redis_url: Secret | None = None
    gateway_host: str = "127.0.0.1"
    gateway_port: int = 0
    stop_grace_seconds: float = -9.5


BARE = StackSettings(Secret("postgresql://db"), Secret("redis://broker"), Secret("redis://redis"))
"""With every server named none is started: for tests of the stack that need no database."""


def python(code: str) -> tuple[str, ...]:
    """Return the arguments that run a piece of Python."""
    return (sys.executable, "-c", code)


def table(*more: ProcessRow, gateway: str = GATEWAY_CODE, migrate: str = "", ready: float = 20.0) -> ProcessTable:
    """Return a table with a gateway, one worker and `more`."""
    services = (ProcessRow(GATEWAY, python(gateway)), ProcessRow("worker", python(WORKER_CODE)), *more)
    return ProcessTable(python(migrate), services, ready_seconds=ready, idle_seconds=IDLE_SECONDS)


def eventually(condition: Callable[[], bool], seconds: float = WAIT_SECONDS) -> None:
    """Wait until the condition holds; fails when it does not in time."""
    assert system.poll_until(condition, seconds), "the condition did not come true in time"


def answers(address: str) -> bool:
    """Say whether the gateway answers that it is ready."""
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def processes_of(home: Home) -> list[str]:
    """Return the command lines of all live processes that name the home in their arguments or environment."""
    found = []
    wanted = os.fsencode(home.path)
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            told = entry.joinpath("cmdline").read_bytes() + entry.joinpath("environ").read_bytes()
            inside = entry.joinpath("cwd").readlink().is_relative_to(home.path)
        except OSError:
            continue
        if (wanted in told or inside) and int(entry.name) != os.getpid() and system.birth(int(entry.name)):
            found.append(f"{entry.name} {system.command_line(int(entry.name))}")
    return found


def kill(pid: int) -> None:
    """Kill -9."""
    os.kill(pid, signal.SIGKILL)


def wait_for_log(home: Home, name: str, text: str) -> None:
    """Wait until a log holds a text."""
    log = home.log(name)
    eventually(lambda: log.exists() and text in log.read_text(encoding="utf-8"))


def now() -> float:
    """Return seconds on a clock that only goes forward."""
    return time.monotonic()
