"""Entry of the fetcher's worker: ``python -m services.fetcher.worker``."""

from services.fetcher.handlers import Deps
from services.fetcher.tasks import TASKS
from shared.bootstrap import WorkerParts, worker_main


def _deps(parts: WorkerParts) -> Deps:
    return Deps(parts.storage.materials, parts.storage.index, parts.storage.receipts)


if __name__ == "__main__":
    worker_main("fetcher", TASKS, _deps)
