"""Content codings undone by hand, so that a small body can never become a large one unnoticed."""

from services.fetcher.net.codecs import CODECS, Codec, CorruptBody
from shared.domain.errors import LimitExceeded, Permanent

ACCEPTED = "gzip, deflate, br, zstd"
"""The codings that are asked for."""

_RATIO_FROM = 64 * 1024


class Inflater:
    """Decodes the chunks of one body; ``limit`` bounds the decoded bytes, ``ratio`` decoded by received ones."""

    def __init__(self, coding: str | None, limit: int, ratio: int) -> None:
        self._codec: Codec | None = CODECS[coding]() if coding is not None else None
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
        if self._codec is None:
            self._take(chunk)
            return
        try:
            self._take(self._codec.decode(chunk, self._room))
            self._judge()
            while self._codec.more and not self.full:
                self._take(self._codec.decode(b"", self._room))
                self._judge()
        except CorruptBody as error:
            raise Permanent("encoding_corrupt", error.detail) from error

    def finish(self) -> None:
        """Raise when the coded body ended too early."""
        if self._codec is not None and self.received and not self._codec.ended:
            raise Permanent("encoding_corrupt", "The compressed body breaks off.")

    @property
    def _room(self) -> int:
        most = self._limit if self._codec is None else min(self._limit, self._allowed)
        return most + 1 - len(self.body)

    @property
    def _allowed(self) -> int:
        """Return what the ratio lets the body be, as much as has come so far."""
        return max(_RATIO_FROM, self.received * self._ratio)

    def _take(self, decoded: bytes) -> None:
        self.body += decoded[: self._room]

    def _judge(self) -> None:
        if len(self.body) > self._allowed:
            detail = f"The body grows to over {self._ratio} times its size when it is unpacked."
            raise LimitExceeded("inflate_ratio", detail)


def coding_of(header: str) -> str | None:
    """Return the one coding of a Content-Encoding header, None for a plain body; raise `Permanent` for any other."""
    codings = [c for c in (part.strip().lower() for part in header.split(",")) if c not in ("", "identity")]
    if len(codings) > 1:
        raise Permanent("encoding_chain", f"The body is packed several times over: {header[:80]}.")
    if codings and codings[0] not in CODECS:
        raise Permanent("encoding_unknown", f"The body is packed in a way that was not asked for: {codings[0][:40]}.")
    return codings[0] if codings else None
