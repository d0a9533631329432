"""A real Chromium behind the judging proxy: what it reads, what it never reaches, and that it is cut at its time."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from services.fetcher.rendering.browser import Browser, Rendered
from services.fetcher.web import WayOut, user_agent
from shared.domain.errors import LimitExceeded, NotAllowed, Permanent, RateLimited, StepError
from shared.domain.urls import parse_url
from shared.guards.addresses import Allowance, parse_networks
from tests.support.real_browser import browser_program
from tests.support.site import Reply, Site, running_site
from tests.support.waiting import wait_until

HOST = "spa.test"
INSIDE = "127.0.0.9"
"""Where nothing may lead; a site listens there and counts."""


@pytest.fixture(scope="module")
def program() -> Path:
    """The browser."""
    return browser_program()


@pytest.fixture
def site() -> Iterator[Site]:
    """A site on 127.0.0.1."""
    with running_site() as made:
        yield made


def browser(program: Path, total_s: float = 30) -> Browser:
    """Return a browser that reaches 127.0.0.1 under any name but one."""
    way = WayOut(
        Allowance(parse_networks("127.0.0.1")),
        lambda host, timeout_s: ["10.0.0.7" if host == "inner.test" else "127.0.0.1"],
        user_agent=user_agent("0.1.0", "https://example.org/about"),
    )
    return Browser(program, way, total_s)


def allow_all(host: str) -> None:
    """Refuse no host."""


def render(site: Site, program: Path, body: str, robots: str = "", total_s: float = 30) -> Rendered:
    """Read a page with this body."""
    url = site.answer(HOST, "/app", f"<!doctype html><title>App</title><div id=root></div>{body}")
    return browser(program, total_s).render(parse_url(url), robots, allow_all)


FILL = "document.getElementById('root').textContent = "


def test_a_page_is_read_as_it_stands_after_its_scripts(site: Site, program: Path) -> None:
    """Text that scripts fetch and write is there, and the site sees an honest agent."""
    site.answer(HOST, "/data.json", Reply('{"depth": "14.2 metres"}', headers={"Content-Type": "application/json"}))
    then = f"{FILL}'The basin is ' + d.depth"
    script = f"<script>fetch('/data.json').then(r => r.json()).then(d => {{{then}}})</script>"
    found = render(site, program, script)
    assert "The basin is 14.2 metres" in found.result.html
    assert (found.result.status, found.result.url) == (200, site.url(HOST, "/app"))
    assert {visit.agent for visit in site.visits()} == {"Leadline/0.1 (+https://example.org/about)"}
    assert found.traffic.refused == []


ESCAPES = {
    "fetch": "fetch('http://{inside}/x').catch(() => 0)",
    "metadata": "fetch('http://169.254.169.254/latest/meta-data/').catch(() => 0)",
    "name that leads inside": "fetch('http://inner.test/x').catch(() => 0)",
    "loopback by name": "fetch('http://localhost:{port}/x').catch(() => 0)",
    "image": "new Image().src = 'http://{inside}/x.png'",
    "frame": "document.body.append(Object.assign(document.createElement('iframe'), {{src: 'http://{inside}/x'}}))",
    "script": "document.body.append(Object.assign(document.createElement('script'), {{src: 'http://{inside}/x.js'}}))",
    "beacon": "navigator.sendBeacon('http://{inside}/x', 'y')",
    "web socket": "new WebSocket('ws://{inside}/x')",
    "event stream": "new EventSource('http://{inside}/x')",
    "form": (
        "{{const f = document.createElement('form'); f.action = 'http://{inside}/x';"
        " document.body.append(f); f.submit()}}"
    ),
    "navigation": "location.href = 'http://{inside}/x'",
    "window": "window.open('http://{inside}/x')",
    "worker": "new Worker(URL.createObjectURL(new Blob([`fetch('http://{inside}/x')`])))",
    "file": "fetch('file:///etc/passwd').then(r => r.text()).then(t => {{document.title = t}}).catch(() => 0)",
    "webrtc": (
        "window.RTCPeerConnection && (() => {{const c = new RTCPeerConnection({{iceServers: [{{urls: 'stun:{inside}'}}]"
        "}}); c.createDataChannel('x'); c.createOffer().then(o => c.setLocalDescription(o))}})()"
    ),
    "prefetch": "document.head.append(Object.assign(document.createElement('link'), {{rel: 'prefetch', href: 'http://{inside}/x'}}))",
}


def test_no_request_of_a_page_reaches_the_inside(site: Site, program: Path) -> None:
    """Seventeen ways out of a page, all at once: a listener inside hears nothing, and the page is still read."""
    heard: list[str] = []
    with listener(heard) as port:
        ways = [way.format(inside=f"{INSIDE}:{port}", port=port) for way in ESCAPES.values()]
        last = [way for way in ways if "location.href" in way or "submit" in way]
        now = "\n".join(f"try {{ {way} }} catch (error) {{}}" for way in ways if way not in last)
        later = "\n".join(f"setTimeout(() => {{ {way} }}, 300)" for way in last)
        found = render(site, program, f"<script>{FILL}'The text stays.';\n{now}\n{later}</script>")
    assert heard == []
    assert "The text stays." in found.result.html
    assert "root:" not in found.result.html
    codes = {code for _, code in found.traffic.refused}
    assert {"ip_loopback", "ip_metadata", "ip_private"} <= codes


@contextmanager
def listener(heard: list[str]) -> Iterator[int]:
    """Yield the port of somebody who listens inside and notes who connects."""
    with socket.create_server((INSIDE, 0)) as server:

        def accept() -> None:
            while True:
                try:
                    server.accept()[0].close()
                except OSError:
                    return
                heard.append("connection")

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def test_robots_speak_for_what_a_page_loads(site: Site, program: Path) -> None:
    """What the site forbids is not asked for by a page of it either."""
    site.answer(HOST, "/private/data", "secret")
    rules = "User-agent: *\nDisallow: /private"
    script = f"<script>fetch('/private/data').catch(() => 0).then(() => {{ {FILL}'done' }})</script>"
    found = render(site, program, script, robots=rules)
    assert "done" in found.result.html
    assert "/private/data" not in site.paths()
    assert found.result.dropped >= 1


def test_a_download_is_refused(site: Site, program: Path) -> None:
    """An address that sends a file ends in an error and leaves nothing behind."""
    file = Reply(b"\0" * 100, headers={"Content-Type": "application/zip", "Content-Disposition": "attachment"})
    url = site.answer(HOST, "/file", file)
    with pytest.raises(Permanent, match="download_refused"):
        browser(program).render(parse_url(url), "", allow_all)


@pytest.mark.parametrize(
    "body",
    [
        "<script>for (;;) {}</script>",
        "<script>setTimeout(() => { for (;;) {} }, 50)</script>",
        "<script>const grow = []; for (;;) grow.push(document.body.appendChild(document.createElement('p')))</script>",
    ],
)
def test_a_page_that_never_ends_is_cut(site: Site, program: Path, body: str) -> None:
    """At its time, with every process of the browser."""
    with pytest.raises(StepError) as caught:
        render(site, program, body, total_s=6)
    assert caught.value.code in ("deadline", "browser_failed")
    wait_until(lambda: not left_over(), "the browser is gone")


def test_a_page_that_keeps_loading_is_read_as_far_as_it_has_come(site: Site, program: Path) -> None:
    """A stream without an end does not keep its page from being read."""
    site.answer(HOST, "/stream", Reply(raw=lambda handler: site.closing.wait(60) and None))
    found = render(site, program, f"<script>{FILL}'Here already.'; fetch('/stream')</script>")
    assert "Here already." in found.result.html


def left_over() -> list[str]:
    """Return the processes that live in the folder of a page; one that has ended has no arguments any more."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it ended meanwhile
            found.append(path.read_text(errors="replace"))
    return [line for line in found if "leadline-page-" in line]


