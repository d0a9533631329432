"""Private files, written whole or not at all, and advisory locks."""

import contextlib
import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infra.standalone.errors import LockTimeoutError

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
LOCK_POLL_SECONDS = 0.02


def private_folder(path: Path) -> None:
    """Make `path` and its missing parents; `path` itself gets mode 0700 if it is new."""
    if path.is_dir():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=PRIVATE_FOLDER)


def write_private(path: Path, text: str) -> None:
    """Replace `path` by a file of mode 0600 with this text; a reader sees the old or the new text, never a part."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def write_private_json(path: Path, value: Any) -> None:
    """Replace `path` by `value` as JSON, mode 0600."""
    write_private(path, json.dumps(value, indent=1))


def read_json(path: Path) -> Any | None:
    """Return the JSON value in `path`, or None when the file is absent or not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


class FileLock:
    """An advisory lock (flock(2)) on a file; the kernel releases it when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)

    def attempt(self, *, shared: bool = False) -> bool:
        """Take the lock, or change the one held, without waiting; False when somebody else holds it.

        A failed change from shared to exclusive may lose the shared lock: see flock(2).
        """
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def acquire(self, seconds: float, *, shared: bool = False) -> None:
        """Take the lock within `seconds`; raises LockTimeoutError."""
        deadline = time.monotonic() + seconds
        while not self.attempt(shared=shared):
            if time.monotonic() > deadline:
                raise LockTimeoutError(
                    f"Another Leadline process has held {self._path} for more than {seconds:.0f} seconds: "
                    "wait until it is done, or end it, and try again."
                )
            time.sleep(LOCK_POLL_SECONDS)

    def write(self, text: str) -> None:
        """Replace what is in the file, for others to read."""
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text.encode(), 0)

    def release(self) -> None:
        """Give the lock back; it may be taken again."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file, which gives the lock back unless a forked process holds the same open file."""
        os.close(self._descriptor)


@contextlib.contextmanager
def locked(path: Path, seconds: float, *, shared: bool = False) -> Iterator[FileLock]:
    """Hold the lock on `path` inside the block; raises LockTimeoutError when it is not to be had."""
    lock = FileLock(path)
    try:
        lock.acquire(seconds, shared=shared)
        yield lock
    finally:
        lock.close()


def is_locked(path: Path) -> bool:
    """Say whether another process holds `path` exclusively."""
    if not path.exists():
        return False
    lock = FileLock(path)
    try:
        return not lock.attempt(shared=True)
    finally:
        lock.close()
