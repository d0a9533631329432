"""Whether a process still does what it is there for, by when it last showed so."""

import threading
import time
from collections.abc import Callable

SILENT_AFTER_S = 60.0


class Pulse:
    """Beaten by the work itself; quiet for too long it means that the process lives and does nothing."""

    def __init__(self, silent_after_s: float = SILENT_AFTER_S, clock: Callable[[], float] = time.monotonic) -> None:
        """Count the start as a beat."""
        self._silent_after_s, self._clock = silent_after_s, clock
        self._lock = threading.Lock()
        self._last = clock()

    def beat(self) -> None:
        """Show that all is well now."""
        with self._lock:
            self._last = self._clock()

    def alive(self) -> bool:
        """Tell whether the last beat is recent."""
        with self._lock:
            return self._clock() - self._last <= self._silent_after_s