def test_one_page_at_a_time(site: Site, program: Path) -> None:
    """A second page is put off while the first one is read."""
    site.latency[HOST] = 1.5
    reader = browser(program)
    url = parse_url(site.answer(HOST, "/app", "<p>slow</p>"))
    results: list[object] = []
    first = threading.Thread(target=lambda: results.append(reader.render(url, "", allow_all)))
    first.start()
    wait_until(lambda: bool(left_over()), "the first page has begun")
    with pytest.raises(RateLimited, match="browser_busy"):
        reader.render(url, "", allow_all)
    first.join(30)
    assert len(results) == 1


def test_the_page_itself_is_judged(program: Path) -> None:
    """An address that leads inside is refused by name, like that of a static page."""
    with pytest.raises(NotAllowed, match="ip_private"):
        browser(program).render(parse_url("http://inner.test/"), "", allow_all)


def test_silence_ends_a_page(site: Site, program: Path) -> None:
    """A site that does not answer is given up."""
    url = site.answer(HOST, "/silent", Reply(raw=lambda handler: site.closing.wait(60) and None))
    with pytest.raises(LimitExceeded, match="deadline"):
        browser(program, total_s=4).render(parse_url(url), "", allow_all)


def test_a_page_that_opens_windows_is_read(site: Site, program: Path) -> None:
    """A window that is just being opened has no frame yet: its request leads away like any other."""
    windows = "for (let n = 0; n < 12; n++) window.open('http://away.test/' + n);"
    found = render(site, program, f"<script>{FILL}'The text stays.';{windows}</script>")
    assert "The text stays." in found.result.html
    assert site.visits("away.test") == []
