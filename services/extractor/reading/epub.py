"""EPUB to text: chapter by chapter in reading order (EPUB 3.3, with what older books need)."""

from collections.abc import Iterator

from lxml.etree import _Element

from services.extractor.reading.blocks import Block, assemble, on_part, parts_of, squeeze
from services.extractor.reading.charset import decode
from services.extractor.reading.dates import iso_date
from services.extractor.reading.hidden import prune
from services.extractor.reading.markup import inline_text, tag_of
from services.extractor.reading.mime import EPUB
from services.extractor.reading.package import Package, resolved
from services.extractor.reading.raising import flatten_raised
from services.extractor.reading.result import MAX_TEXT, Reading, Unreadable
from services.extractor.reading.serialize import blocks_of
from services.extractor.reading.tree import parse
from services.extractor.reading.xml import attribute, child, local, parse_xml

MAX_CHAPTERS = 5_000
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONT_SCRAMBLING = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_DOCUMENTS = frozenset(("application/xhtml+xml", "text/html", "application/x-dtbook+xml"))
_NOTE_MARKS = frozenset(("noteref", "doc-noteref", "backlink", "doc-backlink"))
_DEEP = "parse-truncated: a chapter nests too deeply; structure was dropped and text may be missing."


def read(data: bytes) -> Reading:
    """Read a book; raise `Unreadable` for one that cannot be."""
    package = Package(data)
    _refuse_locked(package)
    main = _book(package)
    root = parse_xml(package.read(main))
    names: list[str] = []
    blocks: list[Block] = []
    lost, length = False, 0
    for part in _chapters(root, main, package):
        made, title, too_deep = _chapter(package.read(part))
        names.append(title or f"Chapter {len(names) + 1}")
        blocks += on_part(made, len(names))
        lost = lost or too_deep
        length += sum(len(block.text) for block in made)
        if length > MAX_TEXT:
            break
    text = assemble(blocks, page_count=len(names))
    about = child(root, "metadata")
    return Reading(
        status="ok" if text.text else "empty",
        mime=EPUB,
        reader="epub",
        reason="The text was cut at the limit." if text.truncated else _DEEP if lost else None,
        title=_said(about, "title"),
        author=_said(about, "creator"),
        publisher=_said(about, "publisher"),
        published_at=iso_date(_said(about, "date") or ""),
        language=_said(about, "language"),
        text=text.text,
        headings=text.headings,
        parts=parts_of(text, "chapter", names),
        truncated=text.truncated or lost,
    )


def _refuse_locked(package: Package) -> None:
    """Raise `Unreadable` for a book whose chapters are encrypted; scrambled fonts do not matter."""
    if not package.has(_ENCRYPTION):
        return
    methods = [
        attribute(n, "Algorithm") for n in parse_xml(package.read(_ENCRYPTION)).iter() if local(n) == "EncryptionMethod"
    ]
    if any(method not in _FONT_SCRAMBLING for method in methods):
        raise Unreadable("encrypted", "The book is locked by its shop.")


def _book(package: Package) -> str:
    """Return the part that lists the book's chapters."""
    if package.has(_CONTAINER):
        for node in parse_xml(package.read(_CONTAINER)).iter():
            if local(node) == "rootfile" and attribute(node, "full-path"):
                return resolved("", attribute(node, "full-path") or "")
    found = next((name for name in package.names() if name.endswith(".opf")), None)
    if found is None:
        raise Unreadable("broken", "The archive does not say which of its parts is the book.")
    return found


def _chapters(root: _Element, main: str, package: Package) -> Iterator[str]:
    """Yield the parts of the book's text in reading order, its table of contents left out."""
    manifest, spine = child(root, "manifest"), child(root, "spine")
    items = {attribute(node, "id"): node for node in (manifest if manifest is not None else ())}
    for number, reference in enumerate(spine if spine is not None else ()):
        item = items.get(attribute(reference, "idref"))
        if number >= MAX_CHAPTERS:
            raise Unreadable("too_large", f"The book has more than {MAX_CHAPTERS:,} chapters.")
        if item is None or attribute(item, "media-type") not in _DOCUMENTS:
            continue
        part = resolved(main, attribute(item, "href") or "")
        if "nav" not in (attribute(item, "properties") or "").split() and package.has(part):
            yield part


def _chapter(data: bytes) -> tuple[list[Block], str, bool]:
    """Return the blocks of a chapter, its title, and whether it nests too deeply."""
    tree, too_deep = parse(decode(data, None, markup=True).text)
    if tree is None:
        return [], "", too_deep
    title = inline_text(found) if (found := tree.find(".//title")) is not None else ""
    styles = prune(tree)
    _drop_note_marks(tree)
    flatten_raised(tree, styles)
    blocks = blocks_of(tree)
    heading = next((block.text for block in blocks if block.kind == "heading"), "")
    return blocks, (heading or title)[:200], too_deep


def _drop_note_marks(tree: _Element) -> None:
    """Remove, in place, the marks that lead to notes and back; what they are is said by their type or role."""
    for mark in list(tree.iter()):
        kinds = {*(attribute(mark, "epub:type") or "").split(), *(attribute(mark, "role") or "").split()}
        if not tag_of(mark) or kinds.isdisjoint(_NOTE_MARKS):
            continue
        above = mark.getparent()
        is_whole = above is not None and tag_of(above) == "sup" and inline_text(above) == inline_text(mark)
        node = above if is_whole and above is not None else mark
        _remove(node)


def _remove(node: _Element) -> None:
    """Take an element out of its tree; the text after it stays."""
    tail, before, parent = node.tail or "", node.getprevious(), node.getparent()
    if parent is None:
        return
    if before is not None:
        before.tail = (before.tail or "") + tail
    else:
        parent.text = (parent.text or "") + tail
    parent.remove(node)


def _said(about: _Element | None, name: str) -> str | None:
    """Return what the book says about itself, several names joined by "; "."""
    nodes = (node for node in about if local(node) == name) if about is not None else ()
    found = list(dict.fromkeys(filter(None, (squeeze(node.text or "")[:500] for node in nodes))))
    return ("; ".join(found) if name == "creator" else found[0]) if found else None
