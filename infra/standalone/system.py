"""What the operating system knows about processes and ports, and how a child is made to die with its parent."""

import contextlib
import ctypes
import functools
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
PR_SET_PDEATHSIG = 1
LOOPBACK = "127.0.0.1"
POLL_SECONDS = 0.01
SERVER_PORTS = range(20_000, 32_768)
PORTS_TRIED = 100
LARGEST_LOG = 10 * 1024 * 1024

Steps = Sequence[tuple[int, float]]
"""Signals to send in turn, each with the seconds to wait before the next."""


@dataclass(frozen=True, slots=True)
class Account:
    """The account a server runs under when the caller is root."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Command:
    """One process to start: its arguments, its whole environment, and where its output goes."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    log: Path
    account: Account | None = None
    death_signal: int = signal.SIGKILL


def spawn(command: Command) -> subprocess.Popen[bytes]:
    """Start `command` in a process group of its own; on Linux it gets its death signal when this process dies."""
    account = command.account
    rotate(command.log)
    output = os.open(command.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        return subprocess.Popen(
            command.argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(command.environment),
            cwd=command.folder,
            process_group=0,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
            preexec_fn=dying_with_parent(command.death_signal),  # noqa: PLW1509 - two system calls, no lock taken
        )
    finally:
        os.close(output)


def dying_with_parent(death_signal: int) -> Callable[[], None] | None:
    """Return what a forked child runs before exec to get this signal when its parent dies; None but on Linux.

    The kernel ties it to the forking thread: fork in one that lives as long as the process. Python calls it after the
    change of user, which would clear it. See prctl(2), PR_SET_PDEATHSIG.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def arm() -> None:
        prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)  # the parent died before the signal was armed

    return arm


def rotate(log: Path, largest: int = LARGEST_LOG) -> None:
    """Move a log of more than `largest` bytes to `<log>.1`, in place of the one before."""
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > largest:
            log.replace(log.with_name(f"{log.name}.1"))


def birth(pid: int) -> str | None:
    """Return what tells this process from any other that ever had its number; None when it is gone or a zombie.

    Linux: boot identifier and start time in clock ticks (proc(5), field 22). Elsewhere: `ps` start time and command.
    """
    if not PROC.joinpath("self", "stat").exists():
        return _birth_by_ps(pid)
    try:
        stat = PROC.joinpath(str(pid), "stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else f"{boot_id()}:{fields[18]}"


def _birth_by_ps(pid: int) -> str | None:
    """The same for systems without /proc."""
    shown = subprocess.run(
        ["ps", "-o", "stat=,lstart=,command=", "-p", str(pid)], capture_output=True, text=True, timeout=10, check=False
    ).stdout.strip()
    state, _, rest = shown.partition(" ")
    return None if not state or state.startswith("Z") else f"{boot_id()}:{rest.strip()}"


@functools.cache
def boot_id() -> str:
    """Return what changes with every start of the machine, empty where the system does not tell."""
    try:
        return PROC.joinpath("sys", "kernel", "random", "boot_id").read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""


def command_line(pid: int) -> str:
    """Return the arguments of a process joined by spaces, empty when it is gone."""
    if not PROC.joinpath("self", "stat").exists():
        return subprocess.run(
            ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, timeout=10, check=False
        ).stdout.strip()
    try:
        raw = PROC.joinpath(str(pid), "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return raw.rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")


def processes_in(folder: Path) -> list[int]:
    """Return the live processes whose working folder is `folder`; empty where the system has no /proc."""
    found = []
    for entry in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone meanwhile, or another user's
            if entry.joinpath("cwd").readlink() == folder and birth(int(entry.name)) is not None:
                found.append(int(entry.name))
    return found


def send(pid: int, number: int, *, group: bool = False) -> None:
    """Send a signal to a process, or to the process group it leads; one that is gone is no error."""
    with contextlib.suppress(ProcessLookupError):
        if group:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)


def poll_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until `condition` holds; False when it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def end_process(pid: int, steps: Steps) -> bool:
    """Send each signal in turn and wait its number of seconds for the process to be gone; False if it outlives all."""
    for number, seconds in steps:
        send(pid, number)
        if poll_until(lambda: birth(pid) is None, seconds):
            return True
    return False


def free_port(host: str = LOOPBACK) -> int:
    """Return a port that nobody listened on at this address a moment ago.

    It is drawn from those that Linux, unless told otherwise, gives to no outgoing connection: one of these could take
    it while its server restarts.
    """
    for port in random.SystemRandom().sample(SERVER_PORTS, PORTS_TRIED):
        if port_is_free(port, host):
            return port
    with _tcp_socket(host) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def port_is_free(port: int, host: str = LOOPBACK) -> bool:
    """Say whether a server could listen on this port of the address now."""
    with _tcp_socket(host) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _tcp_socket(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
