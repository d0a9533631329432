"""PDFs to text: reading order, whole sentences, maps, and a status for everything that is no text."""

import zlib
from collections.abc import Callable
from typing import Any

import pymupdf
import pytest

from services.extractor.reading import pdf
from services.extractor.reading.read import read as read_any
from services.extractor.reading.result import PdfBackend, Reading
from shared.domain.maps import page_at

Read = Callable[[bytes], Reading]
SENTENCE = "The survey covered every harbour on the coast and was repeated each spring by the same crew. "


@pytest.fixture(params=["pymupdf", "pypdfium2"])
def read(request: pytest.FixtureRequest) -> Read:
    """Read with each of the libraries."""
    return lambda data: pdf.read(data, request.param)


def made(*draw: Callable[[Any], object], metadata: dict[str, str] | None = None, **options: object) -> bytes:
    """Return a PDF with one page for each drawing function."""
    document: Any = pymupdf.open()
    for function in draw:
        function(document.new_page(width=600, height=800))
    document.set_metadata(metadata or {})
    data: bytes = document.tobytes(**options)
    document.close()
    return data


def raw(content: bytes, extra: bytes = b"", filters: bytes = b"", resources: bytes = b"") -> bytes:
    """Return a PDF of one page written by hand, with a content stream and further objects from number 6 on."""
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica " + resources + b" >>"
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R "
    page += b"/Resources << /Font << /F1 5 0 R >> >> >>"
    catalog = b"<< /Type /Catalog /Pages 2 0 R " + (b"/Outlines 6 0 R " if extra else b"") + b">>"
    objects = [catalog, b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page]
    objects.append(b"<< /Length %d %s >>\nstream\n" % (len(content), filters) + content + b"\nendstream")
    objects.append(font)
    data, offsets = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    data += extra
    start = len(data)
    data += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return data + b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start


HELLO = b"BT /F1 12 Tf 20 200 Td (Harbour survey: 1200 boats) Tj ET"


def two_columns(number: int) -> Callable[[Any], object]:
    """Return what draws a page of two columns below a title, with a running head and a page number."""

    def draw(page: Any) -> None:
        page.insert_text((60, 40), "Journal of Harbours, volume 12", fontsize=8)
        page.insert_text((60, 90), f"A wide title across both columns, part {number}", fontsize=20)
        page.insert_textbox((310, 120, 545, 760), "a sentence here. " + SENTENCE * 6 + "Right ends.", fontsize=10)
        page.insert_textbox(
            (60, 120, 295, 760), "Left begins. " + SENTENCE * 6 + "The column ends in the middle of", fontsize=10
        )
        page.insert_text((298, 785), str(number), fontsize=8)

    return draw


def test_two_columns_are_read_one_after_the_other(read: Read) -> None:
    """The left column comes first whatever the order of drawing, and a sentence goes on from one to the other."""
    reading = read(made(*(two_columns(number) for number in (1, 2, 3))))
    first = f"Left begins. {SENTENCE * 6}The column ends in the middle of a sentence here. {SENTENCE * 6}Right ends."
    assert reading.text.startswith(f"A wide title across both columns, part 1\n\n{first}\n\nA wide title")


def test_running_heads_and_page_numbers_are_dropped(read: Read) -> None:
    """What returns in the margins of the pages does not cut sentences; titles that return stay."""
    reading = read(made(*(two_columns(number) for number in (1, 2, 3))))
    assert "Journal" not in reading.text
    assert [heading.text[-6:] for heading in reading.headings] == ["part 1", "part 2", "part 3"]
    assert all(reading.text[heading.start : heading.end] == heading.text for heading in reading.headings)


def test_the_page_map_holds_every_offset(read: Read) -> None:
    """Pages follow one another without a gap, and hold the words printed on them."""
    reading = read(made(*(two_columns(number) for number in (1, 2, 3))))
    assert [page.number for page in reading.pages] == [1, 2, 3]
    assert [page.start for page in reading.pages] == [0, *(page.end for page in reading.pages[:-1])]
    assert reading.pages[-1].end == len(reading.text)
    found = page_at(reading.pages, reading.text.index("part 2"))
    assert found is not None
    assert found.number == 2


def test_sentences_and_words_are_made_whole(read: Read) -> None:
    """A word cut at a line's end is rejoined, a sentence goes on over the page's end, and an empty page has no text."""
    one = "The harbours of the north were visited by a crew that sur-\nveyed them and went on to the next one with"
    reading = read(
        made(
            lambda page: page.insert_text((60, 100), one.split("\n"), fontsize=10),
            lambda page: None,
            lambda page: page.insert_text((60, 100), ["out a pause, as planned."], fontsize=10),
        )
    )
    assert reading.text == one.replace("sur-\nveyed", "surveyed") + " out a pause, as planned."
    assert [(page.start, page.end) for page in reading.pages] == [(0, 101), (101, 101), (101, 125)]


