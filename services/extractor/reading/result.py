"""What reading a file gives, whatever its kind."""

from dataclasses import dataclass
from typing import Literal

from services.extractor.reading.charset import EncodingSource
from shared.domain.maps import Heading, Page

READER_VERSION = "1"
MAX_TEXT = 5_000_000  # code points
MAX_BYTES = 20 * 1024 * 1024

Status = Literal["ok", "empty", "unsupported", "encrypted", "scanned", "broken", "too_large"]


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of one file with its maps, or why there is none.

    `status` is "ok" exactly when `text` holds something to quote. `reason` is a sentence for every other status, and,
    with "ok", says what was lost where `truncated` is set. `text` has passed `shared.domain.text.clean`, holds at most
    `MAX_TEXT` code points, and the offsets of `headings` and `pages` count its code points. Metadata come from explicit
    marks of the file only; dates are ISO 8601, as precise as the file is.
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
    truncated: bool = False
    version: str = READER_VERSION
