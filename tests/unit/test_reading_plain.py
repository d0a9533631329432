"""Plain text and Markdown, and what the one entrance does with everything else."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.extractor.reading import markdown, plain
from services.extractor.reading.blocks import Block, assemble
from services.extractor.reading.read import read
from services.extractor.reading.result import MAX_BYTES, MAX_TEXT
from shared.domain.maps import Heading, Page
from shared.domain.text import clean

LETTER = """\
HARBOUR SURVEY

Introduction
============

The survey covered every harbour on the coast and was
repeated each spring by the same crew, so that the har-
bour totals can be compared.  It was good.

1. Methods

  * first item, which is long enough to be wrapped at the
    margin of the page
  * second item

Port        Boats
Northam        12

Dear Sir,
Short lines
stay lines.

for (i = 0; i < 3; i++) {
    count();
}
"""
LETTER_TEXT = """\
HARBOUR SURVEY

Introduction

The survey covered every harbour on the coast and was repeated each spring by the same crew, so that the harbour \
totals can be compared. It was good.

1. Methods

* first item, which is long enough to be wrapped at the margin of the page
* second item

Port        Boats
Northam        12

Dear Sir,
Short lines
stay lines.

for (i = 0; i < 3; i++) {
    count();
}"""


def test_plain_text_by_golden_text() -> None:
    """Wrapped lines become whole sentences; lines that their author ended stay lines."""
    reading = plain.read(LETTER.encode(), None)
    assert reading.text == LETTER_TEXT
    assert [(heading.level, heading.text) for heading in reading.headings] == [
        (2, "HARBOUR SURVEY"),
        (1, "Introduction"),
        (2, "1. Methods"),
    ]
    assert (reading.status, reading.title, reading.encoding) == ("ok", "HARBOUR SURVEY", "utf-8")


def test_wrapped_chinese_takes_no_spaces() -> None:
    """Lines of a script without spaces are joined without one."""
    text = "港口调查每年春天由同一组人员进行因此总数可以比较并且每年的结果都会公布在港口的网站上供所有人查阅下载\n" * 3
    assert " " not in plain.read(text.encode(), None).text


@given(st.text(max_size=300))
def test_plain_reading_keeps_every_word(text: str) -> None:
    """Whatever the lines are joined to, no letter or figure is lost or invented."""
    reading = plain.read(text.encode("utf-8", "replace"), "text/plain; charset=utf-8")
    letters = [character for character in clean(text) if character.isalnum()]
    assert [character for character in reading.text if character.isalnum()] == letters
    assert reading.text == clean(reading.text).strip("\n")


MARKDOWN = """\
---
title: "Harbours 2019"
date: 2019-05-04
lang: en
---
# Harbour survey

Text that goes on
in the next line. **Bold**

| Port | Boats |
|------|-------|
| Northam | 12 |
| Southam | 14 |

1. One
2. Two

```python
def f():
    return 1
```

> A quotation.
<!-- hidden --> See https://host.test/%F0%9F%91%A9 there.

<p style="display:none">SECRET</p>
"""
MARKDOWN_TEXT = """\
Harbour survey

Text that goes on in the next line. Bold

Port: Northam | Boats: 12
Port: Southam | Boats: 14

- One
- Two

def f():
    return 1

A quotation.

See https://host.test/%F0%9F%91%A9 there."""


def test_markdown_by_golden_text() -> None:
    """The whole document, its front matter as metadata, nothing hidden in it."""
    reading = markdown.read(MARKDOWN.encode(), None)
    assert reading.text == MARKDOWN_TEXT
    assert (reading.title, reading.published_at, reading.language) == ("Harbours 2019", "2019-05-04", "en")
    assert reading.headings == (Heading(1, "Harbour survey", 0, 14),)


def test_markdown_title_is_the_first_heading() -> None:
    """Without front matter the first heading is the title."""
    assert markdown.read(b"text\n\n## Second *level*\n", None).title == "Second level"


