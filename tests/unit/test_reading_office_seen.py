"""What a reader of an Office document sees: raised marks, unseen text, charts and diagrams, headers, formulas."""

from decimal import Decimal
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from services.extractor.reading.charset import decode
from services.extractor.reading.formulas import Sheet
from services.extractor.reading.read import read as read_any
from services.extractor.reading.result import Reading
from tests.factories.office import docx, epub, pptx, relations, row, shape, xlsx
from tests.support.second import needs_second, second

CHART_KIND = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:a="a"'
RELATED = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
WHITE = '<w:color w:val="FFFFFF"/>'


def read(data: bytes, name: str | None = None) -> Reading:
    """Read a file."""
    return read_any(data, name=name, content_type=None, url=None)


def run(text: str, look: str = "") -> str:
    """Return a run of a Word paragraph."""
    return f"<w:r><w:rPr>{look}</w:rPr><w:t>{text}</w:t></w:r>"


def up(text: str) -> str:
    """Return a raised run."""
    return run(text, '<w:vertAlign w:val="superscript"/>')


def with_parts(data: bytes, parts: dict[str, str]) -> bytes:
    """Return an archive with more or other parts."""
    made = BytesIO()
    with ZipFile(BytesIO(data)) as old, ZipFile(made, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name not in parts:
                new.writestr(name, old.read(name))
        for name, text in parts.items():
            new.writestr(name, text)
    return made.getvalue()


def points(kind: str, *values: object) -> str:
    """Return the points that are kept with a chart."""
    listed = "".join(f'<c:pt idx="{n}"><c:v>{value}</c:v></c:pt>' for n, value in enumerate(values))
    return f"<c:{kind}Cache>{listed}</c:{kind}Cache>"


def chart(title: str = "Depth of the basin") -> str:
    """Return a chart of two series over two years."""
    series = ""
    for name, values in (("North", (9.4, 8.1)), ("South", (7, 6.5))):
        series += f"<c:ser><c:tx><c:strRef>{points('str', name)}</c:strRef></c:tx>"
        series += f"<c:cat><c:strRef>{points('str', 2021, 2022)}</c:strRef></c:cat>"
        series += f"<c:val><c:numRef>{points('num', *values)}</c:numRef></c:val></c:ser>"
    words = f"<c:title><c:tx><a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:tx></c:title>"
    area = f"<c:plotArea><c:barChart>{series}</c:barChart></c:plotArea>"
    return f"<c:chartSpace {CHART_KIND}><c:chart>{words}{area}</c:chart></c:chartSpace>"


CHART_TEXT = "Chart: Depth of the basin\n\n2021 | North: 9.4 | South: 7\n2022 | North: 8.1 | South: 6.5"
DIAGRAM = (
    '<d:m xmlns:d="d" xmlns:a="a"><d:ptLst><d:pt modelId="0" type="doc"/>'
    '<d:pt modelId="2"><d:t><a:p><a:r><a:t>Build the sill</a:t></a:r></a:p></d:t></d:pt>'
    '<d:pt modelId="1"><d:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></d:t></d:pt>'
    '<d:pt modelId="9" type="pres"/></d:ptLst><d:cxnLst><d:cxn srcId="0" destId="1" srcOrd="0"/>'
    '<d:cxn srcId="0" destId="2" srcOrd="1"/></d:cxnLst></d:m>'
)


@needs_second
def test_the_cases_of_office() -> None:
    """Raised marks in Word, a title over merged cells, formulas without a stored value."""
    text = read(second("raised-notes.docx")).text
    assert "4.5 × 10⁶ candles over 12 km² of sea" in text
    assert "built in 1821 of granite" in text
    merged = read(second("header-over-merged-cells.xlsx"))
    assert "Item: Pumps | Cost centre totals Start: 2026-07-02 | Cost centre totals Share: 47.5%" in merged.text
    assert "Cost centre totals End: 2026-07-03" in merged.text
    assert "HIDDENSHEETVALUE" not in merged.text
    assert "without a stored value" in (merged.reason or "")
    assert "Item: Total | Crowns: 2000" in read(second("formula-without-value.xlsx")).text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (run("It is 33 m") + up("2") + run(" wide, from 1990") + up("12") + run("."), "It is 33 m² wide, from 1990."),
        (run("A board of 3") + up("1") + run("/") + run("2", '<w:vertAlign w:val="subscript"/>') + run(" inches"), "A board of 3½ inches"),  # noqa: E501
        (run("Some 10") + run("-3", '<w:position w:val="8"/>') + run(" m"), "Some 10⁻³ m"),
        (run("Built in 1821") + run("4", '<w:rStyle w:val="Ref"/>') + run(" of stone"), "Built in 1821 of stone"),
        ("<m:sSup><m:e>" + run("4.5 × 10") + "</m:e><m:sup>" + run("6") + "</m:sup></m:sSup>", "4.5 × 10⁶"),
        (run("3 ") + "<m:f><m:num>" + run("1") + "</m:num><m:den>" + run("4") + "</m:den></m:f>" + run(" m"), "3 ¼ m"),
    ],
)  # fmt: skip
def test_no_figure_gets_a_digit_that_nobody_sees(body: str, text: str) -> None:
    """Note marks go, exponents and fractions are marked as such, however they are raised."""
    styles = '<w:style w:styleId="Ref"><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style>'
    assert read(docx(f'<w:p xmlns:m="m">{body}</w:p>', styles)).text == text


