"""More kinds of files to text: rich text, OpenDocument, mails, notebooks, subtitles, and any text by its content."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.extractor.reading.mail import attachments
from services.extractor.reading.mime import MAIL, MBOX, NOTEBOOK, ODP, ODS, ODT, PLAIN, RTF, SUBRIP, WEBVTT, sniff
from services.extractor.reading.read import read as read_any
from services.extractor.reading.result import Reading, Status
from shared.domain.maps import cells_at
from tests.factories.office import archive
from tests.support.second import needs_second, second

MAIL_TEXT = (
    "From: Ada Port <ada@example.org>\r\nTo: b@example.org\r\nSubject: =?iso-8859-1?Q?Tiefe_f=FCr_Kai?=\r\n"
    "Date: Tue, 4 Jun 2019 09:00:00 +0200\r\nMessage-ID: <1@example.org>\r\nMIME-Version: 1.0\r\n"
)
TABLE = "Content-Type: text/csv; name=depths.csv\r\nContent-Disposition: attachment\r\n\r\nplace,depth\r\nbasin,9.4\r\n"
ODF = (
    'xmlns:office="o" xmlns:text="t" xmlns:table="tb" xmlns:style="s" xmlns:fo="f" xmlns:draw="d"'
    ' xmlns:presentation="p" xmlns:xlink="x" xmlns:meta="m" xmlns:dc="dc"'
)


def read(data: bytes | str, name: str | None = None) -> Reading:
    """Read a file."""
    raw = data.encode() if isinstance(data, str) else data
    return read_any(raw, name=name, content_type=None, url=None)


def odf(kind: str, body: str, styles: str = "", **more: str) -> bytes:
    """Return an OpenDocument file."""
    word = {ODT: "text", ODS: "spreadsheet", ODP: "presentation"}[kind]
    content = f"<office:document-content {ODF}><office:automatic-styles>{styles}</office:automatic-styles>"
    content += f"<office:body><office:{word}>{body}</office:{word}></office:body></office:document-content>"
    about = "<office:meta><dc:title>On quays</dc:title><dc:creator>Ada</dc:creator></office:meta>"
    return archive({"mimetype": kind, "content.xml": content, "meta.xml": f"<o {ODF}>{about}</o>", **more})


def multipart(*parts: str, kind: str = "mixed", boundary: str = "b1") -> str:
    """Return the rest of a mail of several parts."""
    inner = "".join(f"--{boundary}\r\n{part}\r\n" for part in parts)
    return f'Content-Type: multipart/{kind}; boundary="{boundary}"\r\n\r\n{inner}--{boundary}--\r\n'


@needs_second
def test_the_cases_of_other_kinds() -> None:
    """Rich text, a notebook and a mail say what a reader of them sees."""
    sentence = "The basin is 9.4 metres deep, says the survey of 2023."
    assert read(second("note.rtf"), "note.rtf").text == sentence
    assert read(second("notebook.ipynb"), "notebook.ipynb").text == sentence
    raw = second("mail-quoted-printable.eml")
    mail = read(raw, "mail.eml")
    assert (mail.title, mail.author, mail.published_at) == (
        "Tiefe des Beckens – Messung",
        "a@example.org",
        "2023-05-01T10:00:00Z",
    )
    assert "The basin is 9.4 metres deep, says the survey, which was made by the crew of the" in mail.text
    table = "place: basin | depth m: 9.4\nplace: reach | depth m: 8.1"
    (attached,) = attachments(raw, MAIL)
    assert read(attached.data, attached.name).text == table
    words, hanging = mail.parts
    assert (words.kind, hanging.kind, hanging.name) == ("message", "attachment", "depths.csv")
    assert mail.text[hanging.start : hanging.end] == table


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"{\rtf1\ansi\ansicpg1252 The quay of K\'f6ln, 4 m\super 2\nosupersub  wide.\par}", "The quay of Köln, 4 m² wide."),  # noqa: E501
        (r"{\rtf1\ansi Built in 1821{\super 1} of stone{\footnote {\super\chftn} See the log.}.\par}", "Built in 1821 of stone.\n\n- See the log."),  # noqa: E501
        (r"{\rtf1{\colortbl;\red255\green255\blue255;}Seen{\cf1  unseen}{\v  hidden} words.\par}", "Seen words."),
        (r"{\rtf1\uc1 Tiefe \u8211? 9 m {\*\generator X}{\fonttbl{\f0\fcharset204 Arial;}}{\f0 \'cc\'ee\'eb}\par}", "Tiefe – 9 m Мол"),  # noqa: E501
        (r"{\rtf1\trowd\intbl Place\cell Depth\cell\row\trowd\intbl Basin\cell 9.4\cell\row\trowd\intbl Reach\cell 8.1\cell\row\pard After.\par}", "Place: Basin | Depth: 9.4\nPlace: Reach | Depth: 8.1\n\nAfter."),  # noqa: E501
        (r"{\rtf1{\field{\*\fldinst HYPERLINK x}{\fldrslt the page}} and {\pict\bin4 }}}}}no more.\par}", "the page and no more."),  # noqa: E501
        (r"{\rtf1\outlinelevel0 Depths\par\pard It is 9 m deep.\line And wide.}", "Depths\n\nIt is 9 m deep.\nAnd wide."),  # noqa: E501
    ],
)  # fmt: skip
def test_rich_text(source: str, text: str) -> None:
    """Bytes and numbers become letters, notes follow the text, tables are rows; what nobody sees is left out."""
    reading = read(source, "odd.name")
    assert (reading.status, reading.mime, reading.text) == ("ok", RTF, text)


@given(st.binary(max_size=300))
def test_rich_text_never_breaks(data: bytes) -> None:
    """Any bytes behind the mark end in a status."""
    assert read(b"{\\rtf1 " + data).status in get_args(Status)
    assert read(b"{\\rtf1 " + b"{" * 5_000).status == "too_large"


def test_an_open_document_text() -> None:
    """Headings, lists, tables and notes; raised, hidden and deleted text as in Word."""
    styles = '<style:style style:name="up"><style:text-properties style:text-position="super 58%"/></style:style>'
    styles += '<style:style style:name="no"><style:text-properties text:display="none"/></style:style>'
    styles += '<style:style style:name="white"><style:text-properties fo:color="#ffffff"/></style:style>'
    note = "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>See the log.</text:p></text:note-body></text:note>"  # noqa: E501
    body = '<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h text:outline-level="2">Quays</text:h>'  # noqa: E501
    body += f'<text:p>Built in 1821{note} over 4 km<text:span text:style-name="up">2</text:span>'
    body += '<text:span text:style-name="no"> hidden</text:span><text:span text:style-name="white"> white</text:span>.</text:p>'  # noqa: E501
    body += "<text:list><text:list-item><text:p>One<text:s text:c='2'/>two</text:p></text:list-item></text:list>"
    row = "<table:table-row>{}</table:table-row>"
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    head = (
        f"<table:table-header-rows>{row.format(cell.format('Port') + cell.format('Boats'))}</table:table-header-rows>"
    )
    body += f"<table:table>{head}{row.format(cell.format('Northam') + cell.format('7'))}</table:table>"
    reading = read(odf(ODT, body, styles), "a.bin")
    assert (
        reading.text == "Quays\n\nBuilt in 1821 over 4 km².\n\n- One two\n\nPort: Northam | Boats: 7\n\n- See the log."
    )
    assert (reading.mime, reading.title, reading.author, reading.headings[0].level) == (ODT, "On quays", "Ada", 2)
    locked = "<manifest><file-entry><encryption-data/></file-entry></manifest>"
    assert read(odf(ODT, body, **{"META-INF/manifest.xml": locked})).status == "encrypted"


def test_open_document_sheets() -> None:
    """Values carry their columns, dates and percents as such; repeated, hidden and missing ones cost nothing."""
    styles = '<style:style style:name="ta"><style:table-properties table:display="false"/></style:style>'
    text = '<table:table-cell office:value-type="string"{}><text:p>{}</text:p></table:table-cell>'
    number = '<table:table-cell office:value-type="{}" office:{}="{}"><text:p>{}</text:p></table:table-cell>'
    title = text.format(' table:number-columns-spanned="2"', "Survey")
    rows = [
        text.format("", "Port") + title + "<table:covered-table-cell/>",
        text.format("", "") + text.format("", "Day") + text.format("", "Share"),
        text.format("", "Northam")
        + number.format("date", "date-value", "2026-07-02", "2.7.")
        + number.format("percentage", "value", "0.475", "48 %"),
        text.format("", "Eastham") + '<table:table-cell/><table:table-cell table:formula="of:=SUM([.C3:.C3])*2"/>',
    ]
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    far = '<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16000"/></table:table-row>'  # noqa: E501
    sheets = f'<table:table table:name="Rates">{body}{far}</table:table>'
    sheets += f'<table:table table:name="Secret" table:style-name="ta">{body}</table:table>'
    reading = read(odf(ODS, sheets, styles))
    assert reading.text == (
        "Rates\n\nPort: Northam | Survey Day: 2026-07-02 | Survey Share: 47.5%\nPort: Eastham | Survey Share: 0.95"
    )
    assert reading.reason == "1 formula without a stored value was worked out. 1 hidden sheet left out."
    assert [(part.kind, part.name) for part in reading.parts] == [("sheet", "Rates")]


def test_open_document_slides() -> None:
    """Titles first, notes last, hidden slides told."""
    styles = (
        '<style:style style:name="off"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
    )
    frame = '<draw:frame presentation:class="{}"><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>'
    one = frame.format("outline", "It is deep.") + frame.format("title", "Basin") + frame.format("footer", "page 1")
    one += f"<presentation:notes>{frame.format('notes', 'Say so.')}</presentation:notes>"
    pages = f"<draw:page>{one}</draw:page><draw:page draw:style-name='off'>{one}</draw:page>"
    reading = read(odf(ODP, pages, styles))
    assert reading.text == "Basin\n\nIt is deep.\n\nNotes: Say so."
    assert reading.reason == "1 hidden slide left out."
    assert [(part.kind, part.name) for part in reading.parts] == [("slide", "Basin"), ("slide", "")]


def test_a_mail_of_several_parts() -> None:
    """The plain version is read, files hang on the mail, a mail within is one of them."""
    both = multipart(
        "Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n\r\nIt is 9.4 m deep.",
        "Content-Type: text/html\r\n\r\n<p>It is <b>9.4 m</b> deep.</p>",
        kind="alternative",
        boundary="b2",
    )
    inner = f"Content-Type: message/rfc822\r\n\r\n{MAIL_TEXT}\r\nThe mail within."
    raw = (MAIL_TEXT + multipart(both, TABLE, inner)).encode()
    reading = read(raw, "plan.eml")
    assert reading.text.startswith("Tiefe für Kai\n\nIt is 9.4 m deep.\n\nplace: basin | depth: 9.4")
    assert (reading.mime, reading.author) == (MAIL, "Ada Port <ada@example.org>")
    assert reading.published_at == "2019-06-04T09:00:00+02:00"
    assert [item.name for item in attachments(raw, MAIL)] == ["depths.csv", "attachment 2.eml"]
    assert [(part.kind, part.name) for part in reading.parts] == [
        ("message", "Tiefe für Kai"),
        ("attachment", "depths.csv"),
        ("attachment", "attachment 2.eml"),
    ]
    within = reading.parts[2]
    assert reading.text[within.start : within.end] == "Tiefe für Kai\n\nThe mail within."
    assert cells_at(reading.rows, reading.text.index("basin"), reading.text.index("9.4\n\nTiefe"), 0) == "A2:B2"


def test_what_hangs_on_a_mail_has_limits() -> None:
    """Mails within mails end at a depth; what cannot be read is named, and the mail stays readable."""
    raw = MAIL_TEXT + "\r\nThe last one."
    for number in range(8):
        inner = f"Content-Type: message/rfc822\r\n\r\n{raw}"
        raw = MAIL_TEXT + multipart("Content-Type: text/plain\r\n\r\nOne more.", inner, boundary=f"b{number}")
    deep = read(raw, "a.eml")
    assert (deep.status, deep.text.count("One more."), "The last one." in deep.text) == ("ok", 6, False)
    picture = "Content-Type: image/png; name=a.png\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0KGgoAAAANSUhEUg=="
    reading = read(MAIL_TEXT + multipart("Content-Type: text/plain\r\n\r\nSee it.", picture))
    assert reading.text == "Tiefe für Kai\n\nSee it."
    assert reading.reason == "Attached and not read: a.png (There is no reader for image/png)."
    many = read(MAIL_TEXT + multipart("Content-Type: text/plain\r\n\r\nSee it.", *[TABLE] * 300), "a.eml")
    assert len(many.parts) == 201
    assert "more attachments" in (many.reason or "")


def test_a_mail_of_html_without_a_name() -> None:
    """A mail is known by its headers; hidden text of its page is none."""
    body = "Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    body += "PHA+VGhlIGJhc2luIGlzIGRlZXAuPC9wPjxwIHN0eWxlPSJkaXNwbGF5Om5vbmUiPnVuc2VlbjwvcD4="
    reading = read(MAIL_TEXT + body)
    assert (reading.mime, reading.text) == (MAIL, "Tiefe für Kai\n\nThe basin is deep.")


def test_a_mailbox() -> None:
    """Each message is a part that names its sender; its line "From " is no text."""
    one = (
        "From ada@example.org Tue Jun  4 09:00:00 2019\n"
        + MAIL_TEXT.replace("\r\n", "\n")
        + "\nIt is deep.\n>From here on.\n\n"
    )
    two = one.replace("It is deep.", "It is wide.")
    reading = read(one + two, "all.mbox")
    assert (reading.mime, len(reading.parts), reading.parts[0].kind) == (MBOX, 2, "message")
    assert "ada@example.org" in reading.parts[1].name
    assert "It is deep." in reading.text
    assert "\nFrom here on." in reading.text
    assert "Jun  4" not in reading.text
    assert sniff((one + two).encode(), name=None, content_type=None) == MBOX


@pytest.mark.parametrize(
    "raw",
    [
        MAIL_TEXT + "".join(f'Content-Type: multipart/mixed; boundary="b{n}"\r\n\r\n--b{n}\r\n' for n in range(400)),
        MAIL_TEXT + multipart(*["Content-Type: text/plain\r\n\r\nx"] * 1_500),
        "From ada@example.org Tue Jun  4 09:00:00 2019\nFrom: a\n\nx\n\n" * 20_001,
    ],
    ids=["deep", "wide", "long"],
)
def test_mails_have_limits(raw: str) -> None:
    """What nests or repeats without end is too large, not a crash."""
    assert read(raw, "a.mbox" if raw.startswith("From ada") else "a.eml").status == "too_large"


@given(st.binary(max_size=400))
def test_mails_never_break(data: bytes) -> None:
    """Any bytes called a mail or a mailbox end in a status."""
    for name in ("a.eml", "a.mbox"):
        assert read(data, name).status in ("ok", "empty", "unsupported", "broken", "encrypted", "scanned")
        assert read(MAIL_TEXT.encode() + data, name).status in ("ok", "empty", "unsupported", "too_large")


def test_a_notebook() -> None:
    """Prose and code are parts of their own, outputs stand below as text, and no key of the file is text."""
    cells = [
        {"cell_type": "markdown", "source": "# Depths\n\nIt is **9.4 m** deep."},
        {
            "cell_type": "code",
            "source": ["def depth():\n", "    return 9.4\n"],
            "outputs": [
                {"output_type": "stream", "text": ["9.4\n"]},
                {"output_type": "execute_result", "data": {"text/plain": "basin  9.4", "image/png": "iVBOR"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "too deep", "traceback": []},
            ],
        },
        {"cell_type": "raw", "source": "Raw words."},
    ]
    book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    reading = read(json.dumps(book), "book")
    assert reading.mime == NOTEBOOK
    assert reading.text == (
        "Depths\n\nIt is 9.4 m deep.\n\ndef depth():\n    return 9.4\n\n9.4\n\nbasin  9.4\n\n"
        "ValueError: too deep\n\nRaw words."
    )
    assert [(p.kind, p.name) for p in reading.parts] == [("cell", "markdown 1"), ("cell", "code 2"), ("cell", "raw 3")]
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": "x = 1", "outputs": []}]}]}
    assert read(json.dumps(old), "old.ipynb").text == "x = 1"
    assert read('{"depth": 9.4}', "no.ipynb").text == "depth: 9.4"


def test_subtitles() -> None:
    """What is spoken stands in paragraphs that know their time; marks and what grows on the screen do not repeat."""
    srt = "1\r\n00:00:01,000 --> 00:00:03,000\r\n<i>The basin</i>\r\nis deep.\r\n\r\n2\r\n00:01:00,500 --> 00:01:02,000\r\nSo it is.\r\n"  # noqa: E501
    reading = read(srt, "talk")
    assert (reading.mime, reading.text) == (SUBRIP, "The basin is deep.\n\nSo it is.")
    assert [(p.kind, p.name) for p in reading.parts] == [("time", "00:00:01"), ("time", "00:01:00")]
    vtt = "WEBVTT\n\nNOTE not said\n\n00:01.000 --> 00:02.000 align:start\n<v Ada>It is &amp; was\n\n00:02.000 --> 00:03.000\nIt is\n"  # noqa: E501
    assert read(vtt, "talk.vtt").mime == WEBVTT
    assert read(vtt, "talk.vtt").text == "Ada: It is & was It is"
    assert read("no times here", "talk.srt").text == "no times here"


@pytest.mark.parametrize(
    "name", ["a.rst", "a.adoc", "a.org", "a.tex", "a.log", "a.yaml", "a.toml", "a.py", "LICENSE", None]
)
def test_any_text_is_read_whatever_its_name(name: str | None) -> None:
    """The content decides; a zero in the middle is dropped, and what is no text stays refused."""
    reading = read(b"The basin is deep.\n\nIt is 9" + b"\x00" + b".4 m deep.", name)
    assert (reading.status, reading.mime, reading.text) == ("ok", PLAIN, "The basin is deep.\n\nIt is 9.4 m deep.")
    assert read(bytes(range(256)) * 9, name).status == "unsupported"
    assert read(b"\x01\x02\x00\x00" * 600, name).status == "unsupported"
    assert read(b'{"depth": "9' + b"\x00" + b'.4"}', "a.json").text == "depth: 9.4"
