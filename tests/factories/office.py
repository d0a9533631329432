"""Office documents and books written by hand: the smallest archives that the formats allow."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_P = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
)
_R = f'xmlns:r="{_OFFICE}"'
_TYPE = "application/vnd.openxmlformats-officedocument"
CORE = (
    f'<c:coreProperties xmlns:c="{_PACKAGE}/metadata/core-properties" xmlns:d="http://purl.org/dc/elements/1.1/"'
    ' xmlns:t="http://purl.org/dc/terms/"><d:title>On harbours</d:title><d:creator>Ada Port</d:creator>'
    "<t:created>2019-05-04T10:30:00Z</t:created><t:modified>2019-06-01T00:00:00Z</t:modified></c:coreProperties>"
)


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a zip archive of these parts."""
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as packed:
        for name, data in parts.items():
            packed.writestr(name, data)
    return made.getvalue()


def relations(links: Sequence[tuple[str, str, str]], *, outside: str | None = None) -> str:
    """Return links as (id, last word of the type, target), and one that leads out of the archive."""
    told = "".join(f'<Relationship Id="{i}" Type="{_OFFICE}/{kind}" Target="{to}"/>' for i, kind, to in links)
    if outside is not None:
        told += f'<Relationship Id="x" Type="{_OFFICE}/styles" TargetMode="External" Target="{outside}"/>'
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{told}</Relationships>'


def _types(main: str) -> str:
    return (
        f'<Types xmlns="{_PACKAGE}/content-types"><Override PartName="/main.xml" ContentType="{_TYPE}.{main}"/></Types>'
    )


def docx(body: str, styles: str = "", notes: str = "", *, core: str = CORE, outside: str | None = None) -> bytes:
    """Return a Word document with this body (of w:p and w:tbl), these styles and footnotes."""
    links = [("a", "styles", "styles.xml"), ("b", "footnotes", "/word/notes.xml")]
    return archive(
        {
            "[Content_Types].xml": _types("wordprocessingml.document.main+xml"),
            "_rels/.rels": relations([("a", "officeDocument", "word/main.xml"), ("b", "core-properties", "core.xml")]),
            "core.xml": core,
            "word/main.xml": f"<w:document {_W}><w:body>{body}</w:body></w:document>",
            "word/_rels/main.xml.rels": relations(links, outside=outside),
            "word/styles.xml": f"<w:styles {_W}>{styles}</w:styles>",
            "word/notes.xml": f"<w:footnotes {_W}>{notes}</w:footnotes>",
        }
    )


def paragraph(text: str, layout: str = "", run: str = "") -> str:
    """Return a paragraph of one run."""
    return f"<w:p><w:pPr>{layout}</w:pPr><w:r><w:rPr>{run}</w:rPr><w:t>{escape(text)}</w:t></w:r></w:p>"


def xlsx(
    sheets: Mapping[str, str],
    *,
    strings: Sequence[str] = (),
    formats: Sequence[str] = (),
    hidden: Sequence[str] = (),
    layout: str = "",
) -> bytes:
    """Return a workbook: sheets by name (of row elements, and what follows them), shared strings, cell formats."""
    names = list(sheets)
    states = dict.fromkeys(hidden, 'state="hidden"')
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{n}" r:id="s{n}" {states.get(name, "")}/>'
        for n, name in enumerate(names)
    )
    codes = "".join(f"<numFmt numFmtId='{200 + n}' formatCode={quoteattr(code)}/>" for n, code in enumerate(formats))
    styles = "".join(f'<xf numFmtId="{200 + n}"/>' for n, _ in enumerate(formats))
    layouts = f'<numFmts>{codes}</numFmts><cellXfs><xf numFmtId="0"/>{styles}</cellXfs>'
    links = [(f"s{n}", "worksheet", f"sheets/s{n}.xml") for n, _ in enumerate(names)]
    links += [("str", "sharedStrings", "strings.xml"), ("sty", "styles", "styles.xml")]
    bodies = {
        f"xl/sheets/s{n}.xml": f"<worksheet {_S}><sheetData>{rows.partition('<mergeCells')[0]}</sheetData>"
        f"{''.join(rows.partition('<mergeCells')[1:])}</worksheet>"
        for n, rows in enumerate(sheets.values())
    }
    return archive(
        {
            "[Content_Types].xml": _types("spreadsheetml.sheet.main+xml"),
            "_rels/.rels": relations([("a", "officeDocument", "xl/main.xml")]),
            "xl/main.xml": f"<workbook {_S} {_R}><workbookPr {layout}/><sheets>{listed}</sheets></workbook>",
            "xl/_rels/main.xml.rels": relations(links),
            "xl/strings.xml": f"<sst {_S}>{''.join(f'<si><t>{escape(s)}</t></si>' for s in strings)}</sst>",
            "xl/styles.xml": f"<styleSheet {_S}>{layouts}</styleSheet>",
            **bodies,
        }
    )


