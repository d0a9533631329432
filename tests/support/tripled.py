"""Entry that runs another module with every message sent three times, late and in any order; see `TRIPLED`."""

import os
import random
import runpy
import threading
from typing import Any

from celery import Celery

TRIPLED = "LEADLINE_TEST_TRIPLED"
"""Variable that names the module to run."""

COPIES = 3
LATEST_S = 0.4


def main() -> None:
    """Run the module."""
    send = Celery.send_task

    def send_thrice(app: Celery, *args: Any, **options: Any) -> None:
        for _ in range(COPIES):
            late = threading.Timer(random.uniform(0.0, LATEST_S), send, args=(app, *args), kwargs=options)
            late.daemon = True
            late.start()
        print("sent thrice", flush=True)  # noqa: T201

    Celery.send_task = send_thrice  # type: ignore[method-assign]
    runpy.run_module(os.environ[TRIPLED], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
