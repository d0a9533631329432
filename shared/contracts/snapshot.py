"""The snapshot: the whole normalized text of what was read, with its maps."""

from shared.contracts.base import Stored
from shared.domain.maps import PartKind


class HeadingMark(Stored):
    """A heading and where its text stands."""

    level: int
    text: str
    start: int
    end: int


class PageMark(Stored):
    """A page of a PDF and the text on it."""

    number: int
    start: int
    end: int


class PartMark(Stored):
    """A sheet, slide or chapter and the text of it."""

    kind: PartKind
    name: str
    number: int
    start: int
    end: int


class Snapshot(Stored):
    """Text by content address: ``sha256`` is that of its UTF-8 bytes. ``segments`` are (start, end) pairs.

    ``rows`` are table rows of sheets as (start, row, first column, last column), counted from 1.
    """

    sha256: str
    text: str
    segmenter_version: str
    segments: tuple[tuple[int, int], ...]
    headings: tuple[HeadingMark, ...] = ()
    pages: tuple[PageMark, ...] = ()
    parts: tuple[PartMark, ...] = ()
    rows: tuple[tuple[int, int, int, int], ...] = ()
    truncated: bool = False
    signature: tuple[int, ...] = ()


class Parse(Stored):
    """What reading some bytes gave: a snapshot or a reason why there is none, and the explicit metadata."""

    content_sha256: str
    reader_version: str
    status: str
    reason: str | None = None
    mime: str | None = None
    encoding: str | None = None
    title: str | None = None
    author: str | None = None
    publisher: str | None = None
    published_at: str | None = None
    modified_at: str | None = None
    canonical_url: str | None = None
    language: str | None = None
    snapshot_sha256: str | None = None
    chars: int = 0
    truncated: bool = False
