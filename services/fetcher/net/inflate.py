"""Content codings undone by hand, so that a small body can never become a large one unnoticed."""

import zlib

from shared.domain.errors import LimitExceeded, Permanent

ACCEPTED = "gzip, deflate"
"""The codings that are asked for."""

_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_RAW = -zlib.MAX_WBITS
_RATIO_FROM = 64 * 1024


class Inflater:
    """Decodes the chunks of one body; ``limit`` bounds the decoded bytes, ``ratio`` decoded by received ones."""

    def __init__(self, coding: str | None, limit: int, ratio: int) -> None:
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB) if coding is not None else None
        self._may_be_raw = coding == "deflate"
        self._limit, self._ratio = limit, ratio
        self.received = 0
        self.body = bytearray()

    @property
    def full(self) -> bool:
        """Tell whether more came than the limit allows."""
        return len(self.body) > self._limit

    def feed(self, chunk: bytes) -> None:
        """Take what was received; `body` grows to at most one byte over the limit. Raise what the body deserves."""
        self.received += len(chunk)
        if self._inflate is None:
            self.body += chunk[: self._limit + 1 - len(self.body)]
            return
        while chunk and not self.full:
            chunk = self._step(chunk)
        if len(self.body) > max(_RATIO_FROM, self.received * self._ratio):
            detail = f"The body grows to over {self._ratio} times its size when it is unpacked."
            raise LimitExceeded("inflate_ratio", detail)

    def finish(self) -> None:
        """Raise when the coded body ended too early."""
        if self._inflate is not None and self.received and not self._inflate.eof:
            raise Permanent("encoding_corrupt", "The compressed body breaks off.")

    def _step(self, chunk: bytes) -> bytes:
        """Decode until the limit or the end of a member; return what is left."""
        if self._inflate is None:
            raise AssertionError("only coded bodies are inflated")
        if self._inflate.eof:  # a further member, or padding that means nothing
            if not chunk.startswith(b"\x1f\x8b"):
                return b""
            self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
        try:
            self.body += self._inflate.decompress(chunk, self._limit + 1 - len(self.body))
        except zlib.error as error:
            if not self._may_be_raw or self.body:
                raise Permanent("encoding_corrupt", "The body is not compressed as its header says.") from error
            self._inflate, self._may_be_raw = zlib.decompressobj(_RAW), False
            return chunk
        return self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail


def coding_of(header: str) -> str | None:
    """Return the one coding of a Content-Encoding header, None for a plain body; raise `Permanent` for any other."""
    codings = [c for c in (part.strip().lower() for part in header.split(",")) if c not in ("", "identity")]
    if len(codings) > 1:
        raise Permanent("encoding_chain", f"The body is packed several times over: {header[:80]}.")
    if codings and codings[0] not in ("gzip", "x-gzip", "deflate"):
        raise Permanent("encoding_unknown", f"The body is packed in a way that was not asked for: {codings[0][:40]}.")
    return codings[0] if codings else None
