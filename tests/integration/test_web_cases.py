"""The collection of broken inputs over HTTP: each case served as its index says, fetched, and read as a page is."""

from collections.abc import Iterator
from typing import Any

import pytest

from services.extractor.reading.read import read
from services.fetcher.net.messages import Fetched, FetchLimits, FetchRequest, OpenGate
from services.fetcher.robots import MAX_ROBOTS_BYTES, Meaning, RobotsRules, meaning_of
from services.fetcher.web import WayOut, fetch
from shared.domain.errors import NotAllowed, Permanent, StepError
from shared.domain.urls import parse_url
from shared.guards.addresses import Allowance, parse_networks
from tests.support.cases import case, index, needs_cases
from tests.support.site import Handler, Reply, Site, running_site
from tests.unit.test_reading_cases import EXPECTED, LINKS

pytestmark = needs_cases
HOST = "host.test"

CODES = {"ln09-gzip-lie-on-200": "encoding_corrupt"}
"""Cases whose fetch itself ends in an error."""

SERVED = [e["id"] for e in index() if e["kind"] in ("html", "pdf") and e["serve"].get("status")]


@pytest.fixture
def site() -> Iterator[Site]:
    """A site on loopback."""
    with running_site() as made:
        yield made


def way() -> WayOut:
    """Return a way out that reaches the site under any name."""
    return WayOut(Allowance(parse_networks("127.0.0.1")), lambda host, timeout_s: ["127.0.0.1"])


def served(site: Site, name: str, path: str) -> str:
    """Serve a case as its index says, over a redirect where it says so; return the address to ask."""
    entry, body = case(name)
    serve: dict[str, Any] = entry["serve"]
    if "then" in serve:
        start = site.redirect(HOST, f"/start/{name}", str(serve["headers"]["Location"]), serve["status"])
        site.answer(HOST, str(serve["headers"]["Location"]), Reply(body, headers=serve["then"]["headers"]))
        return start
    return site.answer(HOST, path, Reply(body, serve["status"], serve.get("headers", {})))


def got(url: str, **limits: int) -> Fetched:
    """Fetch through an open gate."""
    return fetch(FetchRequest(parse_url(url), limits=FetchLimits(**limits)), OpenGate(), way())


@pytest.mark.parametrize("name", SERVED)
def test_a_served_case_is_fetched_and_read(site: Site, name: str) -> None:
    """What comes out of the fetch and the reading together is what the case asks for, or an error with a name."""
    url = served(site, name, f"/dir/{name}")
    if name in CODES:
        with pytest.raises(StepError) as caught:
            got(url)
        assert (type(caught.value), caught.value.code) == (Permanent, CODES[name])
        return
    fetched = got(url)
    reading = read(fetched.body, name=None, content_type=fetched.content_type, url=str(fetched.url))
    if name in EXPECTED:
        assert reading.status == EXPECTED[name][0]
        assert EXPECTED[name][1] in reading.text
    if name in LINKS:
        links, bad = LINKS[name]
        here = tuple(link.replace("https://host.test", f"http://{HOST}:{site.port}") for link in links)
        assert (reading.links, reading.bad_links) == (here, bad)


def test_a_truncated_pdf_is_told_by_its_length(site: Site) -> None:
    """A body shorter than its Content-Length is no answer, and may be asked for again."""
    _, body = case("pd08-truncated")

    def cut(handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 900\r\n\r\n" + body)

    with pytest.raises(StepError, match="truncated"):
        got(site.answer(HOST, "/cut.pdf", Reply(raw=cut)))


@pytest.mark.parametrize(
    ("name", "path"),
    [("ln05-location-raw-utf8", "/doc/%D9%85%D8%B1%D9%81%D8%A3"), ("ln06-location-latin1-byte", "/caf%E9")],
)
def test_raw_bytes_of_a_location(site: Site, name: str, path: str) -> None:
    """The next request asks for the bytes as they were sent."""
    _, location = case(name)

    def answer(handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.1 302 Found\r\nLocation: " + location.strip() + b"\r\nContent-Length: 0\r\n\r\n")

    got(site.answer(HOST, "/odd", Reply(raw=answer)))
    assert site.paths()[-1] == path


def test_an_address_that_no_index_holds_is_refused() -> None:
    """Nine thousand characters are refused by name before anything is stored."""
    _, text = case("ln12-9k-url-unique-index")
    with pytest.raises(NotAllowed, match="url_too_long"):
        parse_url(text.decode().strip())


ROBOTS = {
    "rb03-utf8-path": (Meaning.RULES, {"/wiki/%C3%98l/x": False, "/wiki/x": True}),
    "rb04-503": (Meaning.CLOSED, {}),
    "rb05-404-html": (Meaning.OPEN, {}),
    "rb06-rule-after-500kib": (Meaning.RULES, {"/early": False, "/other": True}),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robots_case_means_what_it_should(site: Site, name: str) -> None:
    """The answer's status first, its rules only when it is one of success; memory is bounded by the limit."""
    meaning, paths = ROBOTS[name]
    url = parse_url(served(site, name, "/robots.txt"))
    fetched = fetch(FetchRequest(url, limits=FetchLimits(body_bytes=MAX_ROBOTS_BYTES), cut=True), OpenGate(), way())
    assert meaning_of(fetched.status) is meaning
    assert len(fetched.body) <= MAX_ROBOTS_BYTES
    rules = RobotsRules(fetched.body, "Leadline")
    assert {path: rules.allows(parse_url(f"http://{HOST}{path}")) for path in paths} == paths


def test_a_robots_file_that_leads_inside_is_refused(site: Site) -> None:
    """Its redirect is judged like that of a page."""
    entry, _ = case("rb07-redirect-internal")
    target = entry["serve"]["headers"]["Location"].replace("127.0.0.1", "127.0.0.2")
    with pytest.raises(NotAllowed, match="ip_loopback"):
        got(site.redirect(HOST, "/robots.txt", target))


def test_every_case_of_this_kind_is_looked_at() -> None:
    """A case that is added to the collection is not forgotten here."""
    known = {*SERVED, *ROBOTS, "ln05-location-raw-utf8", "ln06-location-latin1-byte", "ln12-9k-url-unique-index"}
    known |= {"rb07-redirect-internal", "au01-flower-regex"}
    asked = {e["id"] for e in index() if e["kind"] in ("html", "pdf", "robots", "url")}
    assert asked <= known
