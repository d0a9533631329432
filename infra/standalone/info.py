"""What a stack says about itself: the ready one in `run/stack.json`, its supervisor in `run/supervisor.lock`."""

import json
import os
from dataclasses import asdict, dataclass, field, replace

from infra.standalone import files, system
from infra.standalone.home import Home
from infra.standalone.plan import Mode


@dataclass(frozen=True, slots=True)
class StackInfo:
    """A ready stack: how to reach it, and the process identifiers (by name) of which it consists."""

    pid: int
    mode: Mode
    address: str
    started_at: str
    version: str
    processes: dict[str, int]
    database_url: str = field(repr=False)
    broker_url: str = field(repr=False)
    redis_url: str = field(repr=False)


def write_info(home: Home, info: StackInfo) -> None:
    """Replace the state file, 0600 because the URLs hold passwords."""
    files.write_private_json(home.state, asdict(info))


def read_info(home: Home) -> StackInfo | None:
    """Return the stack of this home if it is ready and its supervisor runs, else None."""
    value = files.read_json(home.state)
    if value is None or value["pid"] != owner(home):
        return None  # the file of one that was killed
    info = StackInfo(**value)
    return replace(info, mode="up") if home.keep_up_marker.exists() else info


def write_owner(lock: files.FileLock) -> None:
    """Write into the supervisor's lock, which this process holds, who it is."""
    lock.write(json.dumps({"pid": os.getpid(), "birth": system.birth(os.getpid())}))


def owner(home: Home) -> int | None:
    """Return the process identifier of the live supervisor of this home, None when there is none."""
    if not files.is_locked(home.supervisor_lock):
        return None
    value = files.read_json(home.supervisor_lock)
    if value is None or system.birth(value["pid"]) != value["birth"]:
        return None  # a guard is still at work, or a supervisor has only just begun
    return int(value["pid"])
