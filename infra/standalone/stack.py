"""Start, join, leave and stop the stack of a home: what the command line calls.

Three locks in the home's `run` folder keep commands that run at once apart:
supervisor.lock   exclusive, for the life of a supervisor (and of its guard): there is at most one
start.lock        exclusive, while a command starts, joins, leaves or stops the stack
users.lock        shared, by each command that uses the stack; whoever can have it exclusively knows that nobody does
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from infra.standalone import system
from infra.standalone.errors import LockTimeoutError, StackError, StandaloneError
from infra.standalone.files import PRIVATE_FILE, FileLock, is_locked, locked
from infra.standalone.home import Home
from infra.standalone.info import StackInfo, owner, read_info
from infra.standalone.plan import Mode, Plan, StackSettings, plan_from_settings, python_environment
from infra.standalone.processes import SERVICES, ProcessTable
from shared.config.settings import environment

Progress = Callable[[str], None]
"""Takes one sentence about what is being done."""

SUPERVISOR_LOG = "supervisor"
LOCK_SECONDS = 180.0
START_SECONDS = 900.0
STOP_SECONDS = 90.0
STOP_STEPS: system.Steps = ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, 30.0))


def running(home: Home) -> StackInfo | None:
    """Return the ready stack of this home, or None."""
    return read_info(home)


def start(
    home: Home, settings: StackSettings, mode: Mode, progress: Progress, table: ProcessTable = SERVICES
) -> StackInfo:
    """Return the stack of this home, started if need be; mode `up` makes a shared stack stay.

    Raises StackError with one sentence that names the log to read.
    """
    plan = plan_from_settings(home, settings, mode, environment(), table)
    with _as_stack_error(home):
        home.create()
        with locked(home.start_lock, LOCK_SECONDS), locked(home.users_lock, LOCK_SECONDS, shared=True):
            return _join_or_start(plan, progress)


def stop(home: Home) -> bool:
    """Take the stack of this home down and wait until all its processes are gone; False when nothing ran."""
    if not home.run.is_dir():
        return False
    with _as_stack_error(home), locked(home.start_lock, LOCK_SECONDS):
        if not is_locked(home.supervisor_lock):
            return False
        _end(home)
        return True


@contextlib.contextmanager
def using(
    home: Home, settings: StackSettings, progress: Progress, table: ProcessTable = SERVICES
) -> Iterator[StackInfo]:
    """Yield a stack that stays for the block: the running one, or one that ends with its last user.

    Raises StackError like `start`. A user that is killed leaves too: the kernel gives its lock back, and the supervisor
    looks every second whether anybody is left.
    """
    plan = plan_from_settings(home, settings, "shared", environment(), table)
    with _as_stack_error(home):
        home.create()
        users = FileLock(home.users_lock)
    try:
        with _as_stack_error(home), locked(home.start_lock, LOCK_SECONDS):
            users.acquire(LOCK_SECONDS, shared=True)
            info = _join_or_start(plan, progress)
        yield info
    finally:
        _leave(home, users)


def _leave(home: Home, users: FileLock) -> None:
    """Give up the user's lock, and take a shared stack down if nobody else uses it."""
    try:
        # Whoever cannot get in here in time leaves the rest to the supervisor.
        with contextlib.suppress(LockTimeoutError), locked(home.start_lock, LOCK_SECONDS):
            info = running(home)
            if users.attempt() and info is not None and info.mode == "shared":
                _end(home)
    finally:
        users.close()


def _join_or_start(plan: Plan, progress: Progress) -> StackInfo:
    """Return the running stack or start one; the caller holds start.lock, and users.lock shared."""
    home = plan.home
    if running(home) is None and is_locked(home.supervisor_lock):
        progress("Waiting for the stack that is starting or stopping")
        system.poll_until(lambda: running(home) is not None or not is_locked(home.supervisor_lock), STOP_SECONDS)
    info = running(home)
    if info is None:
        _start_supervisor(plan, progress)
        info = running(home)
    if info is None:
        raise StackError(f"The stack ended as soon as it was ready: see {home.log(SUPERVISOR_LOG)}.")
    if plan.mode == "up" and info.mode == "shared":
        home.keep_up_marker.touch(mode=PRIVATE_FILE)
        return replace(info, mode="up")
    return info


def _start_supervisor(plan: Plan, progress: Progress) -> None:
    """Start a detached supervisor and return when its stack is ready.

    On any other way out it stops, by itself because nobody reads its reports any more; if possible this waits for it.
    """
    home = plan.home
    log = home.log(SUPERVISOR_LOG)
    system.rotate(log)
    reports, report = os.pipe()
    pid = None
    try:
        output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE_FILE)
        try:
            detaching = subprocess.Popen(
                [sys.executable, "-m", "infra.standalone.supervisor", "--report", str(report)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                pass_fds=(report,),
                env=python_environment(plan.environment),
                cwd=home.path,
                start_new_session=True,
            )
        finally:
            os.close(output)
            os.close(report)
        with contextlib.suppress(BrokenPipeError), detaching:
            if detaching.stdin is not None:
                detaching.stdin.write(plan.to_json().encode())
        for kind, text in _lines(reports, START_SECONDS):
            if kind == "pid":
                pid = int(text)
            elif kind == "progress":
                progress(text)
            elif kind == "ready":
                pid = None  # nothing to stop
                return
            else:
                raise StackError(text)
        raise StackError(f"The stack could not be started: see {log}.")
    finally:
        os.close(reports)
        if pid is not None:
            system.end_process(pid, STOP_STEPS)


def _lines(reports: int, seconds: float) -> Iterator[tuple[str, str]]:
    """Yield what the supervisor reports until it closes the pipe or the time is over."""
    deadline = time.monotonic() + seconds
    pending = b""
    while select.select([reports], [], [], max(deadline - time.monotonic(), 0.0))[0]:
        part = os.read(reports, 65536)
        if not part:
            return
        *lines, pending = (pending + part).split(b"\n")
        for line in lines:
            message = json.loads(line)
            yield message["kind"], message["text"]


def _end(home: Home) -> None:
    """Stop the supervisor and wait for it and its lock, which it or its guard keeps until all processes are gone."""
    pid = owner(home)

    def gone() -> bool:
        return not is_locked(home.supervisor_lock) and (pid is None or system.birth(pid) is None)

    for number, seconds in STOP_STEPS:
        if pid is not None:
            system.send(pid, number)
        if system.poll_until(gone, seconds):
            return
    raise StackError(f"The stack did not stop: see {home.log(SUPERVISOR_LOG)}.")


@contextlib.contextmanager
def _as_stack_error(home: Home) -> Iterator[None]:
    """Raise what goes wrong inside as StackError."""
    try:
        yield
    except StandaloneError as error:
        raise error if isinstance(error, StackError) else StackError(str(error)) from error
    except OSError as error:
        raise StackError(
            f"The folder {home.path} cannot be used ({error}): set LEADLINE_HOME to a folder that you can write to."
        ) from error
