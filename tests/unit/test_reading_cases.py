"""The collection of inputs that broke other systems, where it is at hand; its ideas are in the other tests too."""

import json

import pytest

from services.extractor.reading.inflate import inflated
from services.extractor.reading.read import read
from services.extractor.reading.result import PdfBackend, Reading
from shared.domain.text import clean
from tests.support.cases import CASES, case, needs_cases

pytestmark = needs_cases

# id: status, words that the text holds, and the encoding and its source where the case is about them.
EXPECTED: dict[str, tuple[str, str, tuple[str, ...], str | None]] = {
    "cs01-bom-late-meta": ("ok", "café", ("utf-8",), "bom"),
    "cs02-broken-meta-gbk": ("ok", "港口调查", ("gbk", "gb18030"), "meta"),
    "cs04-sjis-undeclared": ("ok", "調査", ("shift_jis", "euc-jp"), "detected"),
    "cs05-sjis-header-only": ("ok", "価格表", ("shift_jis",), "header"),
    "cs06-gb2312-meta": ("ok", "数据来源", ("gbk", "gb18030"), "meta"),
    "cs07-unknown-charset-label": ("ok", "plain ascii text", ("utf-8",), "default"),
    "ex04-xml-declaration-str": ("ok", "The survey covered", ("utf-8",), "header"),
    "ex05-empty-200": ("empty", "", (), None),
    "ex06-deep-nesting": ("ok", "", (), None),
    "ex07-whitespace-quote": ("ok", "final count was twelvehundred boats in 2019.", (), None),
    "ln09-gzip-lie-on-200": ("ok", "The survey covered", (), None),
    "pd01-octet-stream-pdf": ("ok", "1200 boats", (), None),
    "pd05-flate-bomb": ("too_large", "", (), None),
    "pd07-cyclic-outline": ("ok", "1200 boats", (), None),
    "pd08-truncated": ("broken", "", (), None),
    "pd09-encrypted": ("encrypted", "", (), None),
}


def reading_of(name: str, pdf_backend: PdfBackend = "pymupdf") -> Reading:
    """Read a case as it would be served."""
    entry, data = case(name)
    headers = entry["serve"].get("then", entry["serve"]).get("headers", {})
    body = inflated(data, headers.get("Content-Encoding"))
    url = f"https://host.test/dir/{name}"
    return read(body, name=None, content_type=headers.get("Content-Type"), url=url, pdf_backend=pdf_backend)


@pytest.mark.parametrize("name", EXPECTED)
def test_case(name: str) -> None:
    """Each case ends in the status that it should, with the words that it holds."""
    status, words, encodings, source = EXPECTED[name]
    reading = reading_of(name)
    assert reading.status == status
    assert words in reading.text
    assert clean(reading.text) == reading.text
    assert "\ufffd" not in reading.text
    if encodings:
        assert (reading.encoding in encodings, reading.encoding_source) == (True, source)


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.startswith("pd")])
def test_pdf_case_with_the_other_library(name: str) -> None:
    """The library that is asked for changes no case's status."""
    status, words, _, _ = EXPECTED[name]
    reading = reading_of(name, "pypdfium2")
    assert reading.status == status
    assert words in reading.text


LINKS = {
    "ln01-relative-after-redirect": (("https://host.test/dir/c",), 0),
    "ln02-base-tag": (("http://other.test" + "/root" + "/doc.pdf",), 0),
    "ln04-one-bad-href": (("https://host.test/fine",), 3),
}


@pytest.mark.parametrize("name", LINKS)
def test_case_of_links(name: str) -> None:
    """Links are relative to the final address or the page's base; bad ones are counted and cost nothing else."""
    reading = reading_of(name)
    assert (reading.links, reading.bad_links) == LINKS[name]


def test_the_deep_page_says_that_it_is_too_deep() -> None:
    """What a parser may have dropped is never passed over in silence."""
    reading = reading_of("ex06-deep-nesting")
    assert reading.truncated
    assert reading.reason is not None
    assert reading.reason.startswith("parse-truncated")


def test_the_surrogate_case_is_cleaned() -> None:
    """A lone surrogate out of JSON becomes U+FFFD, and offsets count on the replaced text."""
    _, data = case("nu03-lone-surrogate")
    text = clean(json.loads(data)["text"])
    assert text.encode("utf-8").decode("utf-8") == text
    assert "\ufffd" in text


def test_the_markdown_case_can_be_stored() -> None:
    """A percent-encoded emoji in an address stays as it is written."""
    _, data = case("nu05-linkify-surrogates")
    reading = read(data, name="a.md", content_type=None, url=None)
    reading.text.encode("utf-8")
    assert "https://host.test/%F0%9F%91%A9" in reading.text


def test_every_case_ends_in_a_status() -> None:
    """No input of the collection, of whatever kind, raises."""
    for path in sorted((CASES / "files").iterdir()):
        assert read(path.read_bytes(), name=path.name, content_type=None, url=None).status