def test_white_text_is_read_only_where_it_is_painted() -> None:
    """On paper nobody sees it; on a ground of another color everybody does."""
    shaded = '<w:pPr><w:shd w:val="clear" w:fill="003366"/></w:pPr>'
    cell = f'<w:tbl><w:tr><w:tc><w:tcPr><w:shd w:fill="112233"/></w:tcPr><w:p>{run("Cell.", WHITE)}</w:p></w:tc></w:tr></w:tbl>'  # noqa: E501
    styles = '<w:style w:styleId="W"><w:rPr><w:color w:val="FEFEFE"/></w:rPr></w:style>'
    body = f"<w:p>{run('Seen.')}{run(' Unseen.', WHITE)}</w:p><w:p>{shaded}{run('Banner.', WHITE)}</w:p>{cell}"
    body += f"<w:p>{run('By style.', '<w:rStyle w:val=' + chr(34) + 'W' + chr(34) + '/>')}</w:p>"
    body += f"<w:p>{run('Marked.', WHITE + '<w:highlight w:val=' + chr(34) + 'red' + chr(34) + '/>')}</w:p>"
    body += f"<w:p>{run('Tiny.', '<w:sz w:val=' + chr(34) + '2' + chr(34) + '/>')}</w:p>"
    assert read(docx(body, styles)).text == "Seen.\n\nBanner.\n\nCell.\n\nMarked."


def test_white_text_of_slides_and_raised_figures() -> None:
    """The same on slides, where a filled shape or a picture may lie below the text."""
    white = '<a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill>'
    line = '<a:r><a:t>Area 12 km</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>2</a:t></a:r>'
    line += f"<a:r><a:rPr>{white}</a:rPr><a:t> unseen</a:t></a:r>"
    box = "<p:sp><p:nvSpPr><p:nvPr/></p:nvSpPr><p:spPr>{}</p:spPr><p:txBody><a:p>{}</a:p></p:txBody></p:sp>"
    dark = '<a:solidFill><a:srgbClr val="112233"/></a:solidFill>'
    gone = (
        '<p:sp><p:nvSpPr><p:cNvPr hidden="1"/></p:nvSpPr><p:txBody><a:p><a:r><a:t>x</a:t></a:r></a:p></p:txBody></p:sp>'
    )
    reading = read(
        pptx(
            box.format("", line) + gone,
            "!" + shape("Secret"),
            box.format(dark, line),
            "<p:pic/>" + box.format("", line),
        )
    )
    assert reading.text == "Area 12 km²\n\nArea 12 km² unseen\n\nArea 12 km² unseen"
    assert reading.reason == "1 hidden slide left out."


