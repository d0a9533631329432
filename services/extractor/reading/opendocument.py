"""OpenDocument (ISO/IEC 26300) to text: texts, presentations slide by slide, and workbooks sheet by sheet.

Tracked deletions, comments, hidden text and the marks of notes are left out; notes come after the text.
"""

from collections.abc import Iterable

from lxml.etree import Element, SubElement, _Element

from services.extractor.reading.blocks import Block, assemble, on_part, parts_of, squeeze
from services.extractor.reading.dates import iso_date
from services.extractor.reading.mime import ODP, ODS, ODT
from services.extractor.reading.odf_sheets import sheets_of
from services.extractor.reading.odf_styles import Looks, body_of, looks_of, style_of
from services.extractor.reading.odf_text import write_text
from services.extractor.reading.package import Package
from services.extractor.reading.result import Reading, Unreadable
from services.extractor.reading.serialize import blocks_of
from services.extractor.reading.xml import attribute, child, local

MAX_SLIDES = 2_000
_FRAMES = frozenset(("frame", "custom-shape", "rect", "ellipse"))
_TITLES = frozenset(("title", "subtitle"))
_FURNITURE = frozenset(("date-time", "footer", "header", "page-number"))
_MANIFEST = "META-INF/manifest.xml"


def read(data: bytes) -> Reading:
    """Read an OpenDocument file; raise `Unreadable` for one that cannot be."""
    package = Package(data)
    if package.has(_MANIFEST) and any(local(n) == "encryption-data" for n in package.xml(_MANIFEST).iter()):
        raise Unreadable("encrypted", "The document asks for a password.")
    root = package.xml("content.xml")
    styles = [package.xml("styles.xml")] if package.has("styles.xml") else []
    looks = looks_of(*styles, root)
    slides, sheets = body_of(root, "presentation"), body_of(root, "spreadsheet")
    if slides is not None:
        return _presentation(package, slides, looks)
    if sheets is not None:
        return _workbook(package, sheets, looks)
    text = body_of(root, "text")
    if text is None:
        raise Unreadable("unsupported", "It is an OpenDocument file of a kind that is not read: save it as text.")
    tree = Element("body")
    write_text(text, tree, looks)
    return _reading(package, ODT, blocks_of(tree))


def _presentation(package: Package, body: _Element, looks: Looks) -> Reading:
    """Read the slides in their order."""
    pages = [node for node in body if local(node) == "page"]
    if len(pages) > MAX_SLIDES:
        raise Unreadable("too_large", f"The presentation has more than {MAX_SLIDES:,} slides.")
    hidden = 0
    blocks: list[Block] = []
    titles: list[str] = []
    for number, node in enumerate(pages, start=1):
        tree = Element("body")
        if style_of(node, looks).page_hidden:
            hidden += 1
        else:
            _write_slide(node, tree, looks)
        titles.append(squeeze(tree.findtext("h1") or ""))
        blocks += on_part(blocks_of(tree), number)
    left_out = [f"{hidden} hidden slide{'s' * (hidden > 1)} left out."] if hidden else []
    return _reading(package, ODP, blocks, names=titles, left_out=left_out)


def _write_slide(page: _Element, tree: _Element, looks: Looks) -> None:
    """Add a slide: its title first, its notes last."""
    notes = child(page, "notes")
    noted = list(notes.iter()) if notes is not None else []
    in_notes = set(noted)
    frames = [node for node in page.iter() if local(node) in _FRAMES and node not in in_notes]
    titles = [node for node in frames if attribute(node, "class") in _TITLES]
    for frame in titles:
        SubElement(tree, "h1" if attribute(frame, "class") == "title" else "p").text = _words([frame], looks)
    for frame in frames:
        if attribute(frame, "class") not in _TITLES | _FURNITURE:
            write_text(frame, tree, looks)
    words = _words([node for node in noted if attribute(node, "class") == "notes"], looks)
    if words:
        SubElement(tree, "p").text = f"Notes: {words}"


def _words(frames: Iterable[_Element], looks: Looks) -> str:
    """Return the words of some frames in one line."""
    inner = Element("body")
    for frame in frames:
        write_text(frame, inner, looks)
    return squeeze(" ".join(map(str, inner.itertext())))


def _workbook(package: Package, body: _Element, looks: Looks) -> Reading:
    """Read the visible sheets in the order of their tabs."""
    made = sheets_of(body, looks)
    return _reading(package, ODS, made.blocks, names=made.names, left_out=made.told)


def _reading(
    package: Package,
    mime: str,
    blocks: Iterable[Block],
    *,
    names: list[str] | None = None,
    left_out: Iterable[str] = (),
) -> Reading:
    """Put the parts together."""
    made = assemble(blocks, page_count=len(names or ()))
    said = _said(package)
    told = [*(["The text was cut at the limit."] if made.truncated else []), *left_out]
    kind = "slide" if mime == ODP else "sheet"
    first = made.headings[0].text if made.headings and mime != ODS else None
    return Reading(
        status="ok" if made.text else "empty",
        mime=mime,
        reader="opendocument",
        reason=" ".join(told) or None,
        title=said.get("title") or first,
        author=said.get("initial-creator") or said.get("creator"),
        published_at=iso_date(said.get("creation-date", "")[:19]),
        modified_at=iso_date(said.get("date", "")[:19]),
        language=said.get("language"),
        text=made.text,
        headings=made.headings,
        parts=parts_of(made, "slide" if kind == "slide" else "sheet", names) if names is not None else (),
        rows=made.rows,
        truncated=made.truncated,
    )


def _said(package: Package) -> dict[str, str]:
    """Return what the document says about itself."""
    if not package.has("meta.xml"):
        return {}
    try:
        about = child(package.xml("meta.xml"), "meta")
    except Unreadable:
        return {}
    nodes = about if about is not None else ()
    return {local(node): squeeze(node.text or "")[:500] for node in nodes if (node.text or "").strip()}
