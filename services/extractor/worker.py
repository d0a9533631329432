"""Entry of the extractor's worker: ``python -m services.extractor.worker``."""

from importlib.util import find_spec

from services.extractor.handlers import Deps
from services.extractor.tasks import TASKS
from shared.bootstrap import WorkerParts, worker_main
from shared.config.browser import has_browser
from shared.domain.errors import LeadlineError


class PdfLibraryMissing(LeadlineError):
    """The library that a setting names is not there."""

    def __init__(self, name: str) -> None:
        super().__init__(f"LEADLINE_PDF_BACKEND names {name}, which is not installed: `python -m pip install {name}`.")


def check_pdf_library(name: str) -> None:
    """Raise `PdfLibraryMissing` where the library of that name is not installed."""
    if find_spec(name) is None:
        raise PdfLibraryMissing(name)


def _deps(parts: WorkerParts) -> Deps:
    storage = parts.storage
    check_pdf_library(parts.settings.pdf_backend)
    return Deps(
        storage.materials,
        storage.snapshots,
        storage.blobs,
        storage.index,
        parts.cpu,
        parts.model_of,
        parts.settings.pdf_backend,
        has_browser(parts.settings),
        parts.reader,
    )


if __name__ == "__main__":
    worker_main("extractor", TASKS, _deps)
