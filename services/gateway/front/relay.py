"""Takes connections, receives one whole request of each, hands it to the application and its answer back.

The application listens on a local socket and has a bounded number of threads; a request gets there when all of it is
here. One connection carries one request: answers need not be understood to be handed on, whatever their length.
"""

import asyncio
import contextlib
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from services.gateway.doors import HEADERS
from services.gateway.front.body import PIECE, Body, receive
from services.gateway.front.crowd import Crowd, Room, address_of
from services.gateway.front.head import CONTINUE, Head, parse
from services.gateway.problems import ADVICE, MEDIA_TYPE, Busy, HeadTooLarge, TooMany, TooSlow, problem_of
from services.gateway.routes import DOCUMENTS
from shared.domain.errors import LeadlineError

STUCK_S = 60.0
"""How long a client may take nothing of its answer."""
LINGER_S = 5.0
"""How long what a client still sends is thrown away, so that it gets to read its answer."""
START_S = 20.0
LOOK_S = 0.05
_QUESTION = f"{DOCUMENTS}?limit=1".encode()


@dataclass(frozen=True, slots=True)
class Terms:
    """What the front takes: sizes in bytes, ``patience`` in seconds."""

    max_small: int
    max_upload: int
    uploads_at_once: int
    connections: int
    connections_of_one: int
    patience: float

    def largest(self, method: str, path: str) -> int:
        """Return the largest body that is received for a route; of a larger one only its length is told."""
        return self.max_upload if (method, path) == ("POST", DOCUMENTS) else self.max_small


class Relay:
    """Serves connections before the application that listens at ``inner``; lives in one event loop."""

    def __init__(self, inner: Path, terms: Terms) -> None:
        self._inner, self._terms = inner, terms
        self._crowd = Crowd(terms.connections, terms.connections_of_one)
        self._room = Room(8 * terms.max_upload)
        self._uploads = asyncio.Semaphore(terms.uploads_at_once)
        self._receiving: set[asyncio.Task[None]] = set()
        self.open: set[asyncio.Task[None]] = set()

    def stop_receiving(self) -> None:
        """Drop the requests that are not here yet; the others are answered."""
        for task in list(self._receiving):
            task.cancel()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection and close it."""
        task = asyncio.current_task()
        assert task is not None
        address = address_of(str((writer.get_extra_info("peername") or ("",))[0]))
        self.open.add(task)
        task.add_done_callback(self.open.discard)
        entered = self._crowd.enter(address)
        try:
            with contextlib.suppress(EOFError, OSError, TimeoutError, asyncio.CancelledError):
                if entered:
                    await self._answer(reader, writer, task)
                else:
                    await _refuse(writer, TooMany("This address has too many connections open: close some of them."))
        finally:
            if entered:
                self._crowd.leave(address)
            writer.transport.abort() if writer.transport.get_write_buffer_size() else writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, task: asyncio.Task[None]
    ) -> None:
        body: Body | None = None
        self._receiving.add(task)
        try:
            try:
                head = await self._head(reader)
                body = Body(self._room, head.credentials)
                length = await self._receive(reader, writer, head, body)
            finally:
                self._receiving.discard(task)
            await self._hand_over(writer, head, body, length)
        except LeadlineError as error:
            await _refuse(writer, error)
        finally:
            if body is not None:
                body.close()
        await _linger(reader, writer)

    async def _head(self, reader: asyncio.StreamReader) -> Head:
        """Return the head; a client that sends nothing is left without an answer."""
        try:
            data = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), self._terms.patience)
        except asyncio.IncompleteReadError:
            raise EOFError from None
        except asyncio.LimitOverrunError:
            raise HeadTooLarge("The head of the request is too large: send fewer or shorter headers.") from None
        except TimeoutError:
            raise TooSlow("The head of the request came too slowly.") from None
        return parse(data.lstrip(b"\r\n"))

    async def _receive(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: Head, body: Body
    ) -> int | None:
        """Receive the body and return the length to be told; nothing is received that will be refused anyhow."""
        if not head.chunked and not head.length:
            return head.length
        terms = self._terms
        uploads = _is_upload(head)
        largest = terms.largest(head.method.decode(), head.path)
        if (head.length or 0) > largest:
            return head.length
        is_large = head.chunked or (head.length or 0) > terms.max_small
        if uploads and is_large and not await self._is_known(head):
            return 0
        if head.expects_continue:
            writer.write(CONTINUE)
        await receive(reader, head, body, largest, terms.patience)
        size = body.size
        if size > largest:
            body.close()
        return size

    async def _is_known(self, head: Head) -> bool:
        """Ask the application whether it takes uploads of this client at all."""
        reader, writer = await self._connect()
        try:
            writer.write(head.asking(_QUESTION))
            line = await reader.readline()
        finally:
            writer.close()
        return line.split(b" ", 2)[1:2] not in ([b"401"], [b"403"])

    async def _hand_over(self, writer: asyncio.StreamWriter, head: Head, body: Body, length: int | None) -> None:
        if _is_upload(head):
            async with self._uploads:
                await self._exchange(writer, head, body, length)
        else:
            await self._exchange(writer, head, body, length)

    async def _exchange(self, writer: asyncio.StreamWriter, head: Head, body: Body, length: int | None) -> None:
        """Send the request to the application and its answer to the client, as fast as the client takes it."""
        inner_reader, inner_writer = await self._connect()
        sending = asyncio.ensure_future(_send(inner_writer, head.written(length), body))
        try:
            while piece := await inner_reader.read(PIECE):
                writer.write(piece)
                await asyncio.wait_for(writer.drain(), STUCK_S)
        finally:
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await sending
            inner_writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a connection to the application, which may be starting still."""
        deadline = asyncio.get_running_loop().time() + START_S
        while True:
            try:
                return await asyncio.open_unix_connection(str(self._inner))
            except OSError:
                if asyncio.get_running_loop().time() > deadline:
                    raise Busy("The application does not answer: try again soon.") from None
                await asyncio.sleep(LOOK_S)


def _is_upload(head: Head) -> bool:
    return head.method == b"POST" and head.path == DOCUMENTS


async def _send(writer: asyncio.StreamWriter, head: bytes, body: Body) -> None:
    """Send a request; one that is answered before all of it was read is sent in part."""
    with contextlib.suppress(OSError):
        writer.write(head)
        if body.size:
            file = body.rewind()
            while piece := file.read(PIECE):
                writer.write(piece)
                await writer.drain()
        await writer.drain()


async def _refuse(writer: asyncio.StreamWriter, error: LeadlineError) -> None:
    """Answer what the front itself refuses, as problem details like every other error."""
    problem = problem_of(error)
    content = problem.model_dump_json(exclude_none=True).encode()
    headers = {
        **HEADERS,
        **ADVICE.get(problem.status, {}),
        "Content-Type": MEDIA_TYPE,
        "Content-Length": str(len(content)),
        "Connection": "close",
    }
    lines = [
        f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}",
        *(f"{n}: {v}" for n, v in headers.items()),
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + content)
    await asyncio.wait_for(writer.drain(), STUCK_S)


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Close our side, then throw away what the client still sends: closing at once would take its answer away."""
    if writer.can_write_eof():
        writer.write_eof()
    async with asyncio.timeout(LINGER_S):
        while await reader.read(PIECE):
            continue
