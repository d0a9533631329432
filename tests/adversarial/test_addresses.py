"""Addresses made to lead inside: none of them gets a connection, whatever a name service says."""

import pytest

from evals.bench.ssrf import all_rows, is_public, measure
from evals.truth.sets import DATA
from services.fetcher.net.messages import FetchRequest, OpenGate
from services.fetcher.net.resolver import Resolver
from services.fetcher.web import WayOut, fetch
from shared.domain.errors import NotAllowed, StepError
from shared.domain.urls import parse_url
from shared.guards.addresses import Allowance, judge_address, parse_networks
from tests.support.site import running_site

START = "start.test"


def test_no_address_escapes() -> None:
    """Every row of our own list, and of the published ones where they are: refused by a code, never connected to."""
    figures = measure(all_rows())
    assert (figures.escapes, figures.passed, figures.lost) == ([], [], [])
    assert figures.rows > 80


def test_the_watch_would_see_an_escape() -> None:
    """With the inside opened, the same measure finds connections into it: a green result means something."""
    assert not is_public("169.254.169.254")
    assert judge_address("169.254.169.254", parse_networks("169.254.0.0/16")) is None
    way = WayOut(Allowance(parse_networks("127.0.0.0/8")), lambda host, timeout_s: ["127.0.0.1"])
    with pytest.raises(StepError, match="connect_failed"):
        fetch(FetchRequest(parse_url("http://a.test:9/")), OpenGate(), way)


def test_no_redirect_escapes() -> None:
    """Each shape as the target of a redirect, from a site that may be reached, ends in a refusal by name."""
    with running_site() as site:
        way = WayOut(Allowance(parse_networks("127.0.0.1")), _only(START))
        shapes = [row for row in all_rows() if row["id"].startswith("shape-")]
        for row in shapes:
            target = "".join(c for c in row["input"] if c not in "\t\r\n\0").encode().decode("latin-1")
            if (
                target.startswith(("http://127.0.0.1/", "http://127.0.0.1#", "http://good.test/"))
                or row["id"] == "shape-noscheme"
            ):
                continue
            with pytest.raises(StepError) as caught:
                fetch(FetchRequest(parse_url(site.redirect(START, "/go", target))), OpenGate(), way)
            assert isinstance(caught.value, NotAllowed), row["id"]
        assert set(site.paths()) == {"/go"}


def _only(name: str) -> Resolver:
    """Return a name service that knows one name; all others lead to the metadata service."""
    return lambda host, timeout_s: ["127.0.0.1" if host == name else "169.254.169.254"]


def test_published_lists_are_read_where_they_are() -> None:
    """The own list is always part of the measure; the published one when its folder is there."""
    ids = {row["id"].partition("_")[0].partition("-")[0] for row in all_rows()}
    assert {"shape", "dns"} <= ids
    assert ("ssrf" in ids) == (DATA / "lists" / "ssrf").exists()
