"""DOCX to text: paragraphs, headings by style, lists, tables, text boxes and notes, as the reader of a print sees them.

The document becomes a small tree of HTML elements, so that lists and tables are read as those of pages are. Deleted and
hidden text, comments, field codes, headers and footers are left out.
"""

import re
from collections.abc import Iterator, Mapping

from lxml.etree import Element, SubElement, _Element, iterwalk

from services.extractor.reading.blocks import assemble, squeeze
from services.extractor.reading.mime import DOCX
from services.extractor.reading.office import main_part, properties
from services.extractor.reading.package import Package, first_of
from services.extractor.reading.result import Reading
from services.extractor.reading.serialize import blocks_of
from services.extractor.reading.xml import attribute, child, local

_HEADING_NAME = re.compile(r"heading (\d)", re.IGNORECASE)
_LIST_NAME = re.compile(r"list\b", re.IGNORECASE)
_SKIPPED = frozenset(
    """
    del moveFrom Fallback instrText delText pPr rPr txbxContent fldData rt annotationRef commentReference footnoteRef
    endnoteRef tblPr trPr tcPr sectPr
    """.split()
)
_BREAKS = frozenset(("br", "cr"))
_NOT_NOTES = frozenset(("separator", "continuationSeparator", "continuationNotice"))
_MAX_STYLE_CHAIN = 10
_Styles = Mapping[str, int | None]  # style id: 1 to 6 for a heading, 0 for a list, None for anything else


def read(data: bytes) -> Reading:
    """Read a Word document; raise `Unreadable` for one that cannot be."""
    package = Package(data)
    main = main_part(package)
    relations = package.relations(main)
    styles = first_of(relations, "styles")
    known = _styles(package.xml(styles)) if styles is not None and package.has(styles) else {}
    tree = Element("body")
    body = child(package.xml(main), "body")
    if body is not None:
        _write(body, tree, known)
    for kind in ("footnotes", "endnotes"):
        notes = first_of(relations, kind)
        if notes is not None and package.has(notes):
            _write_notes(package.xml(notes), tree, known)
    made = assemble(blocks_of(tree))
    about = properties(package)
    return Reading(
        status="ok" if made.text else "empty",
        mime=DOCX,
        reader="word",
        reason="The text was cut at the limit." if made.truncated else None,
        title=about.title or (made.headings[0].text if made.headings else None),
        author=about.author,
        published_at=about.published_at,
        modified_at=about.modified_at,
        language=about.language,
        text=made.text,
        headings=made.headings,
        truncated=made.truncated,
    )


def _styles(root: _Element) -> dict[str, int | None]:
    """Return what each paragraph style makes of its paragraphs."""
    own: dict[str, int | None] = {}
    based: dict[str, str] = {}
    for style in (node for node in root if local(node) == "style"):
        name, above = child(style, "name"), child(style, "basedOn")
        known = attribute(style, "styleId") or ""
        own[known] = _style(attribute(name, "val") or "" if name is not None else "", child(style, "pPr"))
        based[known] = attribute(above, "val") or "" if above is not None else ""
    found: dict[str, int | None] = {}
    for known in own:
        at = known
        for _ in range(_MAX_STYLE_CHAIN):
            if own.get(at) is not None or at not in based:
                break
            at = based[at]
        found[known] = own.get(at)
    return found


def _style(name: str, layout: _Element | None) -> int | None:
    """Return the heading level that a style has by its name or its outline level, 0 for a list."""
    heading = _HEADING_NAME.fullmatch(name)
    if heading or name.casefold() == "title":
        return min(6, int(heading.group(1))) or 1 if heading else 1
    level = _outline(layout)
    return level or (0 if _LIST_NAME.match(name) or child(layout, "numPr") is not None else None)


def _outline(layout: _Element | None) -> int:
    """Return the outline level of paragraph properties, 0 for body text."""
    node = child(layout, "outlineLvl")
    value = attribute(node, "val") if node is not None else None
    return min(6, int(value) + 1) if value and value.isdecimal() and int(value) < 9 else 0


