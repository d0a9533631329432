"""PDF to text by page, whatever library opens it: run it where memory and time are limited."""

import re
from dataclasses import replace
from importlib import import_module
from typing import Any

from services.extractor.reading.blocks import assemble, squeeze
from services.extractor.reading.dates import iso_date
from services.extractor.reading.layout import reading_order, without_running_heads
from services.extractor.reading.mime import PDF
from services.extractor.reading.painted import seen
from services.extractor.reading.paragraphs import blocks_of
from services.extractor.reading.pdf_port import OpenPdf, PdfDocument, PdfInfo, PdfPage
from services.extractor.reading.result import DEFAULT_PDF_BACKEND, PdfBackend, Reading, Unreadable

MAX_PAGES = 2_000
_PAGES_FOR_PICTURES = 50
# Loaded where they are asked for: neither library has to be there for the other one.
_MODULES: dict[PdfBackend, str] = {"pymupdf": "pdf_mupdf", "pypdfium2": "pdf_pdfium"}
# What programs write for want of a title: a file's name, or the name of the program.
_PROGRAM_TITLE = re.compile(r"microsoft (?:word|powerpoint|excel) - ", re.IGNORECASE)
_NO_TITLE = re.compile(
    r"(?:untitled.*|slide 1|powerpoint presentation|document\d*|doc\d*"
    r"|\S.*\.(?:wpd|docx?|pages|pptx?|xlsx?|indd|tex|dvi|qxd|pdf|ps|rtf|od[tps]|key|fm|eps|html?|txt))\Z",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*\Z")


def read(data: bytes, backend: PdfBackend = DEFAULT_PDF_BACKEND) -> Reading:
    """Read a PDF with one of the libraries; whatever is wrong with it ends in a status.

    Raises MemoryError where there is too little.
    """
    try:
        if b"%PDF-" not in data[:1024]:
            raise Unreadable("broken", "The file does not begin as a PDF does.")
        document = _opener(backend)(data)
        try:
            return _read_document(document)
        finally:
            document.close()
    except Unreadable as error:
        return Reading(status=error.status, reason=error.reason, mime=PDF, reader="pdf")


def _opener(backend: PdfBackend) -> OpenPdf:
    """Return the function of a library that opens PDFs."""
    module: Any = import_module(f"services.extractor.reading.{_MODULES[backend]}")
    opener: OpenPdf = module.open_pdf
    return opener


def _read_document(document: PdfDocument) -> Reading:
    """Read an opened PDF; raise `Unreadable` where there is no text."""
    total = min(document.page_count, MAX_PAGES)
    if total == 0:
        raise Unreadable("broken", "The PDF has no pages that can be found.")
    found = [document.page(number) for number in range(total)]
    failed = found.count(None)
    pages = [page or PdfPage() for page in found]
    shown = [seen(page.lines, page.pictures) for page in pages]
    kept = without_running_heads(shown, [page.height for page in pages])
    made = assemble(blocks_of([reading_order(lines) for lines in kept]), page_count=total)
    if not made.text:
        raise _without_text(document, failed)
    return replace(
        _with_metadata(document.info()),
        reason=_losses(document.page_count, failed, cut=made.truncated),
        text=made.text,
        headings=made.headings,
        pages=made.pages,
        truncated=made.truncated or failed > 0 or document.page_count > MAX_PAGES,
    )


def _with_metadata(about: PdfInfo) -> Reading:
    """Return a reading with what the PDF says about itself."""
    language = squeeze(about.language)
    return Reading(
        status="ok",
        mime=PDF,
        reader="pdf",
        title=_title(about),
        author=squeeze(about.author)[:500] or None,
        published_at=iso_date(about.created),
        modified_at=iso_date(about.modified),
        language=language if _LANGUAGE.match(language) else None,
    )


def _title(about: PdfInfo) -> str | None:
    """Return the title, unless a program made it up."""
    title = _PROGRAM_TITLE.sub("", squeeze(about.title))
    return None if _NO_TITLE.match(title) else title[:500] or None


def _losses(pages: int, failed: int, *, cut: bool) -> str | None:
    """Say what of the document is missing."""
    if failed:
        return f"{failed} of {pages} pages could not be read."
    if pages > MAX_PAGES:
        return f"Only the first {MAX_PAGES} of {pages} pages were read."
    return "The text was cut at the limit." if cut else None


def _without_text(document: PdfDocument, failed: int) -> Unreadable:
    """Say why a PDF gave no text."""
    if not failed and document.has_pictures(_PAGES_FOR_PICTURES):
        return Unreadable("scanned", "The pages are pictures; there is no text layer to quote.")
    if failed or document.is_damaged():
        return Unreadable("broken", "The PDF is damaged; no text could be recovered.")
    return Unreadable("empty", "The PDF holds no text.")
