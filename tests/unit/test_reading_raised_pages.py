"""Raised note marks, exponents and fractions of pages: no figure has a digit that the page does not show in it."""

import io
import re
import zipfile

import pytest

from services.extractor.reading.epub import read as read_epub
from services.extractor.reading.html import read
from services.extractor.reading.scripts import exponent, lowered, raised
from tests.support.cases import CASES, needs_cases

LONG = "The survey covered every harbour on the coast and was repeated each spring by the same crew. "


def text_of(body: str, head: str = "") -> str:
    """Return the text of a page with that paragraph in an article."""
    markup = (
        f"<html lang=en><head>{head}</head><body><article><p>{LONG * 4}</p>{body}<p>{LONG}</p></article></body></html>"
    )
    return read(markup.encode(), "text/html; charset=utf-8", "https://coast.test/a").text


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ('built in 1821<sup><a href="#fn1">1</a></sup> and', "built in 1821 and"),
        ('lit in 1822<a role="doc-noteref" href="#fn3">3</a> for', "lit in 1822 for"),
        ('seen by 150<sup class="reference"><a href="#cite_note-4">[4]</a></sup> ships', "seen by 150 ships"),
        ("paid 45<sup>‡</sup> marks", "paid 45 marks"),
        ("in 1821<sup>1</sup> the", "in 1821 the"),
        ("a crew of 412<sup>2,3</sup> men", "a crew of 412 men"),
        ("a crew of 412<sup>b</sup> men", "a crew of 412 men"),
        ("the tower.<sup>7</sup> Then", "the tower. Then"),
        ("the tower<sup>7</sup> stands", "the tower stands"),
        ('the 44<a href="#fn2"><sup>2</sup></a> boats', "the 44 boats"),
        ('the 44<span style="vertical-align:super;font-size:70%">2</span> boats', "the 44 boats"),
        ('the 44<span class="up">2</span> boats', "the 44 boats"),
        ('the 44<span style="position:relative;top:-0.4em;font-size:.7em">2</span> boats', "the 44 boats"),
        ('the 44 boats <a href="#ref-5">[5]</a> were', "the 44 boats were"),
        ('the 44<a href="#n9">9</a> boats', "the 44 boats"),
        ('as Table <a href="#tab2">2</a> shows', "as Table 2 shows"),
        ("4.5 × 10<sup>6</sup> candles", "4.5 × 10⁶ candles"),
        ("10<sup>-3</sup> mol", "10⁻³ mol"),
        ("10<sup>−3</sup> mol", "10⁻³ mol"),
        ("over 12 km<sup>2</sup> of sea", "over 12 km² of sea"),
        ("33 metres<sup>2</sup> above", "33 metres² above"),
        ("speed of 3 m s<sup>-1</sup> there", "speed of 3 m s⁻¹ there"),
        ("E = mc<sup>2</sup> holds", "E = mc² holds"),
        ("2<sup>n</sup> ways", "2ⁿ ways"),
        ("2<sup>n+k</sup> ways", "2^(n+k) ways"),
        ("12<sup>2</sup> = 144 tiles", "12² = 144 tiles"),
        ("(a + b)<sup>2</sup> is", "(a + b)² is"),
        ("Ca<sup>2+</sup> ions", "Ca²⁺ ions"),
        ("some <sup>14</sup>C dates", "some ¹⁴C dates"),
        ("the CO<sub>2</sub> was", "the CO2 was"),
        ("1011<sub>2</sub> is", "1011₂ is"),
        ("was 3<sup>1</sup>/<sub>2</sub> litres", "was 3 1/2 litres"),
        ("was 3<sup>1</sup>&frasl;<sub>2</sub> litres", "was 3 1/2 litres"),
        ("was 3<sup>1/2</sup> litres", "was 3 1/2 litres"),
        ("was <sup>3</sup>/<sub>4</sub> litres", "was 3/4 litres"),
        ("was 3&frac12; litres", "was 3½ litres"),
        (
            'was <i class="frac">3<i class="sr-only">+</i><i class="num">1</i>&frasl;<i class="den">2</i></i> litres',
            "was 3 1/2 litres",
        ),
        (
            'was 3<i class="sfrac"><i class="num">1</i><i class="sr-only">/</i><i class="den">2</i></i> litres',
            "was 3 1/2 litres",
        ),
        ("on the 1<sup>st</sup> of May", "on the 1st of May"),
        ("le 2<sup>e</sup> jour", "le 2e jour"),
        ("20<sup>o</sup>C outside", "20°C outside"),
        (
            "is <math><mn>4.5</mn><mo>×</mo><msup><mn>10</mn><mn>6</mn></msup></math> candles",
            "is 4.5 × 10⁶ candles",
        ),
        ("is <math><mn>3</mn><mfrac><mn>1</mn><mn>2</mn></mfrac></math> litres", "is 3 1/2 litres"),
    ],
)
def test_raised_text_by_example(markup: str, expected: str) -> None:
    """Marks of notes go, exponents and fractions are written as such, in articles and in tables."""
    style = "<style>.up { vertical-align: super; font-size: 70% }</style>"
    assert expected in text_of(f"<p>It {markup} then.</p>", style)
    table = f"<table><tr><th>Year</th><th>What</th></tr><tr><td>1820</td><td>It {markup} then.</td></tr></table>"
    assert expected in text_of(table, style)


