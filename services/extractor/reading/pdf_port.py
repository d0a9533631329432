"""What is needed of a library that opens PDFs: the lines of each page, and what the file says about itself."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from services.extractor.reading.layout import Line


@dataclass(frozen=True, slots=True)
class PdfPage:
    """The lines of one page in any order (`layout.Line`), its height in points, and what is told of it besides.

    `pictures` is the share of the page that pictures cover, looked up only where the page has little painted text.
    """

    lines: tuple[Line, ...] = ()
    height: float = 0.0
    pictures: float = 0.0


@dataclass(frozen=True, slots=True)
class PdfInfo:
    """What a PDF says about itself, as it is written there; "" for nothing."""

    title: str = ""
    author: str = ""
    created: str = ""
    modified: str = ""
    language: str = ""


class PdfDocument(Protocol):
    """An opened PDF. Memory that runs out raises MemoryError."""

    page_count: int

    def page(self, number: int) -> PdfPage | None:
        """Read one page, counted from 0; None where that fails. Raises `Unreadable` where it is too much work."""
        ...

    def is_damaged(self) -> bool:
        """Tell whether anything was found wrong with the file so far."""
        ...

    def has_pictures(self, pages: int) -> bool:
        """Tell whether one of the first pages holds a picture."""
        ...

    def info(self) -> PdfInfo:
        """Return what the file says about itself."""
        ...

    def close(self) -> None:
        """Free what the file holds."""
        ...


OpenPdf = Callable[[bytes], PdfDocument]
"""Opens a PDF; raises `Unreadable` for one that is locked or cannot be opened."""


def is_for_certificates(data: bytes) -> bool:
    """Tell whether a PDF is encrypted for the holders of certain certificates, which no password opens."""
    return b"/Encrypt" in data and re.search(rb"/Filter\s*/Standard", data) is None
