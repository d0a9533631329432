"""Signals as something to wait for: a request to stop, the end of a child."""

import contextlib
import os
import select
import signal
from types import FrameType


class Signals:
    """Catches SIGTERM, SIGINT and SIGCHLD while it is open, in the main thread."""

    def __init__(self) -> None:
        """Install the handlers."""
        self.stop_requested = False
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        os.set_blocking(self._write_end, False)
        self._former_wakeup = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        self._former = {
            signal.SIGTERM: signal.signal(signal.SIGTERM, self._stop),
            signal.SIGINT: signal.signal(signal.SIGINT, self._stop),
            signal.SIGCHLD: signal.signal(signal.SIGCHLD, self._child),
        }

    def wait(self, seconds: float) -> None:
        """Return after `seconds`, or as soon as a signal came since the last wait."""
        if select.select([self._read_end], [], [], max(seconds, 0.0))[0]:
            with contextlib.suppress(BlockingIOError):
                os.read(self._read_end, 4096)

    def close(self) -> None:
        """Put the former handlers back."""
        for number, handler in self._former.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._former_wakeup)
        os.close(self._read_end)
        os.close(self._write_end)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stop_requested = True

    def _child(self, _number: int, _frame: FrameType | None) -> None:
        """Being called is enough: it wakes `wait`."""
