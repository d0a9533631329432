"""Entry of the synthesizer's worker: ``python -m services.synthesizer.worker``."""

from services.synthesizer.handlers import Deps
from services.synthesizer.tasks import TASKS
from shared.bootstrap import Storage, worker_main
from shared.ports.cpu import Cpu


def _deps(storage: Storage, cpu: Cpu) -> Deps:
    return Deps(storage.materials, storage.snapshots, cpu)


if __name__ == "__main__":
    worker_main("synthesizer", TASKS, _deps)