def row(number: int, *cells: str | float | tuple[float, int] | None) -> str:
    """Return a row from column A on: words, figures, and figures with the number of a format (from 1)."""
    made = []
    for column, cell in zip("ABCDEFGHIJ", cells, strict=False):
        place = f'r="{column}{number}"'
        if isinstance(cell, str):
            made.append(f'<c {place} t="inlineStr"><is><t>{escape(cell)}</t></is></c>')
        elif isinstance(cell, tuple):
            made.append(f'<c {place} s="{cell[1]}"><v>{cell[0]}</v></c>')
        elif cell is not None:
            made.append(f"<c {place}><v>{cell}</v></c>")
    return f'<row r="{number}">{"".join(made)}</row>'


def pptx(*slides: str, notes: Mapping[int, str] | None = None) -> bytes:
    """Return a presentation of slides (of shapes; one that begins with "!" is hidden), with notes by number from 1."""
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": _types("presentationml.presentation.main+xml"),
        "_rels/.rels": relations([("a", "officeDocument", "ppt/main.xml")]),
        "ppt/_rels/main.xml.rels": relations([(f"s{n}", "slide", f"slides/s{n}.xml") for n, _ in enumerate(slides, 1)]),
    }
    listed = "".join(f'<p:sldId id="{n}" r:id="s{n}"/>' for n, _ in enumerate(slides, 1))
    parts["ppt/main.xml"] = f"<p:presentation {_P} {_R}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>"
    for n, shapes in enumerate(slides, 1):
        show = ' show="0"' if shapes.startswith("!") else ""
        body = f"<p:cSld><p:spTree>{shapes.removeprefix('!')}</p:spTree></p:cSld>"
        parts[f"ppt/slides/s{n}.xml"] = f"<p:sld {_P}{show}>{body}</p:sld>"
        if notes and n in notes:
            parts[f"ppt/slides/_rels/s{n}.xml.rels"] = relations([("n", "notesSlide", f"../notes/n{n}.xml")])
            tree = f"<p:cSld><p:spTree>{shape(notes[n], 'body')}</p:spTree></p:cSld>"
            parts[f"ppt/notes/n{n}.xml"] = f"<p:notes {_P}>{tree}</p:notes>"
    return archive(parts)


def shape(text: str, place: str | None = None) -> str:
    """Return a shape with a paragraph for each line, in one of the layout's places or in none."""
    mark = f'<p:ph type="{place}"/>' if place is not None else ""
    lines = "".join(f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in text.split("\n"))
    return f"<p:sp><p:nvSpPr><p:nvPr>{mark}</p:nvPr></p:nvSpPr><p:txBody>{lines}</p:txBody></p:sp>"


def epub(chapters: Mapping[str, str], *, encryption: str | None = None) -> bytes:
    """Return a book of chapters by file name."""
    items = "".join(
        f'<item id="c{n}" href="{name}" media-type="application/xhtml+xml"/>' for n, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n, _ in enumerate(chapters))
    about = "<d:title>The sill</d:title><d:creator>Ada Port</d:creator><d:publisher>Lock Press</d:publisher>"
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container><rootfiles><rootfile full-path="text/book.opf"/></rootfiles></container>',
        "text/book.opf": f'<package><metadata xmlns:d="http://purl.org/dc/elements/1.1/">{about}'
        "<d:date>2019-05</d:date><d:language>en</d:language></metadata>"
        f'<manifest>{items}<item id="nav" properties="nav" href="nav.xhtml" media-type="application/xhtml+xml"/>'
        f'</manifest><spine><itemref idref="nav"/>{spine}</spine></package>',
        "text/nav.xhtml": "<html><body><p>Contents</p></body></html>",
        **{f"text/{name}": body for name, body in chapters.items()},
    }
    if encryption is not None:
        parts["META-INF/encryption.xml"] = (
            f'<encryption><EncryptedData><EncryptionMethod Algorithm="{encryption}"/></EncryptedData></encryption>'
        )
    return archive(parts)
