"""Pages that stand in front of a page, and where a page links to."""

import json
from typing import Any

import pytest

from evals.bench.doors import cases
from services.extractor.parsing import parse_bytes
from services.extractor.reading.html import read
from services.extractor.rules import source_after_parse
from tests.factories.research import make_source

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_doors_are_told_from_pages(case: dict[str, Any]) -> None:
    """A shell, a check, a wall: each has its status and a sentence; pages that resemble them are read."""
    reading = read(case["html"].encode(), "text/html; charset=utf-8", "https://coast.test/a")
    assert reading.status == (case["expect"] or "ok")
    assert bool(reading.text) == (case["expect"] is None)
    assert (reading.reason is None) == (case["expect"] is None)


def test_a_door_says_nothing_about_the_page_behind_it() -> None:
    """The title of a check is not the source's, and the source ends as blocked; a shell's own title stays."""
    check = b"<title>Just a moment...</title><p>Verifying you are human.</p>"
    parse, snapshot = parse_bytes(check, "x", "text/html", "https://coast.test/")
    source = source_after_parse(make_source("src_1", title="Depth of the basin"), parse)
    assert snapshot is None
    assert (source.status, source.title) == ("blocked", "Depth of the basin")
    shell = b"<title>Basin</title><script src=a.js></script><div id=root></div>"
    parse, _ = parse_bytes(shell, "x", "text/html", "https://coast.test/")
    source = source_after_parse(make_source("src_1"), parse)
    assert (parse.status, source.status, source.title) == ("thin_content", "unsupported", "Basin")


def links(body: str, url: str | None = "https://coast.test/dir/page") -> tuple[tuple[str, ...], int]:
    """Return the links of a page, and how many are none."""
    reading = read(f"<html><body><p>Words.</p>{body}</body></html>".encode(), "text/html; charset=utf-8", url)
    return reading.links, reading.bad_links


def test_links_are_absolute_and_each_stands_once() -> None:
    """Relative to the page's own address; fragments, mail and scripts are no links."""
    body = '<a href="c">1</a><a href="/fine#x">2</a><a href="/fine">3</a><a href="#top">4</a><a>5</a>'
    body += '<a href="mailto:a@b.test">6</a><a href="javascript:go()">7</a><a href="//other.test/d">8</a>'
    expected = ("https://coast.test/dir/c", "https://coast.test/fine", "https://other.test/d")
    assert links(body) == (expected, 0)


def test_one_bad_link_costs_only_itself() -> None:
    """It is counted and the others are kept."""
    body = '<a href="http://[broken/x">a</a><a href="http://h.test:99999/">b</a><a href="/fine">d</a>'
    assert links(body) == (("https://coast.test/fine",), 2)


def test_a_base_element_overrules_the_address() -> None:
    """As in browsers; one that is no address changes nothing, and without any only absolute links count."""
    assert links('<base href="http://other.test/base/"><a href="doc.pdf">d</a>')[0] == (
        "http://other.test/base/doc.pdf",
    )
    assert links('<base href="http://[x/"><a href="c">d</a>')[0] == ("https://coast.test/dir/c",)
    assert links('<a href="c">d</a><a href="http://a.test/">e</a>', None) == (("http://a.test/",), 1)


def test_hidden_links_are_none() -> None:
    """What no reader can click on is not followed either."""
    assert links('<a hidden href="/trap">x</a><div style="display:none"><a href="/trap2">y</a></div>') == ((), 0)


def test_the_written_doors_are_plain_data() -> None:
    """Every case has a name of its own, a verdict, and a page."""
    assert len({case["name"] for case in CASES}) == len(CASES) > 25
    assert all(set(case) == {"name", "expect", "html"} for case in CASES)
    assert json.dumps(CASES)
