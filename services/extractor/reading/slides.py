"""PPTX to text: slide by slide, in the order of the show, with title, text, tables, charts, diagrams, speaker's notes.

Slide numbers, dates, footers, hidden shapes and white text are left out; hidden slides are counted and told.
"""

from collections.abc import Iterator

from lxml.etree import Element, SubElement, _Element, iterwalk

from services.extractor.reading.blocks import Block, assemble, on_part, parts_of, squeeze
from services.extractor.reading.charts import graphic_part, relation_id, write_graphic
from services.extractor.reading.mime import PPTX
from services.extractor.reading.office import main_part, properties
from services.extractor.reading.package import Package, first_of
from services.extractor.reading.raised import marked, settle
from services.extractor.reading.result import Reading, Unreadable
from services.extractor.reading.serialize import blocks_of
from services.extractor.reading.slide_looks import Ground, ground_of, is_filled, is_unseen, place_of
from services.extractor.reading.xml import attribute, child, local

MAX_SLIDES = 2_000
_TITLES = frozenset(("title", "ctrTitle"))
_FURNITURE = frozenset(("dt", "ftr", "sldNum", "hdr", "sldImg"))
_OUTLINES = frozenset(("body", "obj", ""))
_SKIPPED = frozenset(("Fallback", "pPr", "rPr", "endParaRPr"))
_SEEN = Ground(white=False, covered=True)


def read(data: bytes) -> Reading:
    """Read a presentation; raise `Unreadable` for one that cannot be."""
    package = Package(data)
    found = [_slide(package, name) for name in _slide_parts(package)]
    slides = [Element("body") if tree is None else tree for tree in found]
    hidden = found.count(None)
    blocks: list[Block] = []
    for number, tree in enumerate(slides, start=1):
        blocks += on_part(blocks_of(tree), number)
    made = assemble(blocks, page_count=len(slides))
    titles = [squeeze(tree.findtext("h1") or "") for tree in slides]
    about = properties(package)
    told = ["The text was cut at the limit."] if made.truncated else []
    told += [f"{hidden} hidden slide{'s' * (hidden > 1)} left out."] if hidden else []
    return Reading(
        status="ok" if made.text else "empty",
        mime=PPTX,
        reader="slides",
        reason=" ".join(told) or None,
        title=about.title or next(filter(None, titles), None),
        author=about.author,
        published_at=about.published_at,
        modified_at=about.modified_at,
        language=about.language,
        text=made.text,
        headings=made.headings,
        parts=parts_of(made, "slide", titles),
        truncated=made.truncated,
    )


def _slide_parts(package: Package) -> list[str]:
    """Return the names of the slides in the order of the show."""
    main = main_part(package)
    relations = package.relations(main)
    listed = child(package.xml(main), "sldIdLst")
    ids = [relation_id(node) for node in listed] if listed is not None else []
    if len(ids) > MAX_SLIDES:
        raise Unreadable("too_large", f"The presentation has more than {MAX_SLIDES:,} slides.")
    return [relations[found].target for found in ids if found in relations and package.has(relations[found].target)]


def _slide(package: Package, name: str) -> _Element | None:
    """Return one slide as a small tree of HTML elements: its title first, its notes last; None for a hidden one."""
    tree = Element("body")
    root = package.xml(name)
    if attribute(root, "show") in ("0", "false"):
        return None
    relations = package.relations(name)
    ground = ground_of(package, name, root)
    shapes = list(_shapes(root))
    for is_title in (True, False):
        for shape in shapes:
            if (_placeholder(shape) in _TITLES) is not is_title:
                continue
            graphic = graphic_part(shape, relations)
            if graphic is not None:
                write_graphic(package, graphic, tree)
            else:
                _write_shape(shape, tree, ground)
    notes = first_of(relations, "notesSlide")
    if notes is not None and package.has(notes):
        _write_notes(package.xml(notes), tree)
    return tree


