"""PDFs as a reader sees them: nothing that is not painted, nothing twice, figures as printed, never a silent loss."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from services.extractor.reading import pdf
from services.extractor.reading.result import Reading
from tests.unit.test_reading_pdf import made, picture, raw

Read = Callable[[bytes], Reading]
SECOND = Path(os.environ.get("LEADLINE_TEST_CASES", "../shared/cases")) / "second"


@pytest.fixture(params=["pymupdf", "pypdfium2"])
def read(request: pytest.FixtureRequest) -> Read:
    """Read with each of the libraries."""
    return lambda data: pdf.read(data, request.param)


def case(name: str) -> bytes:
    """Return an input of the shared cases; skip where they are absent."""
    path = SECOND / name
    if not path.exists():
        pytest.skip(f"no {path}")
    return path.read_bytes()


def shown(text: str, y: int, before: str = "", x: float = 20) -> bytes:
    """Return instructions that write a line of 12 points at a height, after others."""
    return f"q {before} BT /F1 12 Tf {x} {y} Td ({text}) Tj ET Q\n".encode()


PLAIN = shown("The grant is 485,000 crowns.", 200)
TRICK = "The grant is 1 crown."


@pytest.mark.parametrize(
    "content",
    [
        PLAIN + shown(TRICK, 150, "3 Tr"),
        PLAIN + shown(TRICK, 150, "1 1 1 rg"),
        PLAIN + shown(TRICK, 150, "0.97 0.98 1 rg"),
        shown(TRICK, 150, "1 g") + PLAIN,
        PLAIN + shown(TRICK, 150) + b"1 g 10 140 280 30 re f\n",
        PLAIN + b"0.2 g 10 140 280 30 re f\n" + shown(TRICK, 150) + b"0.2 g 10 140 280 30 re f\n",
        PLAIN + shown(TRICK, 150, "7 Tr"),
    ],
    ids="mode-3 white nearly-white white-first covered covered-on-a-ground clipped".split(),
)
def test_what_the_page_does_not_show_is_left_out(content: bytes, read: Read) -> None:
    """The rest is read, and the loss is told."""
    reading = read(raw(content))
    assert (reading.status, reading.text) == ("ok", "The grant is 485,000 crowns.")
    assert reading.reason is not None
    assert "do not show" in reading.reason


@pytest.mark.parametrize(
    "content",
    [
        b"0 0.2 0.5 rg 10 140 280 30 re f\n" + shown(TRICK, 150, "1 1 1 rg") + PLAIN,
        b"1 g 10 140 280 30 re f\n" + shown(TRICK, 150) + PLAIN,
        shown(TRICK, 150, "1 Tr") + PLAIN,
        shown(TRICK, 150, "0.6 g") + PLAIN,
        shown(TRICK, 150) + PLAIN + b"10 140 280 30 re S\n",
    ],
    ids="white-on-blue on-white outlined grey framed".split(),
)
def test_what_the_page_shows_is_read(content: bytes, read: Read) -> None:
    """White letters on a dark ground, outlines, grey."""
    reading = read(raw(content))
    assert sorted(reading.text.replace("crowns. ", "crowns.\n").split("\n")) == [TRICK, "The grant is 485,000 crowns."]
    assert reading.reason is None


def test_the_text_layer_of_a_scan_stays(read: Read) -> None:
    """With a stamp over it that is painted, and without."""
    layer = "The minutes of the harbour board were read and signed by everybody who was there."

    def scan(stamp: bool) -> Callable[[object], None]:
        def draw(page: object) -> None:
            picture(page)
            for row in range(5):
                page.insert_text((60, 100 + row * 14), layer, fontsize=9, render_mode=3)  # type: ignore[attr-defined]
            if stamp:
                page.insert_text((60, 700), "Harbour archive", fontsize=9)  # type: ignore[attr-defined]

        return draw

    assert read(made(scan(False))).text.count(layer) == 5
    assert read(made(scan(True))).text.count(layer) == 5


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (shown("Depth: 12.5 metres", 200) + shown("Depth: 12.5 metres", 200, x=20.3), "Depth: 12.5 metres"),
        (
            shown("The depth of the basin", 200) + shown("depth", 200, x=44),
            "The depth of the basin",
        ),
        (
            shown("Depth", 200) + shown("Depth", 200, x=20.3) + shown("of 12", 200, x=55) + shown("of 12", 200, x=55.3),
            "Depth of 12",
        ),
        (shown("Shadow", 199, "0.7 g", x=21) + shown("Shadow", 200) + shown("Shadow", 100), "Shadow\n\nShadow"),
    ],
    ids="run word words shadow".split(),
)
def test_what_is_painted_twice_is_read_once(content: bytes, expected: str, read: Read) -> None:
    """Bold or a shadow made by painting again; the same words elsewhere stay."""
    assert read(raw(content)).text.replace("\n\n", " ") == expected.replace("\n\n", " ")


def test_raised_letters_are_no_digits_of_the_figure(read: Read) -> None:
    """Told by their size and base line, whether the text goes on in the same object or in another."""
    content = b"BT /F1 12 Tf 20 200 Td (Built in 1821) Tj /F1 7 Tf 4 Ts (1) Tj /F1 12 Tf 0 Ts ( it gave 4.5 x 10) Tj"
    content += b" /F1 7 Tf 4 Ts (6) Tj /F1 12 Tf 0 Ts ( candles) Tj ET\n"
    content += shown("The stove took 3", 170) + b"BT /F1 7 Tf 111 174 Td (1) Tj ET\n" + shown("/", 170, x=115.2)
    content += b"BT /F1 7 Tf 118.8 169 Td (2) Tj ET\n" + shown("litres.", 170, x=126)
    text = read(raw(content)).text.replace("3 ½", "3½")
    assert text == "Built in 1821 it gave 4.5 x 10⁶ candles The stove took 3½ litres."


def type_3(size: str, matrix: str, unit: float) -> bytes:
    """Return a PDF whose letters are drawn in units of their own, as bitmaps of TeX are."""

    def glyph(width: float) -> bytes:
        box = f"0 0 {width * unit} {0.7 * unit}"
        return f"{width * unit} 0 {box} d1 0 0 {width * unit * 0.8} {0.7 * unit} re f".encode()

    widths = " ".join(str(width * unit) for width in (0.3, *[0.0] * 32, 0.6, 0.5))
    names = b"<< /a 10 0 R /b 11 0 R /s 12 0 R >> /Encoding << /Type /Encoding /Differences [32 /s 65 /a /b] >>"
    more = b"/FontBBox [0 0 0 0] /FontMatrix [%s] /FirstChar 32 /LastChar 66 /Widths [%s] /CharProcs " % (
        matrix.encode(),
        widths.encode(),
    )
    cmap = b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange "
    cmap += b"3 beginbfchar <41> <0041> <42> <0042> <20> <0020> endbfchar endcmap end"
    streams = {10: glyph(0.6), 11: glyph(0.5), 12: f"{0.3 * unit} 0 d0".encode(), 13: cmap}
    objects = b"".join(
        b"%d 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\n" % (number, len(body), body)
        for number, body in streams.items()
    )
    content = f"BT /F1 {size} Tf 20 200 Td (ABBA ABAB BABA) Tj 0 -14 Td (BABA ABBA) Tj ET".encode()
    data = raw(content, resources=b"/ToUnicode 13 0 R " + more + names)
    data = data.replace(b"/Subtype /Type1 /BaseFont /Helvetica", b"/Subtype /Type3")
    return data.replace(b"xref\n0 6", objects + b"xref\n0 6", 1)


@pytest.mark.parametrize(
    ("size", "matrix", "unit"),
    [("0.12", "1 0 0 1 0 0", 83.3), ("1", "0.12 0 0 0.12 0 0", 83.3), ("0.24", "1 0 0 -1 0 0", 41.7)],
)
def test_letters_are_read_whatever_size_their_font_tells(size: str, matrix: str, unit: float, read: Read) -> None:
    """Type 3 fonts count in units of their own; their size says nothing."""
    assert read(type_3(size, matrix, unit)).text == "ABBA ABAB BABA BABA ABBA"


def test_a_page_on_its_side_is_read(read: Read) -> None:
    """Where nearly all letters of a page are turned, it is turned back."""
    lines = ["The tower was built by the harbour office and", "stands on the rock above the northern mole."]
    for angle, start, step in ((90, (100, 700), (14, 0)), (270, (500, 100), (-14, 0))):

        def draw(
            page: object, angle: int = angle, start: tuple[int, int] = start, step: tuple[int, int] = step
        ) -> None:
            for row, line in enumerate(lines):
                at = (start[0] + row * step[0], start[1] + row * step[1])
                page.insert_text(at, line, fontsize=10, rotate=angle)  # type: ignore[attr-defined]

        assert read(made(draw)).text == " ".join(lines)


def nested(width: int, depth: int) -> bytes:
    """Return a PDF whose page draws a form that draws others so many times, so deep."""
    objects = b""
    for level in range(depth):
        is_last = level == depth - 1
        content = b"BT /F1 1 Tf (a) Tj ET" if is_last else b"/A Do " * width
        below = b"" if is_last else b"/XObject << /A %d 0 R >>" % (11 + level)
        objects += b"%d 0 obj\n<< /Type /XObject /Subtype /Form /BBox [0 0 300 300] " % (10 + level)
        objects += b"/Resources << /Font << /F1 5 0 R >> %s >> /Length %d >>\nstream\n" % (below, len(content))
        objects += content + b"\nendstream\nendobj\n"
    data = raw(PLAIN + b"/A Do\n").replace(b"/Resources << /Font", b"/Resources << /XObject << /A 10 0 R >> /Font")
    return data.replace(b"xref\n0 6", objects + b"xref\n0 6", 1)


@pytest.mark.parametrize(("width", "depth"), [(10, 9), (2, 40), (300, 4)])
def test_forms_in_forms_are_not_drawn_without_end(width: int, depth: int, read: Read) -> None:
    """3 kB that would take minutes end at once, and say why."""
    reading = read(nested(width, depth))
    assert reading.status == "too_large"
    assert reading.reason is not None


def test_a_few_forms_are_read(read: Read) -> None:
    """As letterheads and figures use them."""
    assert "485,000" in read(nested(3, 3)).text


def test_a_page_that_is_too_much_work_leaves_the_others() -> None:
    """And is told."""
    import pymupdf

    document = pymupdf.open(stream=nested(10, 9), filetype="pdf")
    page = document.new_page()
    page.insert_text((60, 100), "The basin is 12 m deep.")
    reading = pdf.read(document.tobytes(), "pymupdf")
    assert (reading.status, reading.text) == ("ok", "The basin is 12 m deep.")
    assert reading.reason == "1 of 2 pages draw too much to be read."
    assert reading.truncated


def test_pages_after_the_time_are_told(monkeypatch: pytest.MonkeyPatch, read: Read) -> None:
    """What came too late is missing, and said so."""
    monkeypatch.setattr(pdf, "MAX_CPU_S", -1.0)
    with_nothing = read(made(lambda page: page.insert_text((60, 100), "The basin is 12 m deep.")))
    assert with_nothing.status != "ok"


def test_pages_that_are_pictures_are_told(read: Read) -> None:
    """Some among others, and nearly all with a stamp."""
    sentence = "The basin is 12 m deep, and it was dredged again in the spring of that year."

    def words(page: object) -> None:
        for row in range(4):
            page.insert_text((60, 100 + 14 * row), sentence, fontsize=10)  # type: ignore[attr-defined]

    def stamped(page: object) -> None:
        picture(page)
        page.insert_text((60, 400), "Archive", fontsize=10)  # type: ignore[attr-defined]

    mixed = read(made(words, picture, words))
    assert (mixed.status, mixed.reason) == (
        "ok",
        "1 of 3 pages are pictures with next to no text; what they show was not read.",
    )
    assert read(made(stamped, stamped, stamped)).status == "scanned"


def unmapped(share: str) -> bytes:
    """Return a PDF whose font maps some letters to codes without a meaning."""
    cmap = b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange "
    cmap += b"2 beginbfchar <31> <E031> <32> <E032> endbfchar 1 beginbfrange <41> <7A> <0041> endbfrange endcmap end"
    stream = b"6 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\n" % (len(cmap), cmap)
    data = raw(f"BT /F1 12 Tf 20 200 Td ({share}) Tj ET".encode(), resources=b"/ToUnicode 6 0 R")
    return data.replace(b"xref\n0 6", stream + b"xref\n0 6", 1)


def test_codes_without_a_meaning_are_told(read: Read) -> None:
    """A few in a sentence; and where there is little else, there is no text."""
    few = read(unmapped("The harbour was built in 1212 of stone"))
    assert few.status == "ok"
    assert few.reason is not None
    assert "do not say what" in few.reason
    assert read(unmapped("12 1212 21 a 2112")).status == "unsupported"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("the price-", "determining factors", "price-determining"),
        ("the availa-", "bility of tugs", "availability"),
        ("a long-", "term lease. The long-term plan", "long-term lease"),
        ("a data-", "base. The database", "database. The"),
        ("the US-", "based office", "US-based"),
        ("a state-of-the-", "art crane", "state-of-the-art"),
        ("a self-", "propelled barge", "self-propelled"),
        ("with-", "out a pause", "without"),
        ("the co-", "operation was. All cooperation", "cooperation was"),
        ("the harbour of wa-", "ter-borne goods", "water-borne"),
    ],
)
def test_a_hyphen_that_was_typed_stays(first: str, second: str, expected: str, read: Read) -> None:
    """By what the document writes elsewhere, or by the halves."""
    reading = read(made(lambda page: page.insert_text((60, 100), [first, second], fontsize=10)))
    assert expected in reading.text


def test_titles_of_templates_are_not_the_title(read: Read) -> None:
    """The largest text of the page is; a title that the document tells stays."""

    def draw(page: object) -> None:
        page.insert_text((60, 60), "NATURE", fontsize=30)  # type: ignore[attr-defined]
        page.insert_text((60, 100), ["Tides of the northern", "harbours in winter"], fontsize=18)  # type: ignore[attr-defined]
        page.insert_textbox((60, 150, 500, 700), "The tide was low in May of that year. " * 20, fontsize=10)  # type: ignore[attr-defined]

    for told in (
        "Microsoft Word - x.doc",
        "untitled",
        "paper.dvi",
        "ipg1300180a",
        "Instructions for Authors",
        "doi:10.1/x",
    ):
        assert read(made(draw, metadata={"title": told})).title == "Tides of the northern harbours in winter"
    assert read(made(draw, metadata={"title": "Low tides"})).title == "Low tides"


def test_the_shared_cases(read: Read) -> None:
    """Hyphens, letters that are never painted, bold that is painted twice."""
    hyphens = read(case("hyphen-typed-by-author.pdf")).text
    assert "price-determining factors" in hyphens
    assert "availability of tugs" in hyphens
    assert "volume 12" not in hyphens
    assert "Draft" not in hyphens
    grant = read(case("text-never-painted.pdf")).text
    assert "485,000" in grant
    assert "1 crown" not in grant
    assert "2 crowns" not in grant
    bold = read(case("bold-painted-twice.pdf")).text
    assert (bold.count("Depth of the basin"), bold.count("dredged")) == (1, 1)
