"""Entry of the fetcher's worker: ``python -m services.fetcher.worker``."""

from services.fetcher.deps import Deps
from services.fetcher.opening import open_desk, open_web
from services.fetcher.tasks import TASKS
from shared.bootstrap import WorkerParts, worker_main


def _deps(parts: WorkerParts) -> Deps:
    storage = parts.storage
    web = open_web(parts.settings, storage.sites, storage.robots)
    desk = open_desk(parts.settings)
    return Deps(storage.materials, storage.index, storage.receipts, storage.blobs, web, desk, storage.services)


if __name__ == "__main__":
    worker_main("fetcher", TASKS, _deps)