def test_charts_and_diagrams_are_read_where_they_stand() -> None:
    """In Word, on slides and below a sheet: categories, values and titles, and the words of a diagram in order."""
    drawn = f'<c:chart {CHART_KIND} {RELATED} r:id="c1"/>'
    diagram = f'<d:relIds xmlns:d="d" {RELATED} r:dm="d1"/>'
    links = relations([("c1", "chart", "charts/c.xml"), ("d1", "diagramData", "d.xml"), ("a", "styles", "styles.xml")])
    body = f"<w:p>{run('Before.')}<w:r><w:drawing>{drawn}</w:drawing></w:r></w:p><w:p><w:r>{diagram}</w:r></w:p>"
    word = with_parts(
        docx(body), {"word/_rels/main.xml.rels": links, "word/charts/c.xml": chart(), "word/d.xml": DIAGRAM}
    )
    assert read(word).text == f"Before.\n\n{CHART_TEXT}\n\n- Plan\n- Build the sill"
    slides = with_parts(
        pptx(f"<p:graphicFrame>{drawn}</p:graphicFrame><p:graphicFrame>{diagram}</p:graphicFrame>"),
        {"ppt/slides/_rels/s1.xml.rels": links, "ppt/slides/charts/c.xml": chart(), "ppt/slides/d.xml": DIAGRAM},
    )
    assert read(slides).text == f"{CHART_TEXT}\n\n- Plan\n- Build the sill"
    sheet = with_parts(
        xlsx({"Depths": row(1, "Port", "Depth") + row(2, "Northam", 9.4)}),
        {
            "xl/sheets/_rels/s0.xml.rels": relations([("d", "drawing", "../drawings/d.xml")]),
            "xl/drawings/d.xml": "<d/>",
            "xl/drawings/_rels/d.xml.rels": relations([("c1", "chart", "c.xml")]),
            "xl/drawings/c.xml": chart(),
        },
    )
    reading = read(sheet)
    assert reading.text == f"Depths\n\nPort: Northam | Depth: 9.4\n\n{CHART_TEXT}"
    assert [part.name for part in reading.parts] == ["Depths", "Depths, charts"]


def test_a_title_over_merged_cells_stands_before_each_of_its_columns() -> None:
    """Two and three rows of names, one merged downwards; a title over the whole table stays a line."""
    merged = '<mergeCells><mergeCell ref="B1:C1"/><mergeCell ref="A1:A2"/></mergeCells>'
    rows = row(1, "Port", "Depth in m") + row(2, None, "Min", "Max") + row(3, "Northam", 7, 9.4)
    assert read(xlsx({"D": rows + merged})).text == "D\n\nPort: Northam | Depth in m Min: 7 | Depth in m Max: 9.4"
    merged = '<mergeCells><mergeCell ref="B1:E1"/><mergeCell ref="B2:C2"/><mergeCell ref="D2:E2"/></mergeCells>'
    rows = row(1, None, "Boats") + row(2, None, "2021", None, "2022") + row(3, "Port", "In", "Out", "In", "Out")
    text = read(xlsx({"D": rows + row(4, "Northam", 1, 2, 3, 4) + merged})).text
    assert text == "D\n\nPort: Northam | Boats 2021 In: 1 | Boats 2021 Out: 2 | Boats 2022 In: 3 | Boats 2022 Out: 4"
    whole = row(1, "All ports") + row(2, "Port", "Boats") + row(3, "Northam", 7)
    whole += '<mergeCells><mergeCell ref="A1:B1"/></mergeCells>'
    assert read(xlsx({"D": whole})).text == "D\n\nAll ports\nPort: Northam | Boats: 7"


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("SUM(A1:A3)", "6"),
        ("AVERAGE($A$1:A3)*2", "4"),
        ("(A1+A2)/A3-1", "0"),
        ("-A1^2+10%", "1.1"),
        ("ROUND(A1/A3, 2)", "0.33"),
        ("max(A1:A3, 9)", "9"),
        ("B1+1", "7"),
        ("A9", "0"),
        ("C1", None),
        ("D1", None),
        ("VLOOKUP(A1,A1:A3,1)", None),
        ("Other!A1", None),
        ("A1/0", None),
        ("SUM(A1:ZZ1048576)", None),
        ("9^9^9^9", None),
        ("((((", None),
        ("(" * 900 + "1" + ")" * 900, None),
    ],
)
def test_formulas_are_worked_out_or_not(formula: str, value: str | None) -> None:
    """Simple ones are; words, circles, other sheets, unknown functions and what has no end are not."""
    figures = {(number, 1): Decimal(number) for number in (1, 2, 3)}
    found = Sheet({**figures, (1, 2): "=SUM(A1:A3)", (1, 3): "=C1", (1, 4): " "}).value(formula)
    assert (None if found is None else f"{found.normalize():f}") == value