def _shapes(root: _Element) -> Iterator[_Element]:
    """Yield the shapes and tables of a slide, those in groups too."""
    walk = iterwalk(root, events=("start",))
    for _, node in walk:
        kind = local(node)
        if kind in _SKIPPED or _is_hidden(node):
            walk.skip_subtree()
        elif kind in ("sp", "tbl", "chart", "relIds"):
            yield node
            walk.skip_subtree()


def _is_hidden(node: _Element) -> bool:
    """Tell whether a shape, a picture or a group was hidden in the list of what is on the slide."""
    holder = next((inner for inner in node if local(inner).startswith("nv") and local(inner).endswith("Pr")), None)
    about = child(holder, "cNvPr")
    return about is not None and attribute(about, "hidden") in ("1", "true")


def _placeholder(shape: _Element) -> str | None:
    """Return which of the layout's places a shape fills, "" for one without a type, None for none."""
    place = child(shape, "nvSpPr", "nvPr", "ph")
    return None if place is None else attribute(place, "type") or ""


def _write_shape(shape: _Element, tree: _Element, ground: Ground) -> None:
    """Add the text of a shape, or a table."""
    if local(shape) == "tbl":
        _write_table(shape, tree)
        return
    place = _placeholder(shape)
    if place is not None or is_filled(shape):
        ground = _SEEN  # what a place of the layout stands on is not told on the slide
    body = child(shape, "txBody")
    if place in _FURNITURE or body is None:
        return
    if place in _TITLES:
        SubElement(tree, "h1").text = squeeze(" ".join(_paragraphs(body, ground)))
        return
    for text in _paragraphs(body, ground):
        SubElement(tree, "li" if place in _OUTLINES else "p").text = text


def _paragraphs(body: _Element, ground: Ground = _SEEN) -> Iterator[str]:
    """Yield the paragraphs of a text that hold anything; a line break counts as a space."""
    for paragraph in (node for node in body if local(node) == "p"):
        text = squeeze(settle("".join(_words(paragraph, ground))))
        if text:
            yield text


def _words(paragraph: _Element, ground: Ground) -> Iterator[str]:
    """Yield the text of a paragraph that is seen; raised letters stand between marks."""
    walk = iterwalk(paragraph, events=("start",))
    for _, node in walk:
        kind = local(node)
        if kind in _SKIPPED or (kind == "r" and is_unseen(node, ground)):
            walk.skip_subtree()
        elif kind == "t":
            run = node.getparent()
            yield marked(node.text or "", place_of(run)) if run is not None else node.text or ""
        elif kind == "br":
            yield " "


def _write_table(node: _Element, tree: _Element) -> None:
    """Add a table, whose first row names the columns if the presentation says so."""
    layout = child(node, "tblPr")
    has_header = layout is not None and attribute(layout, "firstRow") in ("1", "true")
    table = SubElement(tree, "table")
    for number, row in enumerate(found for found in node if local(found) == "tr"):
        line = SubElement(table, "tr")
        for cell in (found for found in row if local(found) == "tc" and not _is_merged(found)):
            spans = {"colspan": attribute(cell, "gridSpan") or "1", "rowspan": attribute(cell, "rowSpan") or "1"}
            made = SubElement(line, "th" if has_header and number == 0 else "td", spans)
            body = child(cell, "txBody")
            made.text = " ".join(_paragraphs(body)) if body is not None else ""


def _is_merged(cell: _Element) -> bool:
    """Tell whether a cell is only the place of another one, which spans it."""
    return bool(attribute(cell, "hMerge") or attribute(cell, "vMerge"))


def _write_notes(root: _Element, tree: _Element) -> None:
    """Add what the speaker wrote below a slide."""
    for shape in _shapes(root):
        body = child(shape, "txBody")
        if body is None or _placeholder(shape) != "body":
            continue
        for number, text in enumerate(_paragraphs(body)):
            SubElement(tree, "p").text = text if number else f"Notes: {text}"
