"""The record of a supervisor's processes, and how they are ended when the supervisor was killed.

Three things see to it that nothing outlives a killed supervisor: the death signal of each process (Linux, see
`system.spawn`), the guard (a forked process that acts when the supervisor is gone), and the next start on that home.
"""

import os
import signal
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from infra.standalone import files, system

GONE_SECONDS = 10.0
SERVICE_STEPS: system.Steps = ((signal.SIGKILL, 0.0),)


@dataclass(frozen=True, slots=True)
class Record:
    """One process that leads a group of its own: how to recognize it, and the signals that end it."""

    name: str
    pid: int
    birth: str
    steps: system.Steps


def record(name: str, pid: int, steps: system.Steps) -> Record | None:
    """Describe a running process; None when it is gone already."""
    birth = system.birth(pid)
    return Record(name, pid, birth, steps) if birth else None


def write(path: Path, records: Iterable[Record]) -> None:
    """Replace the record of the processes."""
    files.write_private_json(path, {"boot": system.boot_id(), "children": [asdict(each) for each in records]})


def end(path: Path) -> list[str]:
    """End every recorded process that still runs, with its group, and remove the record; return what was ended.

    A number that belongs to another process by now, or was recorded before the machine started, is left alone.
    """
    kept = files.read_json(path) or {}
    if kept.get("boot") != system.boot_id():
        path.unlink(missing_ok=True)
        return []
    records = [Record(**each) for each in kept.get("children", ())]
    ours = [each for each in records if system.birth(each.pid) in (None, each.birth)]
    running = [each for each in ours if system.birth(each.pid)]
    for each in sorted(ours, key=lambda one: len(one.steps)):  # services before the servers they use
        system.end_process(each.pid, each.steps)
        system.send(each.pid, signal.SIGKILL, group=True)
    system.poll_until(lambda: not any(system.birth(each.pid) for each in running), GONE_SECONDS)
    path.unlink(missing_ok=True)
    return [each.name for each in running]


class Guard:
    """A forked process that waits for the end of the supervisor and ends what it left behind.

    It shares the supervisor's lock, so no other supervisor starts on the home before it is done.
    """

    def __init__(self, path: Path, foreign: Sequence[int]) -> None:
        """Fork; `path` is the record of the processes, `foreign` are open files that the guard must not keep."""
        watched, self._kept_open = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _guard(path, watched, [self._kept_open, *foreign])
        os.close(watched)

    def dismiss(self) -> None:
        """End the guard: the supervisor has cleaned up itself."""
        system.send(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._kept_open)


def _guard(path: Path, watched: int, foreign: Sequence[int]) -> None:
    """Run in the forked process; does not return."""
    status = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for descriptor in foreign:
            os.close(descriptor)
        os.read(watched, 1)  # nothing is ever written: returns when the supervisor is gone
        ended = end(path)
        sys.stderr.write(f"The supervisor was killed; ended {', '.join(ended) or 'nothing'}.\n")
        sys.stderr.flush()
        status = 0
    finally:
        os._exit(status)
