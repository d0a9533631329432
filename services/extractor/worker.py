"""Entry of the extractor's worker: ``python -m services.extractor.worker``."""

from shared.ports.cpu import Cpu

from services.extractor.handlers import Deps
from services.extractor.tasks import TASKS
from shared.bootstrap import Storage, worker_main


def _deps(storage: Storage, cpu: Cpu) -> Deps:
    return Deps(storage.materials, storage.snapshots, storage.blobs, storage.index, cpu)


if __name__ == "__main__":
    worker_main("extractor", TASKS, _deps)
