"""Entry of the planner's worker: ``python -m services.planner.worker``."""

from services.planner.handlers import Deps
from services.planner.tasks import TASKS
from shared.bootstrap import WorkerParts, worker_main


def _deps(parts: WorkerParts) -> Deps:
    storage = parts.storage
    return Deps(storage.materials, storage.snapshots, storage.index, parts.model_of, parts.managed)


if __name__ == "__main__":
    worker_main("planner", TASKS, _deps)
