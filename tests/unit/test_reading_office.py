"""Word documents, presentations and books to text, and what a hostile archive cannot do."""

import struct

import pytest

from services.extractor.reading.mime import DOCX, EPUB, PPTX, XLSX, sniff
from services.extractor.reading.read import read as read_any
from services.extractor.reading.result import Reading
from shared.domain.maps import part_at
from tests.factories.office import archive, docx, epub, paragraph, pptx, relations, row, shape, xlsx

STYLES = (
    '<w:style w:styleId="T"><w:name w:val="Title"/></w:style>'
    '<w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>'
    '<w:style w:styleId="Own"><w:name w:val="My chapter"/><w:basedOn w:val="H2"/></w:style>'
    '<w:style w:styleId="L"><w:name w:val="List Bullet"/></w:style>'
)
FONTS = "http://www.idpf.org/2008/embedding"


def read(data: bytes, name: str | None = None) -> Reading:
    """Read a document whose bytes alone say what it is."""
    return read_any(data, name=name, content_type=None, url=None)


def styled(text: str, style: str) -> str:
    """Return a paragraph in a style."""
    return paragraph(text, f'<w:pStyle w:val="{style}"/>')


def cell(text: str, layout: str = "") -> str:
    """Return a cell of a table."""
    return f"<w:tc><w:tcPr>{layout}</w:tcPr>{paragraph(text)}</w:tc>"


def grid(*rows: tuple[str, ...]) -> str:
    """Return a table on a slide, whose first row is its header."""
    lines = ""
    for cells in rows:
        made = (f"<a:tc><a:txBody><a:p><a:r><a:t>{c}</a:t></a:r></a:p></a:txBody></a:tc>" for c in cells)
        lines += f"<a:tr>{''.join(made)}</a:tr>"
    return f"<p:graphicFrame><a:tbl><a:tblPr firstRow='1'/>{lines}</a:tbl></p:graphicFrame>"


def test_a_word_document_keeps_its_structure() -> None:
    """Headings by their style, one derived from another too, list items, paragraphs; metadata from the properties."""
    body = styled("On harbours", "T") + styled("Results", "H2") + styled("Northam", "Own")
    reading = read(docx(body + paragraph("It is 12 m deep.") + styled("It rose.", "L"), STYLES))
    assert reading.text == "On harbours\n\nResults\n\nNortham\n\nIt is 12 m deep.\n\n- It rose."
    assert [(h.level, h.text) for h in reading.headings] == [(1, "On harbours"), (2, "Results"), (2, "Northam")]
    assert (reading.mime, reading.title, reading.author) == (DOCX, "On harbours", "Ada Port")
    assert (reading.published_at, reading.modified_at) == ("2019-05-04T10:30:00Z", "2019-06-01T00:00:00Z")


def test_what_nobody_sees_is_left_out() -> None:
    """Hidden runs, deleted text, field codes and the fallback twin of a text box are no text; insertions are."""
    box = "<w:txbxContent>" + paragraph("In a box.") + "</w:txbxContent>"
    body = "<w:p><w:r><w:t>Seen</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t> unseen</w:t></w:r>"
    body += "<w:del><w:r><w:delText> gone</w:delText></w:r></w:del><w:ins><w:r><w:t> added.</w:t></w:r></w:ins>"
    body += "<w:r><w:instrText> PAGE </w:instrText></w:r></w:p>"
    body += f"<w:p><w:r><Choice>{box}</Choice><Fallback>{box}</Fallback></w:r></w:p>"
    assert read(docx(body)).text == "Seen added.\n\nIn a box."


def test_a_word_table_is_read_in_rows() -> None:
    """The header row names the columns; a cell merged downwards stands in each of its rows."""
    head = f"<w:tr><w:trPr><w:tblHeader/></w:trPr>{cell('Region')}{cell('Port')}{cell('Boats')}</w:tr>"
    start, on = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    rows = f"<w:tr>{cell('North', start)}{cell('Northam')}{cell('7')}</w:tr>"
    rows += f"<w:tr>{cell('', on)}{cell('Eastham')}{cell('9')}</w:tr>"
    reading = read(docx(f"<w:tbl>{head}{rows}</w:tbl>"))
    assert reading.text == "Region: North | Port: Northam | Boats: 7\nRegion: North | Port: Eastham | Boats: 9"


def test_footnotes_follow_the_text() -> None:
    """Notes are text of the document; the lines that part them are not."""
    notes = '<w:footnote w:type="separator"><w:p/></w:footnote><w:footnote w:id="2">' + paragraph("See the log.")
    assert read(docx(paragraph("Body."), notes=notes + "</w:footnote>")).text == "Body.\n\n- See the log."


def test_what_a_library_filled_in_is_nothing() -> None:
    """The names and dates that writing libraries put into every file say nothing about it."""
    core = (
        '<c xmlns:d="d" xmlns:t="t"><d:creator>python-docx</d:creator><t:created>2013-12-23T23:15:00Z</t:created></c>'
    )
    reading = read(docx(paragraph("Words."), core=core))
    assert (reading.author, reading.published_at) == (None, None)