def test_a_formula_that_is_not_worked_out_is_told() -> None:
    """It stands in its cell, and the reading says so."""
    lookup = '<row r="3"><c r="A3" t="inlineStr"><is><t>Total</t></is></c><c r="B3"><f>SUMIF(B2:B2,1)</f></c></row>'
    reading = read(xlsx({"D": row(1, "Item", "Crowns") + row(2, "Piles", 1200) + lookup}))
    assert reading.text.endswith("Item: Total | Crowns: =SUMIF(B2:B2,1)")
    assert reading.reason == "1 formula has no stored value and could not be worked out."
    empty = '<row r="2"><c r="A2" t="inlineStr"><is><t>Total</t></is></c><c r="B2" t="str"><f>IF(1,"","")</f><v></v></c></row>'  # noqa: E501
    assert read(xlsx({"D": row(1, "Item", "Crowns") + empty})).reason is None


def test_raised_words_in_a_cell() -> None:
    """Formatted runs of a shared string keep what they mean."""
    strings = "<si><r><t>12 km</t></r><r><rPr><vertAlign val='superscript'/></rPr><t>2</t></r></si>"
    body = '<row r="1"><c r="A1" t="s"><v>0</v></c></row>'
    data = with_parts(xlsx({"D": body}), {"xl/strings.xml": f"<sst>{strings}</sst>"})
    assert read(data).text == "D\n\n12 km²"


def test_marks_of_notes_in_a_book() -> None:
    """A reference to a note is no digit of the figure before it, whether raised or not."""
    words = 'Built in 1821<a epub:type="noteref" href="#n">1</a> of stone, in 1830<sup><a role="doc-noteref">2</a></sup> of brick.'  # noqa: E501
    page = f'<html xmlns:epub="http://www.idpf.org/2007/ops"><body><p>{words}</p></body></html>'
    assert read(epub({"a.xhtml": page})).text == "Built in 1821 of stone, in 1830 of brick."


@needs_second
@pytest.mark.parametrize("codec", ["cp932", "gbk"])
def test_the_cases_of_few_names(codec: str) -> None:
    """Few foreign names among much ASCII are read in their own encoding."""
    raw = second(f"few-names-{codec}.csv")
    assert decode(raw, None, markup=False).text == raw.decode(codec)


@pytest.mark.parametrize(
    ("names", "codec"),
    [
        ("北京港，青岛码头", "gbk"),
        ("東京湾、横浜港", "cp932"),
        ("東京湾、横浜港", "euc-jp"),
        ("김철수, 부산항 부두", "cp949"),
        ("高雄港，基隆港", "big5"),
        ("Müller, Jörg", "cp1252"),
        ("Łódź, Gdańsk", "cp1250"),
    ],
)
def test_few_names_in_an_old_encoding(names: str, codec: str) -> None:
    """The encoding is the one in which the bytes are common characters of one language."""
    raw = ("id,name\n" + "".join(f"{n},berth {n}\n" for n in range(300)) + f"301,{names}\n").encode(codec)
    decoded = decode(raw, None, markup=False)
    assert names in decoded.text
    assert decoded.source in ("detected", "guessed")


def test_a_guess_is_told() -> None:
    """Two letters are not enough to be sure of an encoding, and the reading says so."""
    reading = read("id,name\n1,Пётр\n".encode("cp1251"), "a.csv")
    assert "Пётр" in reading.text
    assert reading.encoding_source == "guessed"
    assert "was guessed" in (reading.reason or "")
