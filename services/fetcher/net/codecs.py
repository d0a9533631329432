"""The content codings: each decodes a piece at a time, never gives much more than it is asked for, and needs little.

gzip and deflate by zlib (RFC 9110, 8.4.1), br (RFC 7932), zstd (RFC 8878, with the window of RFC 9659).
"""

import sys
import zlib
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_RAW = -zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"
_STEP = 1 << 20
"""What brotli is asked for at once: it may give twice as much."""
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_WINDOW: Mapping[int, int] = {zstd.DecompressionParameter.window_log_max: 23}
"""8 MiB, the largest window that the coding may ask a reader to keep."""


class CorruptBody(Exception):
    """A body is not what its header says."""

    def __init__(self, detail: str = "The body is not compressed as its header says.") -> None:
        super().__init__(detail)
        self.detail = detail


class Codec(Protocol):
    """Decodes one body."""

    @property
    def more(self) -> bool:
        """Tell whether there is more to give without further input."""
        ...

    @property
    def ended(self) -> bool:
        """Tell whether the body may end here."""
        ...

    def decode(self, chunk: bytes, most: int) -> bytes:
        """Take all of the chunk and give about ``most`` bytes at most; what is over is lost. Raise `CorruptBody`."""
        ...


class _Members:
    """A body of one or several members, each with its own end; padding behind the last one means nothing."""

    def __init__(self, magic: bytes) -> None:
        self._magic = magic
        self._held = b""
        """The beginning of what may be a further member."""
        self.more = False

    def decode(self, chunk: bytes, most: int) -> bytes:
        """Decode as many members as there are."""
        found = bytearray()
        rest = self._held + chunk
        self._held = b""
        while rest and len(found) < most:
            if self._at_end():
                if len(rest) < len(self._magic):
                    self._held = rest
                    break
                if not rest.startswith(self._magic):
                    break
                self._begin()
            decoded, rest = self._step(rest, most - len(found))
            found += decoded
        return bytes(found)

    def _at_end(self) -> bool:
        raise NotImplementedError

    def _begin(self) -> None:
        raise NotImplementedError

    def _step(self, data: bytes, most: int) -> tuple[bytes, bytes]:
        raise NotImplementedError


class Zlib(_Members):
    """gzip and zlib; ``may_be_raw`` for deflate, which some servers send without zlib's frame."""

    def __init__(self, may_be_raw: bool = False) -> None:
        super().__init__(_GZIP_MAGIC)
        self._may_be_raw = may_be_raw
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)

    @property
    def ended(self) -> bool:
        """Tell whether the last member is complete."""
        return self._inflate.eof

    def _at_end(self) -> bool:
        return self._inflate.eof

    def _begin(self) -> None:
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)

    def _step(self, data: bytes, most: int) -> tuple[bytes, bytes]:
        try:
            decoded = self._inflate.decompress(data, most)
        except zlib.error as error:
            if not self._may_be_raw:
                raise CorruptBody from error
            self._inflate, self._may_be_raw = zlib.decompressobj(_RAW), False
            return b"", data
        self._may_be_raw = self._may_be_raw and not decoded
        return decoded, self._inflate.unused_data


class Zstd(_Members):
    """Frames of Zstandard."""

    def __init__(self) -> None:
        super().__init__(_ZSTD_MAGIC)
        self._frame = zstd.ZstdDecompressor(options=_ZSTD_WINDOW)

    @property
    def ended(self) -> bool:
        """Tell whether the last frame is complete."""
        return self._frame.eof

    def _at_end(self) -> bool:
        return self._frame.eof

    def _begin(self) -> None:
        self._frame = zstd.ZstdDecompressor(options=_ZSTD_WINDOW)

    def _step(self, data: bytes, most: int) -> tuple[bytes, bytes]:
        try:
            return self._frame.decompress(data, most), self._frame.unused_data
        except zstd.ZstdError as error:
            raise CorruptBody from error


class Brotli:
    """One stream of brotli."""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    @property
    def more(self) -> bool:
        """Tell whether output waits."""
        return not self._stream.is_finished() and not self._stream.can_accept_more_data()

    @property
    def ended(self) -> bool:
        """Tell whether the stream is complete."""
        return bool(self._stream.is_finished())

    def decode(self, chunk: bytes, most: int) -> bytes:
        """Decode a step; whatever stands behind the end of the stream is refused."""
        try:
            return bytes(self._stream.process(chunk, output_buffer_limit=min(most, _STEP)))
        except brotli.error as error:
            raise CorruptBody from error


CODECS: Final[Mapping[str, Callable[[], Codec]]] = {
    "gzip": Zlib,
    "x-gzip": Zlib,
    "deflate": lambda: Zlib(may_be_raw=True),
    "br": Brotli,
    "zstd": Zstd,
}
