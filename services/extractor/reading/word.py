"""DOCX to text: paragraphs, headings by style, lists, tables, text boxes and notes, as the reader of a print sees them.

The document becomes a small tree of HTML elements, so that lists and tables are read as those of pages are. Deleted,
hidden and white text, note marks, comments, field codes, headers and footers are left out; charts and diagrams follow
their paragraph.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from lxml.etree import Element, SubElement, _Element

from services.extractor.reading.blocks import assemble, squeeze
from services.extractor.reading.charts import graphic_part, write_graphic
from services.extractor.reading.mime import DOCX
from services.extractor.reading.office import main_part, properties
from services.extractor.reading.package import Package, Relation, first_of
from services.extractor.reading.result import Reading
from services.extractor.reading.serialize import blocks_of
from services.extractor.reading.word_looks import NOTHING_SAID, Look, Looks, is_shaded, is_white_code, looks_of, named
from services.extractor.reading.word_runs import SKIPPED, Hanging, words
from services.extractor.reading.xml import attribute, child, local

_HEADING_NAME = re.compile(r"heading (\d)", re.IGNORECASE)
_LIST_NAME = re.compile(r"list\b", re.IGNORECASE)
_NOT_NOTES = frozenset(("separator", "continuationSeparator", "continuationNotice"))
_MAX_STYLE_CHAIN = 10


@dataclass(frozen=True, slots=True)
class _Document:
    """What paragraphs refer to: styles (1 to 6 for a heading, 0 for a list, None for anything else) and parts."""

    styles: Mapping[str, int | None]
    looks: Looks
    package: Package
    relations: dict[str, Relation]


def read(data: bytes) -> Reading:
    """Read a Word document; raise `Unreadable` for one that cannot be."""
    package = Package(data)
    main = main_part(package)
    relations = package.relations(main)
    styles = first_of(relations, "styles")
    sheet = package.xml(styles) if styles is not None and package.has(styles) else Element("styles")
    known = _Document(_styles(sheet), looks_of(sheet), package, relations)
    tree = _tree_of(package.xml(main), known)
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


def _tree_of(root: _Element, known: _Document) -> _Element:
    """Return the body and the notes of a document."""
    tree = Element("body")
    ground, body = child(root, "background"), child(root, "body")
    is_colored = ground is not None and not is_white_code(attribute(ground, "color") or "ffffff")
    look = Look(shaded=True) if is_colored else NOTHING_SAID
    if body is not None:
        _write(body, tree, known, look)
    package = known.package
    for kind in ("footnotes", "endnotes"):
        notes = first_of(known.relations, kind)
        if notes is not None and package.has(notes):
            _write_notes(package.xml(notes), tree, replace(known, relations=package.relations(notes)), look)
    return tree


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


def _write(parent: _Element, tree: _Element, known: _Document, look: Look) -> None:
    """Add the paragraphs and tables below `parent`, whatever wraps them; `look` is that of the ground they stand on."""
    for node in parent:
        kind = local(node)
        if kind == "p":
            _write_paragraph(node, tree, known, look)
        elif kind == "tbl":
            _write_table(node, tree, known, look)
        elif kind not in SKIPPED:
            _write(node, tree, known, look)


def _write_paragraph(node: _Element, tree: _Element, known: _Document, look: Look) -> None:
    """Add one paragraph, and after it the text boxes, charts and diagrams that hang on it."""
    layout = child(node, "pPr")
    own = named(child(layout, "pStyle"), known.looks)
    if is_shaded(layout):
        own = replace(own, shaded=True)
    hanging = Hanging()
    text = words(node, own.over(look), known.looks, hanging)
    if squeeze(text):
        first, *others = text.split("\n")
        made = SubElement(tree, _tag(node, known.styles))
        made.text = first
        for line in others:
            SubElement(made, "br").tail = line
    for box in hanging.boxes:
        _write(box, tree, known, Look(shaded=_is_filled(box)))
    for graphic in hanging.graphics:
        found = graphic_part(graphic, known.relations)
        if found is not None:
            write_graphic(known.package, found, tree)


def _is_filled(box: _Element) -> bool:
    """Tell whether the shape around a text box is filled with anything but white."""
    for shape in box.iterancestors():
        kind = local(shape)
        if kind in ("wsp", "sp"):
            return _is_drawing_filled(shape)
        if kind in ("shape", "rect", "roundrect", "oval"):
            fill = attribute(shape, "fillcolor") or "white"
            return not (fill.lower() == "white" or is_white_code(fill.removeprefix("#")[:6]))
    return False


def _is_drawing_filled(shape: _Element) -> bool:
    """Tell whether a shape of DrawingML is filled, by itself or by its style, with anything but white."""
    layout = child(shape, "spPr")
    fills = [node for node in (layout if layout is not None else ()) if local(node).endswith("Fill")]
    if not fills:
        return child(shape, "style", "fillRef") is not None
    codes = [attribute(n, "val") or "" for fill in fills for n in fill.iter() if local(n) == "srgbClr"]
    is_white = bool(codes) and all(map(is_white_code, codes))
    return not is_white and any(local(fill) != "noFill" for fill in fills)


def _tag(paragraph: _Element, styles: Mapping[str, int | None]) -> str:
    """Return the element that a paragraph becomes."""
    layout = child(paragraph, "pPr")
    style = child(layout, "pStyle")
    kind = styles.get(attribute(style, "val") or "") if style is not None else None
    level = _outline(layout) or kind or 0
    if level:
        return f"h{level}"
    return "li" if kind == 0 or child(layout, "numPr") is not None else "p"


def _write_table(node: _Element, tree: _Element, known: _Document, look: Look) -> None:
    """Add a table; cells merged downwards reach over the rows below them."""
    table = SubElement(tree, "table")
    frame = child(node, "tblPr")
    if is_shaded(frame) or named(child(frame, "tblStyle"), known.looks).shaded:
        look = replace(look, shaded=True)
    reaching: dict[int, _Element] = {}  # by column: the cell that merged cells below it continue
    for row in (found for found in _rows(node) if not _is_deleted(found)):
        for cell, made in _cells(row, SubElement(table, "tr"), reaching):
            _write(cell, made, known, replace(look, shaded=True) if is_shaded(child(cell, "tcPr")) else look)


def _cells(row: _Element, line: _Element, reaching: dict[int, _Element]) -> Iterator[tuple[_Element, _Element]]:
    """Yield the cells of a row, each with what it becomes in `line`; those that continue one above make it reach on."""
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
            yield cell, made
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


def _write_notes(root: _Element, tree: _Element, known: _Document, look: Look) -> None:
    """Add footnotes or endnotes as a list."""
    for note in root:
        if attribute(note, "type") not in _NOT_NOTES:
            item = SubElement(tree, "li")
            _write(note, item, known, look)
