"""The one way in: bytes and what is known of them to a `Reading`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any
from urllib.parse import unquote, urlsplit

from services.extractor.reading import delimited, feed, html, mail, markdown, notebook, plain, records, subtitles
from services.extractor.reading.attached import MAX_DEPTH, Hung, with_attached
from services.extractor.reading.mail import attachments
from services.extractor.reading.mime import (
    CSV,
    DOCX,
    EPUB,
    HTML,
    JSON,
    MAIL,
    MARKDOWN,
    MBOX,
    NOTEBOOK,
    ODP,
    ODS,
    ODT,
    OLE,
    PDF,
    PLAIN,
    PPTX,
    RTF,
    SUBRIP,
    TSV,
    WEBVTT,
    XLSX,
    XML,
    sniff,
)
from services.extractor.reading.result import DEFAULT_PDF_BACKEND, MAX_BYTES, PdfBackend, Reading, Unreadable
from shared.domain.file_marks import BOMS, SAMPLE, is_wide

_TEXTS: Mapping[str, Callable[[bytes, str | None], Reading]] = {
    MARKDOWN: markdown.read,
    PLAIN: plain.read,
    CSV: delimited.read,
    TSV: delimited.read_tabbed,
    JSON: records.read,
    XML: feed.read,
    NOTEBOOK: notebook.read,
    SUBRIP: subtitles.read,
    WEBVTT: subtitles.read,
    MAIL: mail.read,
    MBOX: mail.read_box,
}
_ARCHIVES = {
    DOCX: "word",
    PPTX: "slides",
    XLSX: "workbook",
    EPUB: "epub",
    ODT: "opendocument",
    ODS: "opendocument",
    ODP: "opendocument",
    RTF: "rtf",
}
"""Modules, loaded where one is read."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What is known of bytes before they are read."""

    content_type: str | None
    url: str | None
    pdf_backend: PdfBackend
    latest: str | None


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

    `name` is the file's name, `content_type` the header's value, `url` the final address of a page, `latest` the day on
    which it was fetched. The bytes decide what the file is; the hints only choose between kinds of text, and expose a
    page that stands in a PDF's place.
    """
    return _read(data, name or _name_in(url), _Told(content_type, url, pdf_backend, latest), Hung(), 0)


def _read(data: bytes, hint: str | None, told: _Told, hung: Hung, depth: int) -> Reading:
    """Read a file, and what hangs on it where it is a mail: `depth` mails deep, within what `hung` leaves."""
    content_type = told.content_type
    mime = sniff(data, name=hint, content_type=content_type)
    if len(data) > MAX_BYTES:
        return Reading("too_large", mime, "none", reason=f"The file has more than {MAX_BYTES // 2**20} MB.")
    if not data.strip():
        return Reading("empty", mime, "none", reason="The file is empty.")
    if mime != PDF and _claims_pdf(hint, content_type):
        kind = "an HTML page" if mime == HTML else "something else"
        return Reading("broken", mime, "none", reason=f"The file is said to be a PDF but is {kind}.")
    try:
        made = _with_guess(_read_as(mime, _without_zeros(mime, data, content_type), told))
        if made.reader != "mail":
            return made
        items = attachments(data, mime)
        if depth >= MAX_DEPTH and items:
            return replace(made, reason="Its attachments nest too deeply and were not read.", truncated=True)
        alone = replace(told, content_type=None, url=None)
        return with_attached(made, items, hung, lambda item: _read(item.data, item.name, alone, hung, depth + 1))
    except Unreadable as error:
        return Reading(error.status, mime, "none", reason=error.reason)


def _without_zeros(mime: str, data: bytes, content_type: str | None) -> bytes:
    """Return text without the zeros that some program left in it; those of UTF-16 stay."""
    if mime not in _TEXTS or b"\x00" not in data or data.startswith(BOMS[1:]) or is_wide(data[:SAMPLE]):
        return data
    return data if "utf-16" in (content_type or "").lower() else data.replace(b"\x00", b"")


def _with_guess(reading: Reading) -> Reading:
    """Say of a text whose encoding was guessed that it was."""
    if reading.encoding_source != "guessed":
        return reading
    told = f"Its encoding is not declared and was guessed ({reading.encoding}): names that are not ASCII may be wrong."
    return replace(reading, reason=f"{reading.reason} {told}" if reading.reason else told)


def _read_as(mime: str, data: bytes, told: _Told) -> Reading:
    """Read bytes whose kind is known; raise `Unreadable`."""
    if mime == HTML:
        return html.read(data, told.content_type, told.url, told.latest)
    if mime == PDF:
        from services.extractor.reading import pdf  # its libraries are large and loaded only where a PDF is read

        return pdf.read(data, told.pdf_backend)
    if mime in _TEXTS:
        return _TEXTS[mime](data, told.content_type)
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
