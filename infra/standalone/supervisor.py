"""The entry of the process that holds a stack together: `python -m infra.standalone.supervisor`.

Without arguments it runs in the foreground with the settings of the environment and says on standard error what
happens, for a service manager. `stack.start` runs it with `--report`: it then takes its plan from standard input,
detaches, and reports through the pipe.
"""

import argparse
import contextlib
import json
import logging
import os
import select
import sys
import time
from collections.abc import Sequence

from infra.standalone import files, leftovers
from infra.standalone.errors import LockTimeoutError, StandaloneError
from infra.standalone.home import Home
from infra.standalone.info import write_owner
from infra.standalone.plan import Plan, plan_from_settings
from infra.standalone.signals import Signals
from infra.standalone.supervision import Listener, Supervisor

logger = logging.getLogger("leadline.supervisor")

LOCK_SECONDS = 3.0


def supervise(plan: Plan, listener: Listener, foreign: Sequence[int] = ()) -> int:
    """Run the stack of `plan` until it is stopped; return the exit status.

    `foreign` are open files of this process that its guard must not keep open.
    """
    home = plan.home
    home.create()
    lock = files.FileLock(home.supervisor_lock)
    try:
        lock.acquire(LOCK_SECONDS)
    except LockTimeoutError:
        lock.close()
        listener.tell("failed", f"Another supervisor runs on {home.path}: stop it with `leadline down`.")
        return 1
    write_owner(lock)
    home.keep_up_marker.unlink(missing_ok=True)
    home.state.unlink(missing_ok=True)
    for name in leftovers.end(home.children):
        logger.warning("ended %s, left by a supervisor that was killed", name)
    guard = leftovers.Guard(home.children, foreign)
    signals = Signals()
    try:
        Supervisor(plan, listener, signals).run()
    except StandaloneError as error:
        logger.error("%s", error)
        listener.tell("failed", str(error))
        return 1
    finally:
        signals.close()
        guard.dismiss()
        lock.close()
    return 0


class PipeListener:
    """Passes on what happens as JSON lines."""

    def __init__(self, descriptor: int) -> None:
        """Take over the writing end of the pipe."""
        self._pipe = os.fdopen(descriptor, "w", encoding="utf-8")

    def tell(self, kind: str, text: str) -> None:
        """Write one line; the last one, `ready` or `failed`, closes the pipe."""
        with contextlib.suppress(BrokenPipeError):
            self._pipe.write(json.dumps({"kind": kind, "text": text}) + "\n")
            self._pipe.flush()
        if kind in {"ready", "failed"}:
            with contextlib.suppress(BrokenPipeError):
                self._pipe.close()

    def waits(self) -> bool:
        """Say whether the reader is there: a command that was interrupted or killed wants no stack any more."""
        watch = select.poll()
        watch.register(self._pipe, 0)
        return not watch.poll(0)


class TerminalListener:
    """Shows what happens to whoever runs the supervisor in the foreground."""

    def tell(self, kind: str, text: str) -> None:
        """Write one line."""
        sys.stderr.write(f"{kind}: {text}\n")

    def waits(self) -> bool:
        """Nobody but a signal ends it."""
        return True


def _log_to_stderr() -> None:
    formatter = logging.Formatter("%(asctime)sZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


def main() -> int:
    """Run a supervisor and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m infra.standalone.supervisor")
    parser.add_argument("--report", type=int, metavar="FD", help="take the plan from stdin, detach, report on FD")
    report: int | None = parser.parse_args().report
    _log_to_stderr()
    os.umask(0o077)
    if report is None:
        from shared.config.settings import environment, load_settings  # heavy, and not needed with a plan

        settings = load_settings()
        return supervise(plan_from_settings(Home(settings.home), settings, "up", environment()), TerminalListener())
    plan = Plan.from_json(sys.stdin.read())
    if os.fork():
        os._exit(0)  # the caller waits for this process only: the stack is nobody's child
    listener = PipeListener(report)
    listener.tell("pid", str(os.getpid()))
    return supervise(plan, listener, foreign=(report,))


if __name__ == "__main__":
    sys.exit(main())
