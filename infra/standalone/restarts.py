"""How long a process that ended waits before it is started again."""

FIRST_SECONDS = 0.5
LARGEST_SECONDS = 30.0
STEADY_SECONDS = 60.0


def next_delay(previous: float, uptime: float) -> float:
    """Return the seconds to wait: double the previous wait (0 for none), or the first again after a steady minute.

    `previous` and `uptime` in seconds; the answer lies between FIRST_SECONDS and LARGEST_SECONDS.
    """
    if uptime >= STEADY_SECONDS:
        return FIRST_SECONDS
    return min(max(previous * 2, FIRST_SECONDS), LARGEST_SECONDS)
