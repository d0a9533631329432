"""Entry of the extractor's worker: ``python -m services.extractor.worker``."""

from services.extractor.handlers import Deps
from services.extractor.tasks import TASKS
from shared.bootstrap import WorkerParts, worker_main


def _deps(parts: WorkerParts) -> Deps:
    storage = parts.storage
    return Deps(storage.materials, storage.snapshots, storage.blobs, storage.index, parts.cpu, parts.model_of)


if __name__ == "__main__":
    worker_main("extractor", TASKS, _deps)
