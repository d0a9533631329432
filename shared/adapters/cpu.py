"""The `Cpu` port on a pool of spawned processes (pebble)."""

import math
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessFuture, ProcessPool

from shared.ports.cpu import CpuBusy, CpuClosed, CpuLimitExceeded, CpuLimits, CpuTaskCrashed

T = TypeVar("T")

_START_GRACE_S = 60.0  # what a fresh child may take to start and import, and pebble to notice a dead one
_MAX_TASKS = 200  # then a child is replaced, so that what it leaked goes with it
_WAIT_S = 15.0  # for a free child: with the longest limits and the start of a child, less than any step's deadline


class ProcessCpu:
    """A pool of `workers` child processes, started with the first task.

    Children are spawned, not forked, because the callers are threads. No more tasks are handed to the pool than it has
    children, so a task starts at once and its limits mean what they say. Should the pool itself break (a child killed
    while idle, or while it answered), the next task gets a new pool.
    """

    def __init__(self, workers: int, wait_s: float = _WAIT_S) -> None:
        """Nothing is started yet; a task waits at most ``wait_s`` seconds for a child."""
        self._workers, self._wait_s = workers, wait_s
        self._free = threading.BoundedSemaphore(workers)
        self._lock = threading.Lock()
        self._pool: ProcessPool | None = None
        self._futures: set[ProcessFuture[Any]] = set()
        self._closed = False

    def run(self, function: Callable[..., T], *args: object, limits: CpuLimits) -> T:
        """Return ``function(*args)``, run in a child under `limits`; see the port."""
        if not self._free.acquire(timeout=self._wait_s):
            raise CpuBusy
        try:
            return self._run_once(function, args, limits)
        except BrokenProcessPool:
            return self._run_once(function, args, limits, last=True)
        finally:
            self._free.release()

    def close(self) -> None:
        """Stop all children; running tasks end with CpuClosed."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
            futures = tuple(self._futures)
        for future in futures:
            future.cancel()  # type: ignore[no-untyped-call]
        if pool is not None:
            _stop(pool)

    def _run_once(
        self, function: Callable[..., T], args: tuple[object, ...], limits: CpuLimits, *, last: bool = False
    ) -> T:
        """Run a task in the present pool; a broken pool is thrown away and, unless this is the `last` try, told."""
        pool, future = self._schedule(function, args, limits)
        try:
            return future.result(timeout=limits.wall_s + _START_GRACE_S)
        except CancelledError as error:
            raise CpuClosed from error
        except TimeoutError as error:
            if future.done():  # pebble's word, not our patience
                raise CpuLimitExceeded("wall") from error
            self._discard(pool)
            raise CpuTaskCrashed(None) from error
        except ProcessExpired as error:
            if error.exitcode == -signal.SIGXCPU:
                raise CpuLimitExceeded("cpu") from error
            if error.exitcode == -signal.SIGALRM:
                raise CpuLimitExceeded("wall") from error
            raise CpuTaskCrashed(error.exitcode) from error
        except BrokenProcessPool as error:
            self._discard(pool)
            if last:
                raise CpuTaskCrashed(None) from error
            raise
        finally:
            with self._lock:
                self._futures.discard(future)

    def _schedule(
        self, function: Callable[..., T], args: tuple[object, ...], limits: CpuLimits
    ) -> tuple[ProcessPool, ProcessFuture[T]]:
        """Hand a task to the pool, starting one if there is none that works."""
        with self._lock:
            if self._closed:
                raise CpuClosed
            if self._pool is not None and not self._pool.active:
                _stop(self._pool)
                self._pool = None
            if self._pool is None:
                self._pool = ProcessPool(self._workers, _MAX_TASKS, _prepare_child, context=get_context("spawn"))
            try:
                future = self._pool.schedule(_run_limited, (function, args, limits), timeout=limits.wall_s)
            except RuntimeError as error:  # it broke just now
                raise BrokenProcessPool from error
            self._futures.add(future)
            return self._pool, future

    def _discard(self, pool: ProcessPool) -> None:
        """Throw a broken pool away."""
        with self._lock:
            if self._pool is pool:
                self._pool = None
        _stop(pool)


def _stop(pool: ProcessPool) -> None:
    """Stop a pool and wait for its threads and children."""
    pool.stop()  # type: ignore[no-untyped-call]
    pool.join()


def _prepare_child() -> None:
    """Keep a child from writing a core file when it is killed, and from outliving its parent; runs in each once."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()


def _end_with_parent() -> None:
    """End this process as soon as its parent is gone: nobody would stop its task, or want the answer."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _run_limited(function: Callable[..., T], args: tuple[object, ...], limits: CpuLimits) -> T:
    """Run one task in the child under its limits."""
    try:
        with (
            _soft_limit(resource.RLIMIT_CPU, _processor_limit(limits)),
            _soft_limit(resource.RLIMIT_AS, _memory_limit(limits)),
        ):
            # The parent stops a task at its wall-clock limit. Should it be gone and this process be stuck in native
            # code, where no thread of ours gets a turn, the kernel ends it a little later.
            signal.setitimer(signal.ITIMER_REAL, limits.wall_s + _START_GRACE_S)
            return function(*args)
    except MemoryError:
        raise CpuLimitExceeded("memory") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def _soft_limit(which: int, value: int) -> Iterator[None]:
    """Lower a soft limit of this process for a while; the hard limit stays, so the soft one can be raised again."""
    before, hard = resource.getrlimit(which)
    resource.setrlimit(which, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(which, (before, hard))


def _processor_limit(limits: CpuLimits) -> int:
    """Return the processor seconds, counted from the start of this process, at which the task's own are used up."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return max(1, math.ceil(usage.ru_utime + usage.ru_stime + limits.cpu_s))


def _memory_limit(limits: CpuLimits) -> int:
    """Return the address space in bytes that the child has now, and the task's own on top."""
    if sys.platform != "linux":
        return limits.memory_bytes
    with open("/proc/self/statm", encoding="ascii") as sizes:
        pages = int(sizes.read().split()[0])
    return pages * resource.getpagesize() + limits.memory_bytes
