"""From bytes to a snapshot in one call, so that all of it runs in a limited subprocess."""

from services.extractor.reading.headers import completed
from services.extractor.reading.read import read
from services.extractor.reading.result import DEFAULT_PDF_BACKEND, PdfBackend, Reading, reader_version
from services.extractor.rules import parse_of, snapshot_of
from shared.contracts.snapshot import Parse, Snapshot
from shared.domain.ids import sha256_hex


def parse_bytes(
    data: bytes,
    name: str,
    content_type: str | None = None,
    url: str | None = None,
    pdf_backend: PdfBackend = DEFAULT_PDF_BACKEND,
    latest: str | None = None,
) -> tuple[Parse, Snapshot | None]:
    """Read a file, or a page with its header and final address; there is a snapshot exactly when there is text."""
    hint = name if url is None else None
    reading = read(data, name=hint, content_type=content_type, url=url, pdf_backend=pdf_backend, latest=latest)
    if url is None:
        reading = completed(reading, name)
    snapshot = snapshot_of(reading) if reading.status == "ok" else None
    return parse_of(reading, sha256_hex(data), snapshot, reader_version(pdf_backend)), snapshot


def parse_failed(content_sha256: str, reason: str, pdf_backend: PdfBackend = DEFAULT_PDF_BACKEND) -> Parse:
    """Return the parse of bytes whose reading was stopped."""
    reading = Reading(status="broken", mime="application/octet-stream", reader="none", reason=reason)
    return parse_of(reading, content_sha256, None, reader_version(pdf_backend))
