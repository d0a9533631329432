"""The front as a thread of the worker: starts with it, and ends after it when the last answers are handed on."""

import asyncio
import threading
from pathlib import Path
from socket import socket

from services.gateway.front.head import LARGEST_HEAD
from services.gateway.front.relay import Relay, Terms

STOP_S = 3.0
"""How long answers may take to get out after a stop."""
BACKLOG = 1024


class Front:
    """Serves ``listener`` before the application at ``inner`` until it is stopped."""

    def __init__(self, listener: socket, inner: Path, terms: Terms) -> None:
        self._listener, self._inner, self._terms = listener, inner, terms
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        # No daemon: the process waits for it, or the last bytes of answers would be lost.
        self._thread = threading.Thread(target=self._run, name="front")

    def start(self) -> None:
        """Begin to take connections."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more, hand on what is being answered, and end; from any thread."""
        self._loop.call_soon_threadsafe(self._stop.set)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        relay = Relay(self._inner, self._terms)
        server = await asyncio.start_server(relay.serve, sock=self._listener, limit=LARGEST_HEAD, backlog=BACKLOG)
        await self._stop.wait()
        server.close()
        relay.stop_receiving()
        if relay.open:
            await asyncio.wait(relay.open, timeout=STOP_S)
