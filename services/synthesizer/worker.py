"""Entry of the synthesizer's worker: ``python -m services.synthesizer.worker``."""

from services.synthesizer.handlers import Deps
from services.synthesizer.tasks import TASKS
from shared.bootstrap import WorkerParts, worker_main


def _deps(parts: WorkerParts) -> Deps:
    storage = parts.storage
    return Deps(storage.materials, storage.snapshots, storage.index, parts.cpu, parts.model_of, parts.reader)


if __name__ == "__main__":
    worker_main("synthesizer", TASKS, _deps)
