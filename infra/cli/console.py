"""The terminal: results on standard output, everything else on standard error, one line that says what goes on."""

import io
import shutil
import sys
import threading
import time
from typing import TextIO

TICK_S = 1.0
CLEAR_LINE = "\r\x1b[K"


def shown(text: str) -> str:
    """Return text without anything that a terminal would take for a command."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


class Console:
    """Where a command prints and asks.

    On a terminal `status` updates a single line, with the seconds since it began; elsewhere it prints each new text on
    a line of its own.
    """

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None, source: TextIO | None = None) -> None:
        self._out, self._err, self._source = out or sys.stdout, err or sys.stderr, source or sys.stdin
        self.live = self._err.isatty()
        """Whether one line can be written over and over."""
        self._lock = threading.Lock()
        self._text, self._since = "", time.monotonic()
        self._quiet = threading.Event()
        self._ticker: threading.Thread | None = None
        for stream in (self._out, self._err):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")

    @property
    def interactive(self) -> bool:
        """Whether somebody can read a question and answer it."""
        return self.live and self._source.isatty()

    @property
    def out_is_terminal(self) -> bool:
        """Whether results go to a terminal."""
        return self._out.isatty()

    def status(self, text: str) -> None:
        """Say what goes on now."""
        with self._lock:
            if text == self._text:
                return
            self._text = text
            if not self.live:
                self._err.write(f"{shown(text)}\n")
                self._err.flush()
                return
            self._draw()
        if self._ticker is None:
            self._ticker = threading.Thread(target=self._tick, name="status-line", daemon=True)
            self._ticker.start()

    def say(self, text: str) -> None:
        """Print a line on standard error."""
        with self._lock:
            self._wipe()
            self._err.write(f"{shown(text)}\n")
            self._err.flush()
            if self.live and self._text:
                self._draw()

    def print(self, text: str) -> None:
        """Print a line of the result."""
        self.done()
        self._out.write(f"{text}\n")
        self._out.flush()

    def write(self, data: bytes) -> None:
        """Write bytes of the result as they are."""
        self.done()
        self._out.flush()
        buffer = getattr(self._out, "buffer", None)
        if buffer is None:
            self._out.write(data.decode())
        else:
            buffer.write(data)
        self._out.flush()

    def ask(self, question: str) -> str:
        """Return the answer to a question, empty at the end of the input."""
        self.done()
        self._err.write(f"{shown(question)} ")
        self._err.flush()
        return self._source.readline().strip()

    def done(self) -> None:
        """Take the status line away."""
        with self._lock:
            self._wipe()
            self._text = ""

    def close(self) -> None:
        """Take the status line away for good."""
        self._quiet.set()
        self.done()

    def _tick(self) -> None:
        while not self._quiet.wait(TICK_S):
            with self._lock:
                if self._text:
                    self._draw()

    def _draw(self) -> None:
        width = shutil.get_terminal_size().columns
        line = f"{shown(self._text)} ({time.monotonic() - self._since:.0f} s)".replace("\n", " ")
        self._err.write(f"{CLEAR_LINE}{line[: width - 1]}")
        self._err.flush()

    def _wipe(self) -> None:
        if self.live and self._text:
            self._err.write(CLEAR_LINE)
            self._err.flush()
