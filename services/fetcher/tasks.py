"""Which handler answers which kind of step."""

from services.fetcher import handlers
from shared.domain.states import StepKind

TASKS = {StepKind.SEARCH: handlers.search, StepKind.READ_SOURCE: handlers.read_source}
BROWSER_TASKS = {StepKind.READ_IN_BROWSER: handlers.read_in_browser}
"""For a worker that has a browser."""
