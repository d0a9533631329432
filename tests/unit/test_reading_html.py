"""HTML pages to text: content, structure, tables, hidden text, odd trees."""

import pickle
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.extractor.reading.html import read
from services.extractor.reading.result import Reading
from shared.domain.segments import segment
from shared.domain.text import clean

LONG = "The survey covered every harbour on the coast and was repeated each spring by the same crew. "


def reading(body: str, head: str = "") -> Reading:
    """Read a page with that body."""
    markup = f"<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>"
    return read(markup.encode(), "text/html; charset=utf-8", "https://coast.test/a/b")


ARTICLE = f"""
<nav><a href="/">Start</a> <a href="/news">All news</a></nav>
<article>
<h1>Harbour survey</h1>
<p>{LONG}The crew’s <b>final</b>&nbsp;count was twelve&shy;hundred
   boats in <i>2019</i>.</p>
<h2>Results by <em>port</em></h2>
<p>{LONG}</p>
<ul><li>Northam rose.</li><li><p>Southam fell. It will recover.</p></li></ul>
<table><caption>Boats</caption>
<thead><tr><th></th><th>2018</th><th>2019</th></tr></thead>
<tbody><tr><th>Trawlers</th><td>1,100</td><td>1,200</td></tr><tr><th>Ferries</th><td>7</td><td></td></tr></tbody></table>
<p>{LONG}</p>
<p>The last words of the article, and nothing else after them.</p>
</article>
<footer>All rights reserved by somebody.</footer>
"""
GOLDEN = f"""\
Harbour survey

{LONG}The crew’s final count was twelvehundred boats in 2019.

Results by port

{LONG.strip()}

- Northam rose.
- Southam fell. It will recover.

Boats
Trawlers | 2018: 1,100 | 2019: 1,200
Ferries | 2018: 7

{LONG.strip()}

The last words of the article, and nothing else after them."""


def test_an_article_by_golden_text() -> None:
    """One line a block, an empty line between blocks, the page's frame left out, the title line once."""
    read_page = reading(ARTICLE, "<title>Harbour survey</title>")
    assert read_page.text == GOLDEN
    assert (read_page.status, read_page.reason, read_page.truncated) == ("ok", None, False)


def test_headings_stand_where_the_map_says() -> None:
    """Level and range of each heading point at its words in the text."""
    read_page = reading(ARTICLE)
    assert [(heading.level, heading.text) for heading in read_page.headings] == [
        (1, "Harbour survey"),
        (2, "Results by port"),
    ]
    assert all(read_page.text[heading.start : heading.end] == heading.text for heading in read_page.headings)


def test_a_table_row_is_a_segment_that_names_its_columns() -> None:
    """A reader of the one segment knows what each figure is."""
    read_page = reading(ARTICLE)
    parts = [read_page.text[part.start : part.end] for part in segment(read_page.text)]
    assert "Trawlers | 2018: 1,100 | 2019: 1,200" in parts


def test_spans_are_filled_in() -> None:
    """A cell over two rows stands in both; grouped headers join their names; unmarked names of figures are found."""
    table = (
        "<table><tr><th rowspan=2>Year</th><th colspan=2>Count</th></tr><tr><th>Boats</th><th>Crew</th></tr>"
        "<tr><td rowspan=2>2018</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>"
        "<table><tr><td>Port</td><td>Boats</td></tr><tr><td>Northam</td><td>12</td></tr><tr><td>Southam</td><td>14</td></tr></table>"
    )
    for body in (table, f"<article><p>{LONG * 4}</p>{table}<p>{LONG * 4}</p></article>"):
        text = reading(body).text
        assert "Year: 2018 | Count Boats: 1 | Count Crew: 2\nYear: 2018 | Count Boats: 3 | Count Crew: 4" in text
        assert "Port: Northam | Boats: 12\nPort: Southam | Boats: 14" in text


def test_a_layout_table_is_no_table() -> None:
    """A table that holds headings and paragraphs is read as the page it lays out."""
    text = reading(f"<table><tr><td><h2>Results</h2><p>{LONG}</p></td><td>Side note.</td></tr></table>").text
    assert text.startswith("Results\n\nThe survey")
    assert "|" not in text


def test_terms_stand_with_their_meanings() -> None:
    """A definition list gives one item for each term."""
    text = reading(
        "<dl><dt>Tonnage</dt><dd>Weight of a boat.</dd><dt>Draught</dt><dd>Depth.</dd><dt>Beam</dt></dl>"
    ).text
    assert text == "- Tonnage: Weight of a boat.\n- Draught: Depth.\n- Beam"


def test_line_breaks() -> None:
    """Two breaks part paragraphs, one parts lines unless the sentence goes on."""
    assert (
        reading("<p>One line.<br>Another<br>that goes on.<br><br>Apart.</p>").text
        == "One line.\nAnother that goes on.\n\nApart."
    )


def test_preformatted_text_keeps_its_lines() -> None:
    """Code stays in lines; a hard-wrapped letter becomes whole sentences."""
    assert reading("<pre>def f():\n    return 1\n</pre>").text == "def f():\n    return 1"
    letter = (
        "The survey covered every harbour on the coast and\nwas repeated each spring by the very same crew,\nagain."
    )
    assert reading(f"<pre>{letter}</pre>").text == letter.replace("\n", " ")


