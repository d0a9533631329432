"""Entry of the planner's worker: ``python -m services.planner.worker``."""

from shared.ports.cpu import Cpu

from services.planner.engines import planner_engines
from services.planner.handlers import Deps
from services.planner.tasks import TASKS
from shared.bootstrap import Storage, worker_main


def _deps(storage: Storage, _: Cpu) -> Deps:
    return Deps(storage.materials, storage.snapshots, planner_engines())


if __name__ == "__main__":
    worker_main("planner", TASKS, _deps)
