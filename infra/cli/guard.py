"""Every error of a command as one sentence and an exit code; no traceback reaches the terminal unless asked for."""

import contextlib
import os
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType

from infra.cli.console import Console
from infra.cli.exits import FAILED, INTERRUPTED, WRONG_USE, CliError
from infra.cli.setup import load
from infra.standalone.errors import StandaloneError
from shared.domain.errors import LeadlineError

LOG = "cli.log"


class Guard:
    """A block after which ``code`` is the exit code, whatever happened inside."""

    def __init__(self, console: Console) -> None:
        self.code = 0
        self._console = console

    def __enter__(self) -> "Guard":
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Explain what ended the block."""
        self._console.close()
        if error is None or isinstance(error, SystemExit):
            return False
        self.code = self._explain(error)
        return True

    def _explain(self, error: BaseException) -> int:
        if isinstance(error, KeyboardInterrupt):
            self._console.say("Interrupted.")
            return INTERRUPTED
        if isinstance(error, BrokenPipeError):
            # Whoever read our output has gone; Python would complain once more when it flushes at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED
        if isinstance(error, CliError):
            self._console.say(f"leadline: {error}")
            return error.code
        self._record(error)
        if isinstance(error, (LeadlineError, StandaloneError)):
            self._console.say(f"leadline: {error}")
            return WRONG_USE
        self._console.say(f"leadline: something unexpected happened ({type(error).__name__}); see {self._place()}.")
        return FAILED

    def _record(self, error: BaseException) -> None:
        """Write the trace to the log, and to the terminal at level DEBUG; do without where neither is possible."""
        text = "".join(traceback.format_exception(error))
        with contextlib.suppress(CliError, OSError):
            settings = load()
            if settings.log_level.upper() == "DEBUG":
                self._console.say(text)
            log = settings.home / "logs" / LOG
            if log.parent.is_dir():
                with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
                    file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {' '.join(sys.argv)}\n{text}\n")

    def _place(self) -> str:
        """Return where to read on."""
        with contextlib.suppress(CliError, OSError):
            log: Path = load().home / "logs" / LOG
            if log.is_file():
                return str(log)
        return "the trace that LEADLINE_LOG_LEVEL=DEBUG shows"
