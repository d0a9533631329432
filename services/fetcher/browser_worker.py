"""Entry of a worker that only reads pages in a browser: ``python -m services.fetcher.browser_worker``."""

from collections.abc import Mapping

from services.fetcher.tasks import BROWSER_TASKS
from services.fetcher.worker import make_deps
from shared.bootstrap import worker_main
from shared.config.browser import find_browser
from shared.config.settings import Settings
from shared.domain.errors import LeadlineError
from shared.domain.states import StepKind
from shared.queues.runner import Handler


class BrowserMissing(LeadlineError):
    """There is nothing to read pages with."""

    def __init__(self) -> None:
        super().__init__(
            "no browser can be used: install Chromium and the extra `browser` (Playwright), name the program in "
            "LEADLINE_BROWSER_PATH, and leave LEADLINE_BROWSER at auto or on."
        )


def browser_handlers(settings: Settings) -> Mapping[StepKind, Handler]:
    """Return the handlers; raise `BrowserMissing` where there is no browser."""
    if find_browser(settings) is None:
        raise BrowserMissing
    return BROWSER_TASKS


if __name__ == "__main__":
    worker_main("fetcher.browser", browser_handlers, make_deps)