@pytest.mark.parametrize(
    "secret",
    [
        "<p hidden>SECRET</p>",
        '<p style="display:none">SECRET</p>',
        '<div style="color:red; visibility: hidden"><p>SECRET</p></div>',
        '<p style="font-size:0px;">SECRET</p>',
        '<p style="position:absolute; left:-9999px">SECRET</p>',
        '<p class="ghost">SECRET</p>',
        '<p id="veil">SECRET</p>',
        "<script>SECRET</script>",
        "<template><p>SECRET</p></template>",
        "<noscript>SECRET</noscript>",
        "<!-- SECRET -->",
        '<img src="x" alt="SECRET">',
        '<p title="SECRET">seen</p>',
        "<svg><text>SECRET</text></svg>",
        "<select><option>SECRET</option></select>",
    ],
)
@pytest.mark.parametrize("length", [0, 6])
def test_what_no_reader_sees_is_left_out(secret: str, length: int) -> None:
    """Hidden text, scripts, comments and alternative texts never become evidence, on short and on long pages."""
    style = "<style>.ghost{display:none} #veil, .x {visibility:hidden} @media print {.seen{display:none}}</style>"
    read_page = reading(
        f"<article><p>Before it.</p>{secret}<p class=seen>Seen after it. {LONG * length}</p></article>", style
    )
    assert "SECRET" not in read_page.text
    assert "Before it." in read_page.text
    assert "Seen after it." in read_page.text


def test_the_text_after_a_hidden_element_stays() -> None:
    """Only the element goes, not the sentence around it."""
    assert reading('<p>The count <span style="display:none">not</span>rose.</p>').text == "The count rose."


def test_a_style_for_paper_or_a_later_rule_hides_nothing() -> None:
    """Rules inside @media do not count, and a class that is shown again is shown."""
    style = "<style>@media print{.a{display:none}} .b{display:none} .b{display:block}</style>"
    assert reading("<p class=a>One.</p><p class=b>Two.</p>", style).text == "One.\n\nTwo."


@pytest.mark.parametrize("depth", [300, 6_000])
@pytest.mark.parametrize(
    "tags", [("<div>", "</div>"), ("<ul><li>", "</li></ul>"), ("<b>", ""), ("<table><tr><td>", "")]
)
def test_deep_nesting_ends_cleanly(depth: int, tags: tuple[str, str]) -> None:
    """However deep a page nests, reading ends soon, says what happened, and keeps the words it can."""
    began = time.monotonic()
    read_page = reading(tags[0] * depth + "deep words" + tags[1] * depth + "<p>after</p>")
    assert time.monotonic() - began < 20
    assert read_page.truncated
    assert read_page.reason is not None
    assert read_page.reason.startswith("parse-truncated")
    assert "deep words" in read_page.text
    assert "after" in read_page.text


def test_xhtml_with_a_declaration() -> None:
    """An XML declaration in front of the page is no obstacle."""
    markup = f'<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>{LONG}</p></body></html>'
    assert read(markup.encode(), "application/xhtml+xml; charset=utf-8", None).text == LONG.strip()


@pytest.mark.parametrize("data", [b"", b"  \n", b"<!-- x -->", b"<html><body></body></html>"])
def test_a_page_without_text_is_empty(data: bytes) -> None:
    """Nothing to quote is a status of its own, not an error and not a success."""
    read_page = read(data, "text/html", None)
    assert (read_page.status, read_page.text) == ("empty", "")
    assert read_page.reason


def test_surrogates_and_controls_in_references_are_cleaned() -> None:
    """Character references cannot bring in what cleaning takes out."""
    text = reading("<p>energy &#xD863; of&#8203; the&#7; &#x1F600;</p>").text
    assert clean(text) == text
    assert "of the" in text


def test_a_second_identical_paragraph_does_no_harm() -> None:
    """A repeated paragraph leaves the text and its offsets consistent."""
    read_page = reading(f"<article><h1>T</h1><p>{LONG * 3}</p><p>{LONG * 3}</p><p>End of it.</p></article>")
    assert read_page.text.endswith("End of it.")
    assert LONG.strip() in read_page.text


def test_a_reading_travels_between_processes() -> None:
    """The value is picklable, and equal after the journey."""
    read_page = reading(ARTICLE)
    assert pickle.loads(pickle.dumps(read_page)) == read_page


FRAGMENTS = st.sampled_from(
    [
        *"<p> </p> <div> </div> <table> <tr> <td> <th> </table> <li> <ul> </ul> <h1> </h2> <br> <pre> </pre>".split(),
        *"<dt> <dd> </a> <b> <script> </script> <style> <!-- --> <head> <body> <title> <x:y>".split(),
        *"&nbsp; &#0; &#xD800; text words. 12 | \x00 é 港".split(),
        "<td rowspan=9>",
        "<a href=x>",
    ]
)


@given(st.lists(FRAGMENTS, max_size=40).map(" ".join))
@example("<pre> &#0; <br> &#0;")
def test_any_soup_of_tags_gives_a_consistent_reading(soup: str) -> None:
    """The status fits the text, the text is clean, and every heading is where the map says."""
    read_page = read(soup.encode(), "text/html; charset=utf-8", None)
    assert (read_page.status == "ok") == bool(read_page.text)
    assert read_page.status in ("ok", "empty", "thin_content")
    assert clean(read_page.text) == read_page.text == read_page.text.strip()
    assert all(read_page.text[heading.start : heading.end] == heading.text for heading in read_page.headings)
