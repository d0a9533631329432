"""What reading a file gives, whatever its kind."""

from dataclasses import dataclass
from typing import Final, Literal

from services.extractor.reading.charset import EncodingSource
from shared.domain.maps import Heading, Page, Part, Row

MAX_TEXT = 5_000_000  # code points
MAX_BYTES = 20 * 1024 * 1024

PdfBackend = Literal["pymupdf", "pypdfium2"]
DEFAULT_PDF_BACKEND: Final = "pymupdf"
_VERSION: Final = "3"

Status = Literal["ok", "empty", "unsupported", "encrypted", "scanned", "broken", "too_large", "thin_content", "blocked"]


def reader_version(pdf_backend: PdfBackend) -> str:
    """Return what tells readings of the same bytes apart: raised when a reader changes, and named after the library."""
    return _VERSION if pdf_backend == DEFAULT_PDF_BACKEND else f"{_VERSION}-{pdf_backend}"


class Unreadable(Exception):
    """A file cannot be read: with the status that it ends in, and a sentence that says why."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(status, reason)
        self.status: Status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of one file with its maps, or why there is none.

    `status` is "ok" exactly when `text` holds something to quote. `reason` is a sentence for every other status, and,
    with "ok", says what was left out or lost; `truncated` is set where it was lost. `text` has passed
    `shared.domain.text.clean`, holds at most `MAX_TEXT` code points, and the offsets of all maps count its code points.
    Metadata come from explicit marks of the file only; dates are ISO 8601, as precise as the file is. `links` are the
    web addresses that a page links to, absolute, in its order; `bad_links` counts those that are none.
    """

    status: Status
    mime: str
    reader: str
    reason: str | None = None
    encoding: str | None = None
    encoding_source: EncodingSource | None = None
    title: str | None = None
    author: str | None = None
    publisher: str | None = None
    published_at: str | None = None
    modified_at: str | None = None
    canonical_url: str | None = None
    language: str | None = None
    text: str = ""
    headings: tuple[Heading, ...] = ()
    pages: tuple[Page, ...] = ()
    parts: tuple[Part, ...] = ()
    rows: tuple[Row, ...] = ()
    links: tuple[str, ...] = ()
    bad_links: int = 0
    truncated: bool = False