@pytest.mark.parametrize("unit", ["> ", "- ", "[", "*a ", "`", "<b>"])
def test_markdown_of_any_depth_ends(unit: str) -> None:
    """Deep or endless marks end in some text, not in an error."""
    reading = markdown.read((unit * 5_000 + "x").encode(), None)
    assert reading.status == "ok"
    assert "x" in reading.text


@pytest.mark.parametrize(
    ("data", "hints", "status", "mime"),
    [
        (b"", {}, "empty", "text/plain"),
        (b" \n ", {"content_type": "text/html"}, "empty", "text/html"),
        (b"PK\x03\x04...", {"name": "a.bin"}, "unsupported", "application/zip"),
        (b"\x89PNG\r\n\x1a\n...", {}, "unsupported", "image/png"),
        (b"<?xml version='1.0'?><rss/>", {}, "empty", "application/xml"),
        (b"<html><body>Please verify</body></html>", {"content_type": "application/pdf"}, "broken", "text/html"),
        (b"<html><body>Please verify</body></html>", {"name": "paper.pdf"}, "broken", "text/html"),
        (b"oops", {"name": "paper.pdf"}, "broken", "text/plain"),
        (
            b"<html><body>A page about it</body></html>",
            {"url": "https://x.test/File:a.pdf", "content_type": "text/html"},
            "ok",
            "text/html",
        ),
        (b"# Title", {"url": "https://x.test/a%20b.md?x=1"}, "ok", "text/markdown"),
        (b"words", {"url": "http://[broken"}, "ok", "text/plain"),
        (b"x" * (MAX_BYTES + 1), {}, "too_large", "text/plain"),
    ],
)
def test_the_entrance_gives_a_status_for_everything(data: bytes, hints: dict[str, str], status: str, mime: str) -> None:
    """Each kind of input ends in the reader for it, or in a status with a reason."""
    reading = read(data, name=hints.get("name"), content_type=hints.get("content_type"), url=hints.get("url"))
    assert (reading.status, reading.mime) == (status, mime)
    assert (reading.reason is None) == (status == "ok")
    assert bool(reading.text) == (status == "ok")


def test_only_a_pdf_loads_the_pdf_library() -> None:
    """Reading a page or a text leaves PyMuPDF unloaded."""
    script = (
        "import sys; from services.extractor.reading.read import read\n"
        "read(b'<p>x</p>', name=None, content_type='text/html', url=None)\n"
        "read(b'x', name='a.md', content_type=None, url=None)\n"
        "sys.exit('pymupdf' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@given(st.binary(max_size=200), st.sampled_from([None, "a.md", "a.html", "a.txt", "a.pdf"]))
def test_reading_never_fails(data: bytes, name: str | None) -> None:
    """Any bytes under any name end in a status."""
    assert read(data, name=name, content_type=None, url=None).status in ("ok", "empty", "unsupported", "broken")


def test_assembling_puts_lines_pages_and_headings_in_their_places() -> None:
    """Groups stay together, a glued block goes on with the line before, an empty page has an empty range."""
    made = assemble(
        [
            Block("heading", "One", 1, page=1),
            Block("item", "- a", page=1),
            Block("item", "- b", page=1),
            Block("item", "- c", opens=True, page=1),
            Block("paragraph", "It goes on", page=1),
            Block("paragraph", "to the third page.", page=3, glue=" "),
        ],
        page_count=4,
    )
    assert made.text == "One\n\n- a\n- b\n\n- c\n\nIt goes on to the third page."
    assert made.headings == (Heading(1, "One", 0, 3),)
    assert made.pages == (Page(1, 0, 30), Page(2, 30, 30), Page(3, 30, 48), Page(4, 48, 48))


def test_assembling_cuts_at_the_limit() -> None:
    """No text is longer than the limit, and a cut one says so."""
    made = assemble([Block("paragraph", "word " * 10), Block("paragraph", "more")], limit=20)
    assert (made.text, made.truncated) == ("word word word word", True)
    assert assemble([Block("paragraph", "x" * 20)], limit=20).truncated is False
    assert assemble([Block("paragraph", "x" * 20), Block("paragraph", "y")], limit=20).truncated is True
    assert len(plain.read(b"x" * (MAX_TEXT + 10), None).text) == MAX_TEXT
