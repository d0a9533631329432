"""Entry of the extractor's worker: ``python -m services.extractor.worker``."""

from services.extractor.handlers import Deps
from services.extractor.tasks import TASKS
from shared.bootstrap import WorkerParts, worker_main


def _deps(parts: WorkerParts) -> Deps:
    return Deps(parts.storage.materials, parts.storage.snapshots, parts.storage.blobs, parts.storage.index, parts.cpu)


if __name__ == "__main__":
    worker_main("extractor", TASKS, _deps)
