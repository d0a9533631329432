"""Entry of the fetcher's worker: ``python -m services.fetcher.worker``."""

from shared.ports.cpu import Cpu

from services.fetcher.handlers import Deps
from services.fetcher.tasks import TASKS
from shared.bootstrap import Storage, worker_main


def _deps(storage: Storage, _: Cpu) -> Deps:
    return Deps(storage.materials, storage.index, storage.receipts)


if __name__ == "__main__":
    worker_main("fetcher", TASKS, _deps)
