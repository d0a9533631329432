"""The real processes of a stack, started, killed and restarted by a test; every one ends with the test."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests

ROOT = Path(__file__).parents[2]
MODULES = {
    "gateway": "services.gateway.wsgi",
    "planner": "services.planner.worker",
    "fetcher": "services.fetcher.worker",
    "extractor": "services.extractor.worker",
    "synthesizer": "services.synthesizer.worker",
    "sweeper": "shared.sweeper_process",
}
DEADLINE_S = 60.0


def wait_until(condition: Callable[[], object], what: str, deadline_s: float = DEADLINE_S) -> None:
    """Wait until a condition holds; fail with its description after the deadline."""
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {deadline_s:.0f} s")
        time.sleep(0.05)


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Stack:
    """Processes by name; ``logs`` keeps what each wrote."""

    database_url: str
    redis_url: str
    logs: Path
    extra: dict[str, str] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    port: int = field(default_factory=free_port)

    @property
    def address(self) -> str:
        """The gateway's address."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, *names: str) -> None:
        """Start processes; a name may carry a number after a dash, for a second copy."""
        for name in names or MODULES:
            with (self.logs / f"{name}.log").open("ab") as log:
                self.processes[name] = subprocess.Popen(
                    [sys.executable, "-m", MODULES[name.partition("-")[0]]],
                    cwd=ROOT,
                    env=self._environment(),
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        if "gateway" in (names or MODULES):
            wait_until(self._ready, "the gateway answers")

    def kill(self, name: str) -> None:
        """End a process and its children with SIGKILL, as a crash would."""
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)

    def stop(self) -> None:
        """End everything, politely first."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)
        self.processes.clear()

    def log(self, name: str) -> str:
        """Return what a process wrote so far."""
        return (self.logs / f"{name}.log").read_text(errors="replace")

    def _ready(self) -> bool:
        try:
            return requests.get(f"{self.address}/readyz", timeout=2).status_code == 200
        except requests.RequestException:
            return False

    def _environment(self) -> dict[str, str]:
        ours = {
            "LEADLINE_DATABASE_URL": self.database_url,
            "LEADLINE_BROKER_URL": self.redis_url,
            "LEADLINE_REDIS_URL": self.redis_url,
            "LEADLINE_GATEWAY_PORT": str(self.port),
            "LEADLINE_HOME": str(self.logs),
            "LEADLINE_LEASE_SECONDS": "4",
            "LEADLINE_SWEEP_SECONDS": "0.3",
            "LEADLINE_STOP_GRACE_SECONDS": "3",
            "PYTHONPATH": str(ROOT),
        }
        return {**os.environ, **ours, **self.extra}


@contextmanager
def running_stack(database_url: str, redis_url: str, logs: Path, **extra: str) -> Iterator[Stack]:
    """Yield a started stack and end it."""
    stack = Stack(database_url, redis_url, logs, extra)
    try:
        stack.start()
        yield stack
    finally:
        stack.stop()
