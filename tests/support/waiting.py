"""Waiting for a condition in tests."""

import time
from collections.abc import Callable

PATIENCE_S = 20.0
POLL_S = 0.01


def wait_until(condition: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
    """Return as soon as the condition holds; fail with ``what`` was waited for after ``patience_s`` seconds."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {patience_s} s in vain for {what}"
        time.sleep(POLL_S)
