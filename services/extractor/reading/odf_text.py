"""The text of an OpenDocument body to a small tree of HTML elements; notes at its end."""

from collections.abc import Iterator

from lxml.etree import SubElement, _Element

from services.extractor.reading.blocks import squeeze
from services.extractor.reading.odf_styles import Look, Looks, style_of
from services.extractor.reading.raised import marked, settle
from services.extractor.reading.xml import attribute, local

_MAX_SPACES = 100
_MAX_REPEATED = 100
_SKIPPED = frozenset(
    """
    tracked-changes annotation annotation-end note hidden-text sequence-decls forms notes variable-decls
    user-field-decls table-of-content alphabetical-index illustration-index bibliography ruby-text title desc
    """.split()
)
_SPACES = frozenset(("line-break", "s", "tab"))
_FRAMES = frozenset(("frame", "custom-shape", "rect", "ellipse", "text-box"))


def write_text(parent: _Element, tree: _Element, looks: Looks) -> None:
    """Add the paragraphs, lists and tables below `parent`, then the notes that hang on them."""
    notes: list[_Element] = []
    _write(parent, tree, looks, notes)
    for note in notes:
        item = SubElement(tree, "li")
        for body in (node for node in note if local(node) == "note-body"):
            _write(body, item, looks, [])


def _write(parent: _Element, tree: _Element, looks: Looks, notes: list[_Element]) -> None:
    for node in parent:
        kind = local(node)
        if kind in ("p", "h"):
            _write_paragraph(node, tree, looks, notes)
        elif kind == "list-item":
            inner = SubElement(tree, "li")
            _write(node, inner, looks, notes)
        elif kind == "list":
            _write(node, SubElement(tree, "ul"), looks, notes)
        elif kind == "table":
            _write_table(node, tree, looks, notes)
        elif kind == "section" and attribute(node, "display") == "none":
            continue
        elif kind not in _SKIPPED:
            _write(node, tree, looks, notes)


def _write_paragraph(node: _Element, tree: _Element, looks: Looks, notes: list[_Element]) -> None:
    """Add one paragraph, and after it the text boxes that hang on it."""
    boxes: list[_Element] = []
    look = style_of(node, looks)
    text = settle("".join(_words(node, look, looks, (boxes, notes))))
    if squeeze(text) and not look.hidden:
        first, *others = text.split("\n")
        made = SubElement(tree, _tag(node, look))
        made.text = first
        for line in others:
            SubElement(made, "br").tail = line
    for box in boxes:
        _write(box, tree, looks, notes)


def _tag(node: _Element, look: Look) -> str:
    """Return the element that a paragraph becomes."""
    if local(node) == "p":
        return f"h{look.level}" if look.level else "p"
    level = attribute(node, "outline-level") or ""
    return f"h{max(1, min(6, int(level)))}" if level.isdecimal() and len(level) < 3 else "h1"


def _words(node: _Element, look: Look, looks: Looks, found: tuple[list[_Element], list[_Element]]) -> Iterator[str]:
    """Yield the visible text of a paragraph; text boxes and notes are put into `found`."""
    boxes, notes = found
    if node.text and not look.unseen:
        yield marked(node.text, look.place)
    for inner in node:
        kind = local(inner)
        if kind == "note":
            notes.append(inner)
        elif kind in _FRAMES:
            boxes.append(inner)
        elif kind in _SPACES:
            yield _space(inner, kind)
        elif kind not in _SKIPPED and kind:
            own = style_of(inner, looks) if kind in ("span", "a") else look
            yield from _words(inner, own.within(look), looks, found)
        if inner.tail and not look.unseen:
            yield marked(inner.tail, look.place)


def _space(node: _Element, kind: str) -> str:
    """Return the white space that an element stands for."""
    if kind == "line-break":
        return "\n"
    count = attribute(node, "c") or "1"
    return " " * min(int(count) if count.isdecimal() and len(count) < 6 else 1, _MAX_SPACES)


def _write_table(node: _Element, tree: _Element, looks: Looks, notes: list[_Element]) -> None:
    """Add a table."""
    table = SubElement(tree, "table")
    for row, is_header in _rows(node, is_header=False):
        line = SubElement(table, "tr")
        for cell in row:
            if local(cell) != "table-cell":
                continue
            for _ in range(repeated(cell, "number-columns-repeated", _MAX_REPEATED)):
                spans = {
                    "colspan": attribute(cell, "number-columns-spanned") or "1",
                    "rowspan": attribute(cell, "number-rows-spanned") or "1",
                }
                _write(cell, SubElement(line, "th" if is_header else "td", spans), looks, notes)


def _rows(table: _Element, *, is_header: bool) -> Iterator[tuple[_Element, bool]]:
    for node in table:
        kind = local(node)
        if kind == "table-row":
            yield node, is_header
        elif kind in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _rows(node, is_header=is_header or kind == "table-header-rows")


def repeated(node: _Element, name: str, most: int) -> int:
    """Return how often a cell or row stands there, at most so often."""
    count = attribute(node, name) or "1"
    return max(1, min(int(count), most)) if count.isdecimal() and len(count) < 9 else 1
