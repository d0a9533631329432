"""Makes `.venv` and installs exactly what a lock file names; run by the launcher with the system's Python.

    python -I installer.py PROJECT LOCKFILE

Standard library only, and no import from the project: nothing is installed yet. In `.venv`:
leadline.lock         locked (flock) by the call that installs, and by the pip it started: others wait
leadline.unfinished   there while an installation goes on; found by the next one, `.venv` is made anew
leadline-install.log  what pip said
<lock file>           copy of the lock file that is completely installed
"""

import contextlib
import fcntl
import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

RUNTIME_LOCK = "requirements.lock"
KEPT = {"leadline.lock", "leadline-install.log"}
POLL_SECONDS = 0.2
REQUIREMENT = re.compile(r"\(line (\d+)\)")  # pip names the line of the requirement it is working on
PLAIN_STEP = 10
SHOWN_LINES = 15
USABLE = "import sys, pip; sys.exit(sys.version_info < (3, 11))"


class InstallError(Exception):
    """The installation did not succeed; the message is one sentence."""


class Progress:
    """One line that is overwritten on a terminal, a line now and then elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        """Write to `stream`."""
        self._stream = stream
        self._terminal = stream.isatty()
        self._shown = ""
        self._last = -PLAIN_STEP

    def count(self, what: str, done: int, total: int) -> None:
        """Show how far `what` is."""
        if self._terminal:
            self._overwrite(f"{what}: {done} of {total}")
        elif done - self._last >= PLAIN_STEP or done < self._last:
            self._last = done
            self.say(f"{what}: {done} of {total}")

    def say(self, sentence: str) -> None:
        """Show a sentence that stays."""
        self._overwrite("")
        self._stream.write(f"leadline: {sentence}\n")
        self._stream.flush()

    def _overwrite(self, text: str) -> None:
        if self._terminal and text != self._shown:
            line = f"leadline: {text}" if text else ""
            self._stream.write(f"\r{line}\x1b[K")
            self._stream.flush()
            self._shown = text


def pins(text: str) -> set[str]:
    """Return the requirements of a lock file, without their hashes."""
    return {line.rstrip(" \\") for line in text.splitlines() if re.match(r"[A-Za-z0-9]", line)}


@contextlib.contextmanager
def alone(venv: Path, progress: Progress) -> Iterator[int]:
    """Hold the lock of `.venv` and yield its file descriptor, which a child may keep open."""
    with venv.joinpath("leadline.lock").open("a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("waiting for another installation to end")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def install(project: Path, name: str, progress: Progress) -> None:
    """Make `.venv` complete for the lock file `name`; raises InstallError or OSError."""
    venv = project / ".venv"
    venv.mkdir(exist_ok=True)
    with alone(venv, progress) as lock:
        text = project.joinpath(name).read_text(encoding="utf-8")
        unfinished = venv / "leadline.unfinished"
        if _content(venv / name) == text and not unfinished.exists() and _usable(venv):
            return  # another call installed it meanwhile
        if unfinished.exists() or not _usable(venv):
            _clear(venv)
            unfinished.touch()
            progress.say("making the Python environment")
            _run(venv, [sys.executable, "-m", "venv", str(venv)], lock)
        unfinished.touch()
        for stamp in venv.glob("requirements*.lock"):
            stamp.unlink()
        _pip(venv, text, lock, progress)
        venv.joinpath(name).write_text(text, encoding="utf-8")
        runtime = project.joinpath(RUNTIME_LOCK).read_text(encoding="utf-8")
        if pins(runtime) <= pins(text):
            venv.joinpath(RUNTIME_LOCK).write_text(runtime, encoding="utf-8")
        unfinished.unlink()
        progress.say("installed")


def _pip(venv: Path, text: str, lock: int, progress: Progress) -> None:
    """Install the requirements in `text`, counting packages on the way."""
    wanted = venv / "leadline.installing"
    wanted.write_text(text, encoding="utf-8")
    total = len(pins(text))
    before = _installed(venv)
    argv = [str(venv / "bin" / "python"), "-m", "pip", "install", "--require-hashes", "--no-deps"]
    argv += ["--only-binary", ":all:", "--no-input", "--disable-pip-version-check", "-r", str(wanted)]
    collected: set[str] = set()
    installing = False
    for line in _run_lines(venv, argv, lock):
        collected.update(REQUIREMENT.findall(line))
        installing = installing or line.startswith("Installing collected packages")
        if installing:
            progress.count("installing packages", min(_installed(venv) - before, total), total)
        else:
            progress.count("downloading packages", len(collected), total)
    wanted.unlink()


def _installed(venv: Path) -> int:
    """Return the number of packages in `.venv`."""
    return len(list(venv.glob("lib/python*/site-packages/*.dist-info")))


def _run(venv: Path, argv: Sequence[str], lock: int) -> None:
    for _ in _run_lines(venv, argv, lock):
        continue


def _run_lines(venv: Path, argv: Sequence[str], lock: int) -> Iterator[str]:
    """Run a command, log its output, and yield it line by line, with an empty line whenever nothing came for a while.

    The command keeps the lock open: should this process be killed, nobody installs beside what it leaves behind.
    """
    log = venv / "leadline-install.log"
    with (
        log.open("a", encoding="utf-8") as file,
        subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=(lock,)
        ) as process,
    ):
        file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {' '.join(argv)}\n")
        output = process.stdout
        pending = b""
        while output is not None:
            if not select.select([output], [], [], POLL_SECONDS)[0]:
                yield ""
                continue
            part = os.read(output.fileno(), 65536)
            if not part:
                break
            *lines, pending = (pending + part).split(b"\n")
            for line in lines:
                text = line.decode(errors="replace")
                file.write(f"{text}\n")
                yield text
        status = process.wait()
    if status != 0:
        raise InstallError(f"The installation failed (status {status}); the whole log is {log}.")


def _usable(venv: Path) -> bool:
    """Say whether `.venv` has a Python that runs, is new enough and has pip."""
    try:
        done = subprocess.run(
            [str(venv / "bin" / "python"), "-I", "-c", USABLE], capture_output=True, timeout=60, check=False
        )
    except OSError:
        return False
    return done.returncode == 0


def _clear(venv: Path) -> None:
    for entry in venv.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name not in KEPT:
            entry.unlink()


def _content(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _tail(log: Path) -> str:
    lines = (_content(log) or "").splitlines()[-SHOWN_LINES:]
    return "".join(f"  {line}\n" for line in lines)


def main(arguments: Sequence[str]) -> int:
    """Install for the project and lock file named by the arguments; return the exit status."""
    project, name = Path(arguments[0]), arguments[1]
    progress = Progress(sys.stderr)
    try:
        install(project, name, progress)
    except InstallError as error:
        sys.stderr.write(_tail(project / ".venv" / "leadline-install.log"))
        progress.say(str(error))
    except OSError as error:
        progress.say(f"{project / '.venv'} cannot be made ({error}): make it writable, or call leadline as its owner.")
    except KeyboardInterrupt:
        progress.say("interrupted; the next call starts the installation anew")
    else:
        return 0
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