def test_a_table_row_is_one_line(read: Read) -> None:
    """Cells on one base line stand together, with what parts the cells of a row."""

    def draw(page: Any) -> None:
        page.insert_text((60, 60), "Boats by port", fontsize=14)
        for row, cells in enumerate((("Port", "2018", "2019"), ("Northam", "1,100", "1,200"), ("Southam", "7", "9"))):
            for column, cell in enumerate(cells):
                page.insert_text((60 + column * 120, 100 + row * 16), cell, fontsize=10)

    reading = read(made(draw))
    assert reading.text == "Boats by port\n\nPort | 2018 | 2019\nNortham | 1,100 | 1,200\nSoutham | 7 | 9"


def test_list_items_stand_alone(read: Read) -> None:
    """Each bullet opens a line; its wrapped lines stay with it."""

    def draw(page: Any) -> None:
        for row, line in enumerate(("- the first item goes on", "over two lines", "- the second item")):
            page.insert_text((60 if line[0] == "-" else 68, 100 + row * 13), line, fontsize=10)

    assert read(made(draw)).text == "- the first item goes on over two lines\n- the second item"


def test_metadata(read: Read) -> None:
    """Title, author and dates are those that the file states; a file's name is no title."""
    info = {
        "title": "On harbours",
        "author": "Ada Port",
        "creationDate": "D:20190504103000+02'00'",
        "modDate": "D:20190601",
    }
    reading = read(made(two_columns(1), metadata=info))
    assert (reading.title, reading.author) == ("On harbours", "Ada Port")
    assert (reading.published_at, reading.modified_at) == ("2019-05-04T10:30:00+02:00", "2019-06-01")
    for title in ("Microsoft Word - report.docx", "untitled", "a.tex", "IEEE Paper Template in A4 (V1)", ""):
        assert read(made(two_columns(1), metadata={"title": title})).title == "A wide title across both columns, part 1"


@pytest.mark.parametrize("library", ["pymupdf", "pypdfium2"])
def test_the_bytes_decide_that_it_is_a_pdf(library: PdfBackend) -> None:
    """A PDF under another name and header is read as a PDF."""
    header = "text/html; charset=utf-8"
    reading = read_any(raw(HELLO), name="x.html", content_type=header, url=None, pdf_backend=library)
    assert (reading.mime, reading.text) == ("application/pdf", "Harbour survey: 1200 boats")


def picture(page: Any) -> None:
    """Draw a page that is one grey picture."""
    pixels: Any = pymupdf.Pixmap(pymupdf.csGRAY, (0, 0, 64, 64), False)
    pixels.clear_with(200)
    page.insert_image(page.rect, pixmap=pixels)


BOMB = zlib.compress(b" " * (80 * 2**20), 9)
BROKEN_PAGE = b"BT /F1 12 Tf 20 200 Td (Harb"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (made(two_columns(1), encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="open", owner_pw="own"), "encrypted"),
        (made(two_columns(1), encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="", owner_pw="own"), "ok"),
        (made(picture, picture), "scanned"),
        (made(lambda page: None), "empty"),
        (b"<html><body>Please verify</body></html>", "broken"),
        (b"", "broken"),
        (b"%PDF-1.7\n", "broken"),
        (b"%PDF-1.7\n" + bytes(range(256)) * 20, "broken"),
        (raw(HELLO)[: raw(HELLO).index(b"(Harbour") + 4], "broken"),
        (raw(BOMB, filters=b"/Filter /FlateDecode"), "too_large"),
        (
            raw(
                HELLO,
                b"6 0 obj\n<< /Type /Outlines /First 7 0 R >>\nendobj\n7 0 obj\n<< /Title (x) /Next 7 0 R >>\nendobj\n",
            ),
            "ok",
        ),
        (raw(HELLO).replace(b"/Kids [3 0 R]", b"/Kids [2 0 R]"), "broken"),
    ],
    ids="password owner scanned blank html nothing head noise truncated bomb cyclic-outline page-loop".split(),
)
def test_every_pdf_ends_in_a_status(data: bytes, status: str, read: Read) -> None:
    """What cannot be quoted says why, in a sentence, and holds no text."""
    reading = read(data)
    assert reading.status == status
    assert bool(reading.text) == (status == "ok")
    assert (reading.reason is None) == (status == "ok")


def test_lone_surrogates_become_replacement_characters(read: Read) -> None:
    """A font that maps a letter to half a surrogate pair gives text that can be stored."""
    cmap = b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange\n"
    cmap += b"1 beginbfchar <42> <D863> endbfchar endcmap end"
    stream = b"6 0 obj\n<< /Length %d >>\nstream\n" % len(cmap) + cmap + b"\nendstream\nendobj\n"
    data = raw(b"BT /F1 12 Tf 20 200 Td (ABA) Tj ET", resources=b"/ToUnicode 6 0 R")
    data = data.replace(b"xref\n", stream + b"xref\n", 1)
    reading = read(data)
    reading.text.encode("utf-8")
    assert reading.status == "ok"