def _write(parent: _Element, tree: _Element, styles: _Styles) -> None:
    """Add the paragraphs and tables below `parent`, whatever wraps them."""
    for node in parent:
        kind = local(node)
        if kind == "p":
            _write_paragraph(node, tree, styles)
        elif kind == "tbl":
            _write_table(node, tree, styles)
        elif kind not in _SKIPPED:
            _write(node, tree, styles)


def _write_paragraph(node: _Element, tree: _Element, styles: _Styles) -> None:
    """Add one paragraph, and after it the text boxes that hang on it."""
    boxes: list[_Element] = []
    text = "".join(_words(node, boxes))
    if squeeze(text):
        first, *others = text.split("\n")
        made = SubElement(tree, _tag(node, styles))
        made.text = first
        for line in others:
            SubElement(made, "br").tail = line
    for box in boxes:
        _write(box, tree, styles)


def _tag(paragraph: _Element, styles: _Styles) -> str:
    """Return the element that a paragraph becomes."""
    layout = child(paragraph, "pPr")
    style = child(layout, "pStyle")
    kind = styles.get(attribute(style, "val") or "") if style is not None else None
    level = _outline(layout) or kind or 0
    if level:
        return f"h{level}"
    return "li" if kind == 0 or child(layout, "numPr") is not None else "p"


def _words(paragraph: _Element, boxes: list[_Element]) -> Iterator[str]:
    """Yield the visible text of a paragraph, "\\n" for line breaks; text boxes are put into `boxes`."""
    walk = iterwalk(paragraph, events=("start",))
    for _, node in walk:
        kind = local(node)
        if kind == "txbxContent":
            boxes.append(node)
        if kind in _SKIPPED or (kind == "r" and _is_hidden(node)):
            walk.skip_subtree()
        elif kind == "t":
            yield node.text or ""
        elif kind == "tab":
            yield " "
        elif kind in _BREAKS:
            yield "\n"
        elif kind == "noBreakHyphen":
            yield "-"


def _is_hidden(run: _Element) -> bool:
    """Tell whether a run is formatted as hidden."""
    mark = child(run, "rPr", "vanish")
    return mark is not None and attribute(mark, "val") not in ("0", "false", "off")


def _write_table(node: _Element, tree: _Element, styles: _Styles) -> None:
    """Add a table; cells merged downwards reach over the rows below them."""
    table = SubElement(tree, "table")
    reaching: dict[int, _Element] = {}  # by column: the cell that merged cells below it continue
    for row in (found for found in _rows(node) if not _is_deleted(found)):
        line = SubElement(table, "tr")
        kind = "th" if child(row, "trPr", "tblHeader") is not None else "td"
        column = 0
        for cell in (found for found in _unwrapped(row) if local(found) == "tc"):
            layout = child(cell, "tcPr")
            merge = child(layout, "vMerge")
            wide = _number(child(layout, "gridSpan"))
            if merge is not None and attribute(merge, "val") != "restart" and column in reaching:
                reaching[column].set("rowspan", str(_number(reaching[column], "rowspan") + 1))
            else:
                made = SubElement(line, kind, {"colspan": str(wide)})
                reaching.pop(column, None)
                if merge is not None:
                    reaching[column] = made
                _write(cell, made, styles)
            column += wide


def _number(node: _Element | None, name: str = "val") -> int:
    """Return a whole number that an attribute holds, 1 without."""
    value = attribute(node, name) if node is not None else None
    return max(1, int(value)) if value is not None and value.isdecimal() and len(value) < 6 else 1


def _rows(table: _Element) -> Iterator[_Element]:
    """Yield the rows of a table."""
    return (node for node in _unwrapped(table) if local(node) == "tr")


def _unwrapped(parent: _Element) -> Iterator[_Element]:
    """Yield the children, and those inside content controls and tracked insertions."""
    for node in parent:
        if local(node) in ("sdt", "sdtContent", "customXml", "ins"):
            yield from _unwrapped(node)
        else:
            yield node


def _is_deleted(row: _Element) -> bool:
    """Tell whether a tracked change deletes a row."""
    return child(row, "trPr", "del") is not None


def _write_notes(root: _Element, tree: _Element, styles: _Styles) -> None:
    """Add footnotes or endnotes as a list."""
    for note in root:
        if attribute(note, "type") not in _NOT_NOTES:
            item = SubElement(tree, "li")
            _write(note, item, styles)
