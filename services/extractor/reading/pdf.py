"""PDF to text by page, whatever library opens it: run it where memory and time are limited."""

import re
from dataclasses import replace
from importlib import import_module
from time import process_time
from typing import Any

from services.extractor.reading.blocks import assemble, squeeze
from services.extractor.reading.dates import iso_date
from services.extractor.reading.layout import reading_order, usual_size, without_running_heads
from services.extractor.reading.mime import PDF
from services.extractor.reading.painted import seen
from services.extractor.reading.paragraphs import blocks_of
from services.extractor.reading.pdf_losses import Losses, little, unseen
from services.extractor.reading.pdf_port import OpenPdf, PdfDocument, PdfInfo, PdfPage
from services.extractor.reading.pdf_titles import title_of
from services.extractor.reading.result import DEFAULT_PDF_BACKEND, PdfBackend, Reading, Unreadable

MAX_PAGES = 2_000
MAX_CPU_S = 40.0
"""Seconds of CPU time for the pages of one document; its process is ended at 60 (`handlers.PARSE_LIMITS`)."""

_PAGES_FOR_PICTURES = 50
# Loaded where they are asked for: neither library has to be there for the other one.
_MODULES: dict[PdfBackend, str] = {"pymupdf": "pdf_mupdf", "pypdfium2": "pdf_pdfium"}
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
    pages, losses = _pages(document, total)
    shown = [seen(page.lines, page.pictures) for page in pages]
    kept = without_running_heads(shown, [page.height for page in pages])
    ordered = [reading_order(lines) for lines in kept]
    made = assemble(blocks_of(ordered), page_count=total)
    if not made.text:
        raise _without_text(document, losses.failed)
    losses = replace(losses, cut=made.truncated)
    read_pages = pages[: total - losses.late]
    said = [*losses.sentences(), *little(read_pages, made.text), *unseen(pages, shown)]
    about = document.info()
    first = next((lines for lines in ordered if lines), [])
    return replace(
        _with_metadata(about),
        title=title_of(about.title, first, usual_size(ordered)),
        reason=" ".join(said) or None,
        text=made.text,
        headings=made.headings,
        pages=made.pages,
        truncated=losses.is_cut(),
    )


def _pages(document: PdfDocument, total: int) -> tuple[list[PdfPage], Losses]:
    """Return the pages as far as they can be read within the limits, and what is lost; lost pages are empty.

    Raises `Unreadable` where nothing is left.
    """
    began = process_time()
    pages: list[PdfPage] = []
    failed, refused, late = 0, 0, 0
    refusal: Unreadable | None = None
    for number in range(total):
        if process_time() - began > MAX_CPU_S:
            late = total - number
            break
        try:
            page = document.page(number)
        except Unreadable as error:
            refused, refusal = refused + 1, error
            page = PdfPage()
        failed += page is None
        pages.append(page or PdfPage())
    if refusal is not None and not any(page.lines for page in pages):
        raise refusal
    pages += [PdfPage()] * late
    return pages, Losses(document.page_count, failed, refused, late, document.page_count - total)


def _with_metadata(about: PdfInfo) -> Reading:
    """Return a reading with what the PDF says about itself."""
    language = squeeze(about.language)
    return Reading(
        status="ok",
        mime=PDF,
        reader="pdf",
        author=squeeze(about.author)[:500] or None,
        published_at=iso_date(about.created),
        modified_at=iso_date(about.modified),
        language=language if _LANGUAGE.match(language) else None,
    )


def _without_text(document: PdfDocument, failed: int) -> Unreadable:
    """Say why a PDF gave no text."""
    if not failed and document.has_pictures(_PAGES_FOR_PICTURES):
        return Unreadable("scanned", "The pages are pictures; there is no text layer to quote.")
    if failed or document.is_damaged():
        return Unreadable("broken", "The PDF is damaged; no text could be recovered.")
    return Unreadable("empty", "The PDF holds no text.")
