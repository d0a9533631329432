"""Entry of the fetcher's worker: ``python -m services.fetcher.worker``.

Where a browser is installed it also reads the pages that need one, each in a process that is gone with the page.
"""

from collections.abc import Mapping

from services.fetcher.deps import Deps
from services.fetcher.opening import open_browser, open_desk, open_web
from services.fetcher.tasks import BROWSER_TASKS, TASKS
from shared.bootstrap import WorkerParts, worker_main
from shared.config.browser import find_browser, renders_here
from shared.config.settings import Settings
from shared.domain.states import StepKind
from shared.queues.runner import Handler


def make_deps(parts: WorkerParts) -> Deps:
    """Return what the handlers are given."""
    storage, program = parts.storage, find_browser(parts.settings)
    return Deps(
        materials=storage.materials,
        index=storage.index,
        receipts=storage.receipts,
        blobs=storage.blobs,
        web=open_web(parts.settings, storage.sites, storage.robots),
        desk=open_desk(parts.settings),
        states=storage.services,
        browser=open_browser(parts.settings, program) if program is not None else None,
    )


def handlers_here(settings: Settings) -> Mapping[StepKind, Handler]:
    """Return the handlers of the ordinary worker on this machine."""
    return TASKS if renders_here(settings) is None else {**TASKS, **BROWSER_TASKS}


if __name__ == "__main__":
    worker_main("fetcher", handlers_here, make_deps)
