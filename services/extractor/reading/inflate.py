"""Bytes that a server packed on their way: unpacked within a limit, where they are what the header says."""

import zlib

from services.extractor.reading.result import MAX_BYTES

_GZIP = b"\x1f\x8b"
_ANY_HEADER = 32 + zlib.MAX_WBITS  # zlib's own word for "gzip or zlib, whichever it is"


def inflated(data: bytes, content_encoding: str | None) -> bytes:
    """Return the body as it was before it was packed; one that is not packed, or damaged, as far as it can be read.

    At most one byte more than a file may have is unpacked, which the reader then refuses as too large.
    """
    if (content_encoding or "").strip().lower() not in ("gzip", "x-gzip") or not data.startswith(_GZIP):
        return data
    try:
        return zlib.decompressobj(_ANY_HEADER).decompress(data, MAX_BYTES + 1)
    except zlib.error:
        return data
