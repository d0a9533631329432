"""Entry of the sweeper: ``python -m shared.sweeper_process``."""

import signal
import sys
import threading

from shared.bootstrap import open_sweeper
from shared.config.settings import load_settings
from shared.domain.errors import LeadlineError


def main() -> int:
    """Sweep until SIGTERM or SIGINT."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        sweeper, close = open_sweeper(load_settings(), stop)
    except LeadlineError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 2
    try:
        sweeper.run(stop)
    finally:
        close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
