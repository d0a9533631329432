"""PDFs with PyMuPDF, which is under the AGPL or a commercial licence. Only this module imports it."""

import re
from typing import Any

import pymupdf
from pymupdf import mupdf

from services.extractor.reading.blocks import squeeze
from services.extractor.reading.layout import Line
from services.extractor.reading.pdf_port import PdfInfo, PdfPage, is_for_certificates, stacked, unpacks_too_far
from services.extractor.reading.result import Unreadable

_FAILURES = (RuntimeError, ValueError, LookupError, TypeError, AttributeError, mupdf.FzErrorBase)
_FLAGS = pymupdf.TEXT_MEDIABOX_CLIP  # and none that keeps ligatures, odd spaces or pictures
_open: Any = pymupdf.open  # the library is not typed
_tools: Any = pymupdf.TOOLS
_BOLD = pymupdf.TEXT_FONT_BOLD


def open_pdf(data: bytes) -> "MuPdf":
    """Open a PDF; raise `Unreadable` for one that is locked or cannot be opened."""
    _tools.mupdf_display_errors(False)
    _tools.mupdf_display_warnings(False)
    _tools.reset_mupdf_warnings()
    try:
        document: Any = _open(stream=data, filetype="pdf")
        locked, pages = bool(document.needs_pass), int(document.page_count)
    except _FAILURES:
        if is_for_certificates(data):
            raise Unreadable("encrypted", "The PDF is encrypted for the holders of certain certificates.") from None
        raise Unreadable("broken", "The PDF cannot be opened, not even after repair.") from None
    if locked:
        document.close()
        raise Unreadable("encrypted", "The PDF asks for a password.")
    return MuPdf(document, pages)


class MuPdf:
    """See `services.extractor.reading.pdf_port.PdfDocument`."""

    def __init__(self, document: Any, page_count: int) -> None:
        self._document = document
        self.page_count = page_count

    def page(self, number: int) -> PdfPage | None:
        """Read one page."""
        try:
            page = self._document.load_page(number)
            if unpacks_too_far(self._document.xref_stream_raw(xref) or b"" for xref in page.get_contents()):
                raise Unreadable("too_large", f"The content of page {number + 1} unpacks to more than 64 MB.")
            return PdfPage(_lines(page.get_text("dict", flags=_FLAGS)), float(page.rect.height))
        except mupdf.FzErrorSystem:
            raise MemoryError from None
        except _FAILURES:
            return None

    def is_damaged(self) -> bool:
        """Tell whether the file was repaired, or the library complained."""
        warnings = _tools.mupdf_warnings(reset=False)
        return bool(self._document.is_repaired) or re.search(r"error|cannot|invalid", warnings) is not None

    def has_pictures(self, pages: int) -> bool:
        """Tell whether one of the first pages holds a picture."""
        if self._document.is_repaired:
            return False
        try:
            return any(self._document.get_page_images(number) for number in range(min(self.page_count, pages)))
        except _FAILURES:
            return False

    def info(self) -> PdfInfo:
        """Return what the file says about itself."""
        try:
            said, language = self._document.metadata or {}, self._document.language
        except _FAILURES:
            return PdfInfo()
        title, author, created, modified = (said.get(k) or "" for k in ("title", "author", "creationDate", "modDate"))
        return PdfInfo(title, author, created, modified, language or "")

    def close(self) -> None:
        """Free what the file holds."""
        self._document.close()


def _lines(content: dict[str, Any]) -> tuple[Line, ...]:
    """Return the lines of one page; those set upright or upside down come last, in their own order."""
    level: list[Line] = []
    turned: list[Line] = []
    for block in content["blocks"]:
        for line in block.get("lines", ()):
            spans = [span for span in line["spans"] if span["size"] >= 1 and span["text"]]
            text = squeeze("".join(span["text"] for span in spans))
            if not text:
                continue
            main = max(spans, key=lambda span: len(span["text"].strip()))
            x0, y0, x1, y1 = line["bbox"]
            bold = all(span["flags"] & _BOLD for span in spans if span["text"].strip())
            made = Line(text, x0, y0, x1, y1, main["origin"][1], main["size"], bold)
            (level if line["dir"][0] > 0.9 and line["wmode"] == 0 else turned).append(made)
    return (*level, *stacked(turned, level))
