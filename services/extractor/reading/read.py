"""The one way in: bytes and what is known of them to a `Reading`."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any
from urllib.parse import unquote, urlsplit

from services.extractor.reading import delimited, feed, html, markdown, plain, records
from services.extractor.reading.mime import (
    CSV,
    DOCX,
    EPUB,
    HTML,
    JSON,
    MARKDOWN,
    OLE,
    PDF,
    PLAIN,
    PPTX,
    TSV,
    XLSX,
    XML,
    sniff,
)
from services.extractor.reading.result import DEFAULT_PDF_BACKEND, MAX_BYTES, PdfBackend, Reading, Unreadable

_TEXTS: Mapping[str, Callable[[bytes, str | None], Reading]] = {
    MARKDOWN: markdown.read,
    PLAIN: plain.read,
    CSV: delimited.read,
    TSV: delimited.read_tabbed,
    JSON: records.read,
    XML: feed.read,
}
_ARCHIVES = {DOCX: "word", PPTX: "slides", XLSX: "workbook", EPUB: "epub"}  # modules, loaded where one is read
_LOCKED_OFFICE = "EncryptedPackage".encode("utf-16-le")
_OLD_OFFICE = "The old binary formats of Office are not read: save it as DOCX, XLSX or PPTX."


def read(
    data: bytes,
    *,
    name: str | None,
    content_type: str | None,
    url: str | None,
    pdf_backend: PdfBackend = DEFAULT_PDF_BACKEND,
    latest: str | None = None,
) -> Reading:
    """Read a file of any kind; every input ends in a status, none in an exception of its own.

    `name` is the file's name, `content_type` the header's value, `url` the final address of a page,
    `latest` the day on which it was fetched. The bytes decide
    what the file is; the hints only choose between kinds of text, and expose a page that stands in a PDF's place.
    """
    hint = name or _name_in(url)
    mime = sniff(data, name=hint, content_type=content_type)
    if len(data) > MAX_BYTES:
        return Reading("too_large", mime, "none", reason=f"The file has more than {MAX_BYTES // 2**20} MB.")
    if not data.strip():
        return Reading("empty", mime, "none", reason="The file is empty.")
    if mime != PDF and _claims_pdf(hint, content_type):
        kind = "an HTML page" if mime == HTML else "something else"
        return Reading("broken", mime, "none", reason=f"The file is said to be a PDF but is {kind}.")
    try:
        if mime == HTML:
            return html.read(data, content_type, url, latest)
        return _read_as(mime, data, content_type, pdf_backend)
    except Unreadable as error:
        return Reading(error.status, mime, "none", reason=error.reason)


def _read_as(mime: str, data: bytes, content_type: str | None, pdf_backend: PdfBackend) -> Reading:
    """Read bytes whose kind is known; raise `Unreadable`."""
    if mime == PDF:
        from services.extractor.reading import pdf  # its libraries are large and loaded only where a PDF is read

        return pdf.read(data, pdf_backend)
    if mime in _TEXTS:
        return _TEXTS[mime](data, content_type)
    if mime in _ARCHIVES:
        module: Any = import_module(f"services.extractor.reading.{_ARCHIVES[mime]}")
        reader: Callable[[bytes], Reading] = module.read
        return reader(data)
    if mime == OLE and _LOCKED_OFFICE in data:
        raise Unreadable("encrypted", "The document asks for a password.")
    raise Unreadable("unsupported", _OLD_OFFICE if mime == OLE else f"There is no reader for {mime}.")


def _name_in(url: str | None) -> str | None:
    """Return the last part of an address's path."""
    try:
        return unquote(urlsplit(url or "").path.rpartition("/")[2]) or None
    except ValueError:
        return None


def _claims_pdf(name: str | None, content_type: str | None) -> bool:
    """Tell whether the header, or without one the name, promises a PDF."""
    declared = (content_type or "").split(";")[0].strip().lower()
    if declared and declared not in ("application/octet-stream", "binary/octet-stream", "application/download"):
        return declared in (PDF, "application/x-pdf")
    return (name or "").lower().endswith(".pdf")
