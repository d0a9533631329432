"""PDF to text by page, with PyMuPDF. Only this module imports it: run it where memory and time are limited."""

import re
import zlib
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pymupdf
from pymupdf import mupdf

from services.extractor.reading.blocks import Assembled, assemble, squeeze
from services.extractor.reading.dates import iso_date
from services.extractor.reading.layout import Line, reading_order, without_running_heads
from services.extractor.reading.mime import PDF
from services.extractor.reading.paragraphs import blocks_of
from services.extractor.reading.result import Reading, Status

MAX_PAGES = 2_000
_MAX_CONTENT = 64 * 1024 * 1024  # bytes that one page's drawing instructions may unpack to
_DEFLATE_RATIO = 1_032  # the most that zlib can pack
_FAILURES = (RuntimeError, ValueError, LookupError, TypeError, AttributeError, mupdf.FzErrorBase)
_FLAGS = pymupdf.TEXT_MEDIABOX_CLIP  # and none that keeps ligatures, odd spaces or pictures
_open: Any = pymupdf.open  # the library is not typed
_tools: Any = pymupdf.TOOLS
_BOLD = pymupdf.TEXT_FONT_BOLD
# What programs write for want of a title: a file's name, or the name of the program.
_PROGRAM_TITLE = re.compile(r"microsoft (?:word|powerpoint|excel) - ", re.IGNORECASE)
_NO_TITLE = re.compile(
    r"(?:untitled.*|slide 1|powerpoint presentation|document\d*|doc\d*"
    r"|\S.*\.(?:wpd|docx?|pages|pptx?|xlsx?|indd|tex|dvi|qxd|pdf|ps|rtf|od[tps]|key|fm|eps|html?|txt))\Z",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*\Z")


@dataclass(frozen=True, slots=True)
class _Page:
    """What one page gave: its lines, its height in points, and whether it was left unread as a bomb."""

    lines: list[Line] = field(default_factory=list)
    height: float = 0.0
    bomb: bool = False


def read(data: bytes) -> Reading:
    """Read a PDF; whatever is wrong with it ends in a status. Raises MemoryError where there is too little."""
    _tools.mupdf_display_errors(False)
    _tools.mupdf_display_warnings(False)
    _tools.reset_mupdf_warnings()
    if b"%PDF-" not in data[:1024]:
        return _without_text("broken", "The file does not begin as a PDF does.")
    try:
        document: Any = _open(stream=data, filetype="pdf")
    except _FAILURES:
        if b"/Encrypt" in data and b"/Standard" not in data:
            return _without_text("encrypted", "The PDF is encrypted for the holders of certain certificates.")
        return _without_text("broken", "The PDF cannot be opened, not even after repair.")
    try:
        return _read_document(document)
    except _FAILURES as error:
        return _without_text("broken", f"The PDF cannot be read ({type(error).__name__}).")
    finally:
        document.close()


def _without_text(status: Status, reason: str) -> Reading:
    """Return a reading that holds no text."""
    return Reading(status=status, reason=reason, mime=PDF, reader="pdf")


def _read_document(document: Any) -> Reading:
    """Read an opened PDF."""
    if document.needs_pass:
        return _without_text("encrypted", "The PDF asks for a password.")
    total = min(document.page_count, MAX_PAGES)
    if total == 0:
        return _without_text("broken", "The PDF has no pages that can be found.")
    found = [_page(document, number) for number in range(total)]
    bomb = next((number for number, page in enumerate(found, start=1) if page is not None and page.bomb), None)
    if bomb is not None:
        return _without_text("too_large", f"The content of page {bomb} unpacks to more than 64 MB.")
    failed = found.count(None)
    pages = [page or _Page() for page in found]
    made = _assembled(pages)
    if not made.text:
        return _explained(document, total, failed)
    reading = _with_metadata(document)
    return replace(
        reading,
        reason=_losses(document.page_count, failed, cut=made.truncated),
        text=made.text,
        headings=made.headings,
        pages=made.pages,
        truncated=made.truncated or failed > 0 or document.page_count > MAX_PAGES,
    )


def _assembled(pages: list[_Page]) -> Assembled:
    """Put the lines of the pages in reading order, without what heads and feet repeat."""
    kept = without_running_heads([page.lines for page in pages], [page.height for page in pages])
    return assemble(blocks_of([reading_order(lines) for lines in kept]), page_count=len(pages))


def _page(document: Any, number: int) -> _Page | None:
    """Read one page, counted from 0; None where that fails."""
    try:
        page = document.load_page(number)
        if _unpacks_too_far(document, page):
            return _Page(bomb=True)
        return _Page(_lines(page.get_text("dict", flags=_FLAGS)), float(page.rect.height))
    except mupdf.FzErrorSystem:
        raise MemoryError from None
    except _FAILURES:
        return None


def _losses(pages: int, failed: int, *, cut: bool) -> str | None:
    """Say what of the document is missing."""
    if failed:
        return f"{failed} of {pages} pages could not be read."
    if pages > MAX_PAGES:
        return f"Only the first {MAX_PAGES} of {pages} pages were read."
    return "The text was cut at the limit." if cut else None


def _explained(document: Any, total: int, failed: int) -> Reading:
    """Say why a PDF gave no text."""
    damaged = document.is_repaired or failed or re.search(r"error|cannot|invalid", _tools.mupdf_warnings(reset=False))
    pictured = any(document.get_page_images(number) for number in range(min(total, 50)))
    if pictured and not document.is_repaired and not failed:
        return _without_text("scanned", "The pages are pictures; there is no text layer to quote.")
    if damaged:
        return _without_text("broken", "The PDF is damaged; no text could be recovered.")
    return _without_text("empty", "The PDF holds no text.")


def _unpacks_too_far(document: Any, page: Any) -> bool:
    """Tell whether a page's drawing instructions are a bomb; only streams that could be one are unpacked, in pieces."""
    total = 0
    for xref in page.get_contents():
        raw = document.xref_stream_raw(xref) or b""
        if len(raw) * _DEFLATE_RATIO <= _MAX_CONTENT:
            continue
        unpacker = zlib.decompressobj()
        try:
            while raw and total <= _MAX_CONTENT:
                total += len(unpacker.decompress(raw, 1 << 20))
                raw = unpacker.unconsumed_tail
        except zlib.error:
            continue  # packed in another way, or not at all
    return total > _MAX_CONTENT


def _lines(content: dict[str, Any]) -> list[Line]:
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
    return level + _stacked(turned, level)


def _stacked(turned: list[Line], level: list[Line]) -> list[Line]:
    """Place turned lines one below the other under the rest, so that they keep their order and disturb no column."""
    top = max((line.y1 for line in level), default=0.0) + 100
    return [
        replace(line, x0=0.0, x1=500.0, y0=place, y1=place + 12, base=place + 10, size=12.0)
        for place, line in zip(count(top, 30), turned, strict=False)
    ]


def _with_metadata(document: Any) -> Reading:
    """Return a reading with what the PDF says about itself."""
    info = document.metadata or {}
    title = _PROGRAM_TITLE.sub("", squeeze(info.get("title") or ""))
    language = squeeze(document.language or "")
    return Reading(
        status="ok",
        mime=PDF,
        reader="pdf",
        title=None if _NO_TITLE.match(title) else title[:500] or None,
        author=squeeze(info.get("author") or "")[:500] or None,
        published_at=iso_date(info.get("creationDate") or ""),
        modified_at=iso_date(info.get("modDate") or ""),
        language=language if _LANGUAGE.match(language) else None,
    )
