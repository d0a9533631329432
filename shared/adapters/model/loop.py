"""Coroutines for callers that are threads: one event loop in a thread of its own, started with the first call."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

SPARE_S = 5.0
"""How much longer than its deadline a call is waited for, should the loop itself be stuck."""


class LoopThread:
    """Runs coroutines; connections that they share stay open from call to call."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, Result], deadline_s: float) -> Result:
        """Return what the coroutine returns; raises TimeoutError when it takes longer than ``deadline_s`` in all."""
        future = asyncio.run_coroutine_threadsafe(_within(work, deadline_s), self._started())
        try:
            return future.result(deadline_s + SPARE_S)
        except concurrent.futures.CancelledError as error:
            raise TimeoutError("the loop was closed") from error
        finally:
            future.cancel()

    def close(self) -> None:
        """End the loop and its thread; calls under way end with TimeoutError."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(SPARE_S)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name=self._name, daemon=True)
                self._thread.start()
            return self._loop


async def _within(work: Coroutine[Any, Any, Result], deadline_s: float) -> Result:
    async with asyncio.timeout(deadline_s):
        return await work


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped, then cancel what is left in it."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
