"""The real processes of a stack, started, killed and restarted by a test; every one ends with the test."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import requests

from infra.standalone.system import free_port
from tests.support.brokers import broker_for

ROOT = Path(__file__).parents[2]
MODULES = {
    "gateway": "services.gateway.wsgi",
    "planner": "services.planner.worker",
    "fetcher": "services.fetcher.worker",
    "extractor": "services.extractor.worker",
    "synthesizer": "services.synthesizer.worker",
    "sweeper": "shared.sweeper_process",
}
WORKERS = ("planner", "fetcher", "extractor", "synthesizer")
"""The processes that take steps."""
DEADLINE_S = 60.0


def wait_until(condition: Callable[[], object], what: str, deadline_s: float = DEADLINE_S) -> None:
    """Wait until a condition holds; fail with its description after the deadline."""
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {deadline_s:.0f} s")
        time.sleep(0.05)


class Process(Protocol):
    """A process that was started, as `subprocess.Popen` has it."""

    @property
    def pid(self) -> int:
        """Its number, which is also that of its process group."""
        ...

    def poll(self) -> int | None:
        """Return None while it lives."""
        ...

    def wait(self, timeout: float) -> int:
        """Wait until it has ended."""
        ...

    def send_signal(self, number: int) -> None:
        """Send a signal to it alone."""
        ...

    def terminate(self) -> None:
        """Ask it to end."""
        ...


def launch(module: str, environment: Mapping[str, str], log: Path) -> Process:
    """Run a module as a program in a process group of its own."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


@dataclass
class Stack:
    """Processes by name; ``logs`` keeps what each wrote, ``launch`` starts one."""

    database_url: str
    redis_url: str
    logs: Path
    extra: dict[str, str] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    launch: Callable[[str, Mapping[str, str], Path], Process] = launch
    ports: dict[str, int] = field(default_factory=dict)
    """Ports of further gateways."""
    broker_url: str = ""
    """What wake-ups go through; `tests.support.brokers` chooses it when none is given."""

    def __post_init__(self) -> None:
        """Settle the broker."""
        self.broker_url = self.broker_url or broker_for(self.redis_url)

    @property
    def address(self) -> str:
        """The gateway's address."""
        return self.address_of("gateway")

    def address_of(self, gateway: str) -> str:
        """Return the address of one of several gateways."""
        return f"http://127.0.0.1:{self._port_of(gateway)}"

    def start(self, *names: str, module: str | None = None, **environment: str) -> None:
        """Start processes; a name may carry a number after a dash, for a second copy.

        ``module`` takes the place of the one that the name stands for; ``environment`` is added to what all have.
        """
        for name in names or MODULES:
            self.begin(name, module=module, **environment)
        for name in names or MODULES:
            if name.startswith("gateway"):
                wait_until(lambda gateway=name: self._ready(gateway), f"the {name} answers")  # type: ignore[misc]

    def begin(self, name: str, module: str | None = None, **environment: str) -> None:
        """Start one process, in the place of one of its name that is gone, and do not wait for it."""
        own = {**self._environment(), "LEADLINE_GATEWAY_PORT": str(self._port_of(name)), **environment}
        runs = module or MODULES[name.partition("-")[0]]
        self.processes[name] = self.launch(runs, own, self.logs / f"{name}.log")

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

    def _port_of(self, name: str) -> int:
        return self.ports.setdefault(name, free_port()) if name.startswith("gateway-") else self.port

    def _ready(self, gateway: str) -> bool:
        try:
            return requests.get(f"{self.address_of(gateway)}/readyz", timeout=2).status_code == 200
        except requests.RequestException:
            return False

    def _environment(self) -> dict[str, str]:
        ours = {
            "LEADLINE_DATABASE_URL": self.database_url,
            "LEADLINE_BROKER_URL": self.broker_url,
            "LEADLINE_REDIS_URL": self.redis_url,
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
