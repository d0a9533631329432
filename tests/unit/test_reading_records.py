"""JSON, XML and feeds to text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.extractor.reading.read import read as read_any
from services.extractor.reading.result import Reading
from shared.domain.text import clean


def read(text: str | bytes, name: str = "a.json") -> Reading:
    """Read a text under a name."""
    return read_any(text.encode() if isinstance(text, str) else text, name=name, content_type=None, url=None)


def test_records_are_rows_under_their_path() -> None:
    """Plain members make a row, small objects join it, lists of records stand under their key."""
    reading = read(
        '{"title": "Tides", "station": {"name": "Northam", "lat": 54.10}, "tags": ["spring", "high"], "none": null,'
        ' "readings": [{"at": "2019-05-04", "height": 1.10}, {"at": "2019-05-05", "height": 1.20}]}'
    )
    head = "title: Tides | station.name: Northam | station.lat: 54.10 | tags: spring, high"
    assert reading.text == f"{head}\n\nreadings\n\nat: 2019-05-04 | height: 1.10\nat: 2019-05-05 | height: 1.20"
    assert (reading.title, reading.mime) == ("Tides", "application/json")
    assert [heading.text for heading in reading.headings] == ["readings"]


def test_figures_stay_as_they_are_written() -> None:
    """No digit is added, dropped or rounded, however many there are."""
    figures = ("1.10", "1e400", "9" * 400, "-0", "NaN")
    assert read(f"[{', '.join(figures)}]").text == ", ".join(figures)


def test_long_texts_are_paragraphs() -> None:
    """What is longer than a cell is prose, under its name."""
    text = "The survey covered every harbour. " * 12
    assert (
        read(json.dumps({"id": 7, "body": f"{text}\nIt ended."})).text == f"id: 7\n\nbody: {text.strip()}\n\nIt ended."
    )


def test_lines_of_json() -> None:
    """Each line is a record."""
    assert read('{"a": 1}\n\n{"a": 2, "b": "x"}\n', "a.jsonl").text == "a: 1\na: 2 | b: x"


def test_what_is_no_json_is_plain_text() -> None:
    """A damaged file keeps its words, whatever it is called."""
    reading = read('{"a": "the depth is 12 m", ')
    assert (reading.status, reading.mime) == ("ok", "text/plain")
    assert "the depth is 12 m" in reading.text


def test_json_is_known_by_its_start() -> None:
    """Where neither a name nor a header says what it is; a name of plain text is believed."""
    assert read('{"a": 1}', "a").mime == "application/json"
    assert read('[{"a": 1}]', "a").mime == "application/json"
    assert read('{"a": 1}', "a.txt").mime == "text/plain"
    assert read("[1] A note.", "a").mime == "text/plain"


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 300 + "1" + "}" * 300])
def test_deep_json_is_refused(text: str) -> None:
    """Nesting without end is broken, not a crash."""
    assert read(text).status in ("broken", "ok")
    assert read('{"a":' * 300 + "1" + "}" * 300).status == "broken"


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)


@given(VALUES)
def test_any_json_gives_a_consistent_reading(value: Any) -> None:
    """The status fits the text, and the text is clean."""
    reading = read(json.dumps(value))
    assert (reading.status == "ok") == bool(reading.text)
    assert clean(reading.text) == reading.text


RSS = """<?xml version="1.0"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>
<title>Harbour news</title><description>From the port.</description><language>en</language>
<pubDate>Sat, 04 May 2019 10:30:00 GMT</pubDate><item><title>Basin deepened</title><dc:creator>Ada</dc:creator>
<pubDate>Fri, 03 May 2019 10:30:00 GMT</pubDate>
<description>&lt;p&gt;It is &lt;b&gt;12 m&lt;/b&gt; deep.&lt;script&gt;x()&lt;/script&gt;&lt;/p&gt;</description>
</item></channel></rss>"""


def test_a_feed_is_read_entry_by_entry() -> None:
    """Titles are headings, bodies are read as HTML, dates and authors stand with their entry."""
    reading = read(RSS, "feed")
    entry = "Published: Fri, 03 May 2019 10:30:00 GMT | Author: Ada\n\nIt is 12 m deep."
    assert reading.text == f"Harbour news\n\nFrom the port.\n\nBasin deepened\n\n{entry}"
    assert (reading.title, reading.language, reading.published_at) == ("Harbour news", "en", "2019-05-04T10:30:00Z")


def test_atom_is_a_feed_too() -> None:
    """Its entries and their content."""
    body = '<content type="html">&lt;p&gt;Wet.&lt;/p&gt;</content>'
    entry = f"<entry><title>Sill</title><updated>2019-05-04</updated>{body}</entry>"
    reading = read(f'<feed xmlns="http://www.w3.org/2005/Atom"><title>Locks</title>{entry}</feed>', "a.atom")
    assert reading.text == "Locks\n\nSill\n\nPublished: 2019-05-04\n\nWet."


def test_other_xml_is_records_and_prose() -> None:
    """Records are rows, their attributes too; titles are headings, mixed content is prose."""
    reading = read(
        "<data><obs TIME='2019' VALUE='1.10'/><rec><name>North</name><depth>12</depth></rec>"
        "<sec><title>Method</title><p>We <b>counted</b> boats.</p></sec></data>",
        "a.xml",
    )
    assert reading.text == "TIME: 2019 | VALUE: 1.10\nname: North | depth: 12\n\nMethod\n\nWe counted boats."


def test_entities_are_not_expanded() -> None:
    """Neither a bomb nor a file of this machine becomes text."""
    declared = '<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd"><!ENTITY f "own words">]>'
    assert read(f"<?xml version='1.0'?>{declared}<d><p>Depth &e;&f; 12 m.</p></d>", "a.xml").text == "Depth 12 m."
    bomb = "".join(f'<!ENTITY {b} "{f"&{a};" * 20}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    reading = read(f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "lol">{bomb}]><d>&i;</d>', "a.xml")
    assert len(reading.text) < 100


def test_damaged_xml_says_so() -> None:
    """What can be recovered is kept, and marked."""
    reading = read("<data><p>The depth is 12 m.</p><p>And", "a.xml")
    assert reading.truncated
    assert "The depth is 12 m." in reading.text
    assert read("<a>" * 5000 + "x" + "</a>" * 5000, "a.xml").status == "too_large"


@given(st.text(max_size=200))
def test_any_text_called_xml_ends_in_a_status(text: str) -> None:
    """No input raises."""
    assert read(f"<?xml version='1.0'?><a>{text}</a>", "a.xml").status
