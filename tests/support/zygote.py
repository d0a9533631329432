"""A process that has imported everything and forks the processes of a stack, so that a restart takes no seconds.

Importing a worker's modules takes more than a second of processor time. A test that kills a process every quarter of a
second would measure imports on a small machine, and nothing else. What is forked here runs the same entry modules in
the same way as ``python -m`` does, down to the end of the interpreter.
"""

import contextlib
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PRELOADED = (
    "celery.apps.worker",
    "celery.bin.worker",
    "celery.concurrency.thread",
    "celery.worker.worker",
    "granian",
    "kombu.transport.redis",
    "psycopg",
    "sqlalchemy.dialects.postgresql.psycopg",
    "services.extractor.tasks",
    "services.fetcher.tasks",
    "services.planner.tasks",
    "services.synthesizer.tasks",
    "services.gateway.app",
    "shared.bootstrap",
)
POLL_S = 0.01


@dataclass(frozen=True)
class Forked:
    """A process that a zygote has forked, handled as those of `subprocess` are; its exit code is not known."""

    pid: int

    def poll(self) -> int | None:
        """Return None while the process lives."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self, timeout: float) -> int:
        """Wait until the process is gone; raise `subprocess.TimeoutExpired`."""
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            time.sleep(POLL_S)
        return 0

    def send_signal(self, number: int) -> None:
        """Send a signal; a process that is gone is no error."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)


class Zygote:
    """The process that forks; `launch` may be given to a `Stack`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process, self._lock = process, threading.Lock()

    def launch(self, module: str, environment: Mapping[str, str], log: Path) -> Forked:
        """Run a module as a program in a process group of its own."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {"module": module, "environment": dict(environment), "log": str(log)}
        with self._lock:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            return Forked(int(self._process.stdout.readline()))


@contextmanager
def running_zygote() -> Iterator[Zygote]:
    """Yield a zygote; what it has forked and still runs ends with it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.zygote"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Zygote(process)
    finally:
        process.communicate(timeout=60)


def main() -> None:
    """Fork a process for each line of the standard input; in a fork, return from here what is to be run."""
    for name in PRELOADED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks that end leave no zombie
    forked: list[int] = []
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(order)
            runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
            return
        forked.append(pid)
        print(pid, flush=True)  # noqa: T201
    for pid in forked:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def _become(order: Mapping[str, Any]) -> None:
    """Turn a fork into what a fresh process of this kind would be."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for ours, number in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(ours, number)
    os.closerange(3, 256)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - what was read ahead belongs to the zygote
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = [order["module"]]


if __name__ == "__main__":
    main()
