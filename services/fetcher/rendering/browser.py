"""The browser as the worker uses it: one page at a time, started for the page and gone with it, cut at its time."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from services.fetcher.net.connection import Deadline, Route
from services.fetcher.net.messages import FetchLimits
from services.fetcher.net.proxy import JudgingProxy, PageLimits, Traffic
from services.fetcher.rendering.contract import RenderResult, RenderTask
from services.fetcher.web import WayOut
from shared.domain.errors import LimitExceeded, NoPlace, NotAllowed, Permanent, StepError, Transient
from shared.domain.urls import Url

ROOT = Path(__file__).parents[3]
TOTAL_S = 35.0
"""For a page with everything, the start of the browser included; shorter than the time for which a slot is held."""
BUSY_S = 2.0
REMOVAL_S = 5.0
_MODULE = "services.fetcher.rendering.page"
_PERMANENT = frozenset({"download_refused", "tls_certificate"})


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page after its scripts, and what they loaded."""

    result: RenderResult
    traffic: Traffic


class Browser:
    """Reads one page at a time in this process; costs nothing in between."""

    def __init__(self, program: Path, way: WayOut, total_s: float = TOTAL_S, limits: PageLimits | None = None) -> None:
        self._program, self._way, self._total_s, self._limits = program, way, total_s, limits
        self._one = threading.Lock()

    def render(self, url: Url, robots: str, refuse: Callable[[str], None]) -> Rendered:
        """Return the page; ``refuse`` raises for hosts that policy forbids.

        Raises `NoPlace` while another page is being read, and a typed `StepError` for a page that cannot be.
        """
        if not self._one.acquire(blocking=False):
            raise NoPlace("browser_busy", "The browser reads another page.", BUSY_S)
        try:
            return self._render(url, robots, refuse)
        finally:
            self._one.release()

    def _render(self, url: Url, robots: str, refuse: Callable[[str], None]) -> Rendered:
        way = self._way
        route = Route(way.resolver, way.allowance, way.tls, FetchLimits(total_s=self._total_s), Deadline(self._total_s))
        proxy = JudgingProxy(route, refuse, self._limits)
        try:
            task = RenderTask(str(url), proxy.port, str(self._program), way.user_agent, robots)
            result = self._run(task)
        finally:
            proxy.close()
        if result.error is not None:
            raise _error(result, url, proxy.traffic)
        return Rendered(result, proxy.traffic)

    def _run(self, task: RenderTask) -> RenderResult:
        """Run the page's process within its time; nothing of our environment reaches it."""
        with _folder() as folder:
            environment = {
                "PATH": os.defpath,
                "HOME": folder,
                "TMPDIR": folder,
                "PYTHONPATH": str(ROOT),
                "PYTHONSAFEPATH": "1",
                "PYTHONDONTWRITEBYTECODE": "1",
            }
            process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", _MODULE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                cwd=folder,
                text=True,
                start_new_session=True,
            )
            try:
                told, _ = process.communicate(task.to_json(), timeout=self._total_s)
            except subprocess.TimeoutExpired:
                raise LimitExceeded("deadline", f"The page was not ready after {self._total_s:.0f} s.") from None
            finally:
                _end(process)
        try:
            return RenderResult.from_json(told)
        except ValueError:
            raise Transient("browser_failed", "The browser ended without an answer.") from None


@contextmanager
def _folder() -> Iterator[str]:
    """Yield a folder for the browser's files and remove it; a browser that is just ending may still write to it."""
    folder = Path(mkdtemp(prefix="leadline-page-"))
    try:
        yield str(folder)
    finally:
        end = time.monotonic() + REMOVAL_S
        while folder.exists() and time.monotonic() < end:
            shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.05)


def _end(process: subprocess.Popen[str]) -> None:
    """End what the page's process may have left: the browser ends by itself once nobody holds its pipe."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
    if process.stdout is not None:
        process.stdout.close()


def _error(result: RenderResult, url: Url, traffic: Traffic) -> StepError:
    code = result.error or "browser_failed"
    refused = [reason for address, reason in traffic.refused if url.host in address]
    if code in ("connect_failed", "connection_lost") and refused:
        return NotAllowed(refused[0], f"{url.netloc} may not be connected to.")
    if code in _PERMANENT:
        return Permanent(code, f"{url} is not a page that a browser shows: {result.detail}.")
    if code == "deadline":
        return LimitExceeded(code, f"{url.netloc} did not answer the browser in time.")
    return Transient(code, f"The browser could not read {url}: {result.detail}.")
