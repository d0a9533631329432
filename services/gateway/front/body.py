"""The body of a request, received whole before anybody works on it: within a time and not too slowly."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from typing import IO, Any

from services.gateway.front.crowd import Room
from services.gateway.front.head import Head
from services.gateway.problems import Busy, Malformed, TooSlow

IN_MEMORY = 256 * 1024
PIECE = 64 * 1024
LEAST_RATE = 10_000
"""Bytes in a second that a body has to come with, after the first moments."""
LONGEST_S = 900.0
_CHUNK_LINE = 1024


@dataclass(slots=True)
class Pace:
    """How long a client may take: never silent for ``patience`` seconds, and never slower than the least rate."""

    patience: float
    begun: float
    received: int = 0

    def left(self, now: float) -> float:
        """Return how many seconds from now the next bytes have to be there."""
        slow = self.begun + self.patience + self.received / LEAST_RATE
        return min(self.patience, slow - now, self.begun + LONGEST_S - now)


class Body:
    """Bytes that were received, in memory or in a file without a name."""

    def __init__(self, room: Room, holder: tuple[bytes, ...]) -> None:
        self.size = 0
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by `close`
        self._room, self._holder = room, holder

    def add(self, data: bytes) -> None:
        """Keep more bytes; raise `Busy` when there is no room for them."""
        if not self._room.take(self._holder, len(data)):
            raise Busy("Too many large requests are under way: send it again in a moment.")
        self.size += len(data)
        self._file.write(data)

    def rewind(self) -> IO[bytes]:
        """Return the bytes from the first on."""
        self._file.seek(0)
        return self._file

    def close(self) -> None:
        """Let go of everything."""
        self._file.close()
        if self.size:
            self._room.free(self._holder, self.size)
            self.size = 0


async def receive(reader: asyncio.StreamReader, head: Head, body: Body, largest: int, patience: float) -> None:
    """Receive the body, of one in chunks at most a byte more than ``largest``.

    Raises `TooSlow`, `Malformed`, `Busy` or EOFError when the client goes away.
    """
    pace = Pace(patience, time.monotonic())
    pieces = _chunks(reader, pace) if head.chunked else _plain(reader, pace, head.length or 0)
    async for piece in pieces:
        body.add(piece[: largest + 1 - body.size])
        if body.size > largest:
            return


async def _plain(reader: asyncio.StreamReader, pace: Pace, length: int) -> AsyncIterator[bytes]:
    while length:
        piece = await _piece(reader, pace, length)
        length -= len(piece)
        yield piece


async def _chunks(reader: asyncio.StreamReader, pace: Pace) -> AsyncIterator[bytes]:
    while size := _size(await _line(reader, pace)):
        async for piece in _plain(reader, pace, size):
            yield piece
        if await _line(reader, pace):
            raise Malformed("A chunk of the body is longer than it says.")
    trailers = 0
    while line := await _line(reader, pace):
        trailers += len(line)
        if trailers > _CHUNK_LINE:
            raise Malformed("The body has too much behind it.")


def _size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip(b" \t")
    if not 0 < len(digits) <= 8 or digits.strip(b"0123456789abcdefABCDEF"):
        raise Malformed("A chunk of the body does not begin with its size.")
    return int(digits, 16)


async def _line(reader: asyncio.StreamReader, pace: Pace) -> bytes:
    try:
        line = await _timely(reader.readuntil(b"\r\n"), pace)
    except asyncio.IncompleteReadError:
        raise EOFError from None
    except asyncio.LimitOverrunError:
        raise Malformed("A line between the chunks of the body is too long.") from None
    if len(line) > _CHUNK_LINE:
        raise Malformed("A line between the chunks of the body is too long.")
    pace.received += len(line)
    return line[:-2]


async def _piece(reader: asyncio.StreamReader, pace: Pace, length: int) -> bytes:
    piece = await _timely(reader.read(min(length, PIECE)), pace)
    if not piece:
        raise EOFError
    pace.received += len(piece)
    return piece


async def _timely(reading: Coroutine[Any, Any, bytes], pace: Pace) -> bytes:
    try:
        return await asyncio.wait_for(reading, max(0.0, pace.left(time.monotonic())))
    except TimeoutError:
        raise TooSlow("The body of the request came too slowly: send it again over a faster connection.") from None
