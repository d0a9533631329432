"""The process that opens one page in a browser: ``python -m services.fetcher.rendering.page``, task on stdin.

It holds no secret and no connection of ours: everything that the browser asks for goes to the proxy that it is given.
It ends with its parent.
"""

import os
import re
import sys
import threading
import time
from contextlib import suppress
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Error, Page, Playwright, Request, Route, sync_playwright

from services.fetcher.rendering.contract import MAX_HTML, RenderResult, RenderTask
from services.fetcher.robots import RobotsRules
from shared.domain.errors import NotAllowed
from shared.domain.text import clean
from shared.domain.urls import Url, parse_url

FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--dns-prefetch-disable",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
"""No traffic beside the proxy: no names looked up, no QUIC, no WebRTC, and loopback goes through the proxy as well."""

WITHOUT = (
    "for (const name of ['RTCPeerConnection','webkitRTCPeerConnection','WebTransport','SharedWorker'])"
    " { try { delete window[name] } catch (error) {} }"
)
UNREAD = frozenset({"image", "media", "font"})
_NET_ERROR = re.compile(r"net::(ERR_[A-Z_]+)")
_CODES = {
    "ERR_ABORTED": "download_refused",
    "ERR_TUNNEL_CONNECTION_FAILED": "connect_failed",
    "ERR_TIMED_OUT": "timeout",
}


class _Visit:
    """Decides about each request of the page."""

    def __init__(self, task: RenderTask, start: Url) -> None:
        self._task, self._start = task, start
        self._rules = RobotsRules(task.robots.encode(), "*")
        self._asked = 0
        self.dropped = 0

    def judge(self, route: Route) -> None:
        """Let a request go on, or drop it: the page may load what it needs, and may not lead elsewhere."""
        request = route.request
        self._asked += 1
        wanted = request.resource_type not in UNREAD and self._asked <= self._task.requests
        leads_away = _leads_away(request)
        if wanted and self._may_ask(request.url, own_only=leads_away):
            route.continue_()
            return
        self.dropped += 1
        if leads_away and request.url != self._task.url:
            route.fulfill(status=204)  # the page stays as it is; an aborted navigation would put an error in its place
        else:
            route.abort("blockedbyclient")

    def _may_ask(self, address: str, *, own_only: bool) -> bool:
        if urlsplit(address).scheme in ("data", "blob"):
            return not own_only
        try:
            url = parse_url(address)
        except NotAllowed:
            return False
        return self._rules.allows(url) if url.origin == self._start.origin else not own_only


def _leads_away(request: Request) -> bool:
    """Tell whether a request would fill a window anew; one that is just being opened has no frame yet."""
    if not request.is_navigation_request():
        return False
    try:
        return request.frame.parent_frame is None
    except Error:
        return True


def render(task: RenderTask) -> RenderResult:
    """Open the page, let it settle, and return its markup."""
    visit = _Visit(task, parse_url(task.url))
    with sync_playwright() as playwright:
        browser = _launch(playwright, task)
        try:
            page = _page(browser, task, visit)
            try:
                response = page.goto(task.url, wait_until="domcontentloaded", timeout=task.load_s * 1000)
            except Error as error:
                return _failed(error)
            with suppress(Error):  # a page that goes on loading is read as far as it has come
                page.wait_for_load_state("networkidle", timeout=task.settle_s * 1000)
            html = clean(page.content())
            status = response.status if response is not None else 0
            return RenderResult(page.url, status, html[:MAX_HTML], len(html) > MAX_HTML, visit.dropped)
        except Error as error:
            return _failed(error)
        finally:
            with suppress(Error):  # it may have crashed
                browser.close()


def _launch(playwright: Playwright, task: RenderTask) -> Browser:
    """Start the browser in its own sandbox where the system lets it, else without."""
    proxy = {"server": f"http://127.0.0.1:{task.proxy_port}"}
    start = playwright.chromium.launch
    if os.geteuid() != 0:
        with suppress(Error):
            return start(executable_path=task.program, args=[*FLAGS], proxy=proxy, chromium_sandbox=True)  # type: ignore[arg-type]
    return start(executable_path=task.program, args=[*FLAGS], proxy=proxy)  # type: ignore[arg-type]


def _page(browser: Browser, task: RenderTask, visit: _Visit) -> Page:
    context: BrowserContext = browser.new_context(
        user_agent=task.user_agent, accept_downloads=False, service_workers="block"
    )
    context.add_init_script(WITHOUT)
    context.route("**/*", visit.judge)
    context.route_web_socket("**/*", lambda socket: socket.close())
    page = context.new_page()
    context.on("page", lambda other: other.close())
    return page


def _failed(error: Error) -> RenderResult:
    text = error.message.split("\n", 1)[0][:300]
    found = _NET_ERROR.search(text)
    if found is None:
        known = {"TimeoutError": "deadline"}.get(type(error).__name__)
        return RenderResult(
            error=known or ("download_refused" if "Download" in text else "browser_failed"), detail=text
        )
    name = found[1]
    return RenderResult(
        error="tls_certificate" if "_CERT_" in name else _CODES.get(name, "connection_lost"), detail=name
    )


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main() -> None:
    """Read a task, write its result."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    result = render(RenderTask.from_json(sys.stdin.read()))
    sys.stdout.write(result.to_json())


if __name__ == "__main__":
    main()
