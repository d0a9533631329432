"""One supervised process: started, watched, started again after a growing wait."""

import logging
import signal
import subprocess
import time
from collections.abc import Callable, Sequence

from infra.standalone import leftovers, system
from infra.standalone.errors import ServerError
from infra.standalone.restarts import next_delay
from infra.standalone.signals import Signals

logger = logging.getLogger("leadline.supervisor")

STOP_POLL_SECONDS = 0.05


class Child:
    """A process with a name and a way to launch it."""

    def __init__(self, name: str, launch: Callable[[], subprocess.Popen[bytes]], steps: system.Steps) -> None:
        """`steps` are the signals that end the process should the supervisor be killed."""
        self.name = name
        self.process: subprocess.Popen[bytes] | None = None
        self.last_status: int | None = None
        self.ends = 0
        self._launch = launch
        self._steps = steps
        self._started = 0.0
        self._delay = 0.0
        self._due = 0.0

    def start(self) -> None:
        """Launch the process; raises ServerError or OSError when that is not possible."""
        self._started = time.monotonic()
        self.process = self._launch()
        logger.info("%s runs as process %d", self.name, self.process.pid)

    def adopt(self, process: subprocess.Popen[bytes]) -> None:
        """Take over a process that was launched already."""
        self._started = time.monotonic()
        self.process = process

    def tend(self) -> bool:
        """Note the end of the process, or start it again when that is due; say whether anything changed."""
        now = time.monotonic()
        if self.process is not None:
            status = self.process.poll()
            if status is None:
                return False
            self._ended(status, now)
            return True
        if now < self._due:
            return False
        try:
            self.start()
        except (ServerError, OSError, subprocess.SubprocessError) as error:
            self._postpone(now)
            logger.warning("%s could not be started, next attempt in %.1f s: %s", self.name, self._delay, error)
        return True

    def pause(self) -> float:
        """Return the seconds until `tend` has something to do even if no process ends; infinite for a running one."""
        return float("inf") if self.process is not None else self._due - time.monotonic()

    def record(self) -> leftovers.Record | None:
        """Describe the process for whoever cleans up after a killed supervisor."""
        return leftovers.record(self.name, self.process.pid, self._steps) if self.process else None

    def _ended(self, status: int, now: float) -> None:
        pid = self.process.pid if self.process else 0
        self.process = None
        self.last_status = status
        self.ends += 1
        system.send(pid, signal.SIGKILL, group=True)  # what the process itself had started
        self._postpone(now)
        logger.warning("%s ended with status %d, next start in %.1f s", self.name, status, self._delay)

    def _postpone(self, now: float) -> None:
        self._delay = next_delay(self._delay, now - self._started)
        self._due = now + self._delay


def tend_all(children: Sequence[Child]) -> bool:
    """Tend every child; say whether anything changed."""
    changed = [child.tend() for child in children]
    return any(changed)


def stop_all(children: Sequence[Child], seconds: float, signals: Signals) -> None:
    """Ask all processes to stop at once, and kill with their groups those that have not within `seconds`."""
    running = [child.process for child in children if child.process is not None]
    for process in running:
        process.terminate()
    deadline = time.monotonic() + seconds
    while any(process.poll() is None for process in running) and time.monotonic() < deadline:
        signals.wait(STOP_POLL_SECONDS)
    for child in children:
        if child.process is not None:
            if child.process.poll() is None:
                logger.warning("%s did not stop within %.0f s and is killed", child.name, seconds)
            system.send(child.process.pid, signal.SIGKILL, group=True)
            child.process.wait()
            child.process = None
