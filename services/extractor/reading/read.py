"""The one way in: bytes and what is known of them to a `Reading`."""

from urllib.parse import unquote, urlsplit

from services.extractor.reading import html, markdown, plain
from services.extractor.reading.mime import HTML, MARKDOWN, PDF, PLAIN, sniff
from services.extractor.reading.result import MAX_BYTES, Reading


def read(data: bytes, *, name: str | None, content_type: str | None, url: str | None) -> Reading:
    """Read a file of any kind; every input ends in a status, none in an exception of its own.

    `name` is the file's name, `content_type` the header's value, `url` the final address of a page. The bytes decide
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
    if mime == HTML:
        return html.read(data, content_type, url)
    if mime == MARKDOWN:
        return markdown.read(data, content_type)
    if mime == PLAIN:
        return plain.read(data, content_type)
    if mime == PDF:
        from services.extractor.reading import pdf  # PyMuPDF is large and loaded only where a PDF is read

        return pdf.read(data)
    return Reading("unsupported", mime, "none", reason=f"There is no reader for {mime}.")


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