def test_slides_come_in_the_order_of_the_show() -> None:
    """Each slide is a part with its title first; its number counts hidden slides, whose text is left out."""
    first = shape("It is 12 m deep.\nIt was dredged.", "body") + shape("The basin", "title") + shape("9", "sldNum")
    table = grid(("Port", "Boats"), ("Northam", "7"))
    reading = read(pptx(first, "!" + shape("Not shown", "title"), table, notes={1: "Say it."}))
    listed = "- It is 12 m deep.\n- It was dredged."
    assert reading.text == f"The basin\n\n{listed}\n\nNotes: Say it.\n\nPort: Northam | Boats: 7"
    assert (reading.mime, reading.title) == (PPTX, "The basin")
    place = part_at(reading.parts, reading.text.index("Northam"))
    assert place is not None
    assert (place.kind, place.number) == ("slide", 3)
    assert [part.name for part in reading.parts] == ["The basin", "", ""]


def test_a_book_is_read_chapter_by_chapter() -> None:
    """Chapters are parts named by their headings; the table of contents is no text, what is hidden neither."""
    reading = read(
        epub(
            {
                "one.xhtml": "<html><body><h1>Tides</h1><p>They rise.</p><p hidden>Obey.</p></body></html>",
                "two.xhtml": "<html><head><title>Winds</title></head><body><p>They blow.</p></body></html>",
            },
            encryption=FONTS,
        )
    )
    assert reading.text == "Tides\n\nThey rise.\n\nThey blow."
    assert [(part.kind, part.name) for part in reading.parts] == [("chapter", "Tides"), ("chapter", "Winds")]
    assert reading.parts[-1].end == len(reading.text)
    said = (reading.mime, reading.title, reading.author, reading.publisher, reading.published_at, reading.language)
    assert said == (EPUB, "The sill", "Ada Port", "Lock Press", "2019-05", "en")


def lying(name: str, declared: int) -> bytes:
    """Return a document whose list of parts states another size for the text than it unpacks to."""
    data = archive({"[Content_Types].xml": "x", name: b" " * 5_000_000})
    return data.replace(struct.pack("<L", 5_000_000), struct.pack("<L", declared))


ENTITIES = "<!DOCTYPE d [<!ENTITY a 'lol'><!ENTITY b '&a;&a;'>]><d>&b;</d>"
OUT = "file:///etc/passwd"


def with_main(main: str | bytes) -> bytes:
    """Return a document whose main part is this."""
    types = "<T><O ContentType='application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml'/></T>"
    rels = relations([("a", "officeDocument", "word/main.xml")])
    return archive({"[Content_Types].xml": types, "_rels/.rels": rels, "word/main.xml": main})


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (with_main(ENTITIES), "broken"),
        (with_main(f"<!DOCTYPE d SYSTEM '{OUT}'><d/>"), "broken"),
        (with_main("<d>" * 400 + "</d>" * 400), "too_large"),
        (with_main(b"<d>" + b" " * 140_000_000 + b"</d>"), "too_large"),
        (with_main("<d"), "broken"),
        (archive({"[Content_Types].xml": "wordprocessingml.document.main"}), "broken"),
        (docx(paragraph("x"))[:900], "broken"),
        (docx(""), "empty"),
        (epub({"a.xhtml": "<p>x</p>"}, encryption="http://www.w3.org/2001/04/xmlenc#aes128-cbc"), "encrypted"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "unsupported"),
        (archive({"a.txt": "x"}), "unsupported"),
        (archive({"mimetype": "application/vnd.oasis.opendocument.text"}), "broken"),
        (archive({"mimetype": "application/vnd.oasis.opendocument.database"}), "unsupported"),
    ],
    ids="entities dtd deep bomb markup no-main cut blank drm password old zip odt odb".split(),
)
def test_every_archive_ends_in_a_status(data: bytes, status: str) -> None:
    """Nothing is expanded, followed or unpacked without end; what cannot be read says why."""
    reading = read(data, "a.docx")
    assert (reading.status, reading.text) == (status, "")
    assert reading.reason or status == "empty"


def test_a_part_cannot_lie_about_its_size() -> None:
    """What unpacks to more than its entry states is damaged, not read on."""
    assert read(lying("word/document.xml", 10), "a.docx").status in ("broken", "unsupported")


def test_no_relationship_leads_outside() -> None:
    """A styles part on another machine does not exist; the text is read without it."""
    assert read(docx(paragraph("Words."), outside="http://169.254.169.254/")).text == "Words."


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (docx(""), DOCX),
        (pptx(), PPTX),
        (xlsx({"A": row(1, "x")}), XLSX),
        (epub({}), EPUB),
        (archive({"META-INF/container.xml": ""}), EPUB),
        (archive({"a": ""}), "application/zip"),
    ],
)
def test_the_bytes_tell_the_kind_of_archive(data: bytes, mime: str) -> None:
    """Whatever it is called and said to be."""
    assert sniff(data, name="a.pdf", content_type="text/html") == mime


def test_a_damaged_archive_is_what_it_was_meant_to_be() -> None:
    """An archive without a list of parts is known by its name, or by the names in it."""
    cut = docx(paragraph("x" * 400))[:300]
    assert sniff(cut, name="a.xlsx", content_type=None) == XLSX
    assert sniff(b"PK\x03\x04" + b"word/document.xml", name=None, content_type=None) == DOCX