def test_a_list_of_references_keeps_its_words() -> None:
    """The note itself stays where its mark in the text is gone; the way back is no word."""
    text = text_of('<ol><li id="fn1">Harbour book, page 9. <a role="doc-backlink" href="#r1">↩</a></li></ol>')
    assert "Harbour book, page 9." in text
    assert "↩" not in text


def test_a_title_out_of_a_heading_has_no_mark() -> None:
    """The title of the source is read like the text."""
    page = f"<body><h1>The tower of 1821<sup><a href='#fn1'>1</a></sup></h1><p>{LONG * 5}</p></body>"
    assert read(page.encode(), "text/html", "https://coast.test/a").title == "The tower of 1821"


def test_rules_leave_what_is_no_mark() -> None:
    """Words that are raised stay; raised signs are used where there are any."""
    assert raised("me", "Mme. M", " Durand", linked=False) == "me"
    assert (exponent("-12"), exponent("x"), exponent("a/b")) == ("⁻¹²", "^x", "^(a/b)")
    assert (lowered("2", "CO"), lowered("2", "10")) == ("2", "₂")


_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="b.opf"/></rootfiles></container>'
)
_PACKAGE = (
    '<package xmlns="http://www.idpf.org/2007/opf"><metadata/><manifest>'
    '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>'
    '<spine><itemref idref="c"/></spine></package>'
)
_XHTML = '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'


def _book(chapter: str) -> bytes:
    """Return a small EPUB with one chapter."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", _CONTAINER)
        archive.writestr("b.opf", _PACKAGE)
        archive.writestr("c.xhtml", f"{_XHTML}<head><title>One</title></head><body>{chapter}</body></html>")
    return made.getvalue()


@pytest.mark.parametrize(
    "mark",
    [
        '<a epub:type="noteref" href="notes.xhtml#n1">1</a>',
        '<sup><a href="notes.xhtml#n1">1</a></sup>',
        '<a href="#n1"><sup>1</sup></a>',
    ],
)
def test_a_book_loses_its_marks_too(mark: str) -> None:
    """References to notes of an EPUB, raised or by their type alone."""
    text = read_epub(_book(f"<p>The tower was built in 1821{mark} of 4.5 × 10<sup>6</sup> stones.</p>")).text
    assert text == "The tower was built in 1821 of 4.5 × 10⁶ stones."


@needs_cases
def test_the_case_of_raised_notes() -> None:
    """s07: no figure of the text has a digit too many."""
    page = (CASES / "second" / "raised-notes-and-exponents.html").read_bytes()
    text = read(page, "text/html", "https://coast.test/tower").text
    for expected in ("built in 1821 and", "lit in 1822 for", "4.5 × 10⁶ candles", "12 km² of", "by 150 ships"):
        assert expected in text
    assert "45 marks" in text
    assert "3 1/2 litres" in text
    assert not re.search(r"18211|18223|106|31/2|1504|metres2|km2", text)
