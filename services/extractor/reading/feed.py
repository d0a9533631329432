"""XML to text: feeds (RSS, Atom) entry by entry, other documents by their elements, records as rows."""

import re
from collections.abc import Iterator

from lxml.etree import _Element

from services.extractor.reading import plain
from services.extractor.reading.blocks import Assembled, Block, assemble, squeeze
from services.extractor.reading.charset import Decoded, decode
from services.extractor.reading.dates import iso_date
from services.extractor.reading.hidden import prune
from services.extractor.reading.mime import XML
from services.extractor.reading.result import Reading, Unreadable
from services.extractor.reading.serialize import blocks_of
from services.extractor.reading.tree import parse
from services.extractor.reading.xml import attribute, child, local, parse_xml
from shared.domain.segments import ROW_SEPARATOR
from shared.domain.text import clean

_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_FEEDS = frozenset(("rss", "RDF", "feed"))
_ENTRIES = frozenset(("item", "entry"))
_BODIES = ("encoded", "content", "description", "summary")
_DATES = ("pubDate", "published", "date", "updated", "issued")
_TITLES = frozenset(("title", "head", "heading", "caption", "label"))
_PARAGRAPHS = frozenset(("p", "para", "paragraph", "abstract", "text", "description", "summary", "note", "li", "td"))
_NOT_SAID = re.compile(r"schemaLocation|^(?:id|class|style|lang|space|base|version|encoding)$")
_MAX_ROW_VALUES = 60


def read(data: bytes, content_type: str | None) -> Reading:
    """Read an XML document; raise `Unreadable` for one that nests too deeply. What is no XML is read as plain text."""
    decoded = decode(data, content_type, markup=True)
    source = _DECLARATION.sub("", clean(decoded.text)).encode("utf-8", "replace")
    damaged = False
    try:
        root = parse_xml(source)
    except Unreadable as error:
        if error.status != "broken":
            raise
        damaged = True
        try:
            root = parse_xml(source, recover=True)
        except Unreadable:
            return plain.read(data, content_type)
    if local(root) in _FEEDS:
        return _reading(decoded, root, assemble(_feed_blocks(root)), damaged=damaged)
    return _reading(decoded, root, assemble(_blocks(root)), damaged=damaged)


def _reading(decoded: Decoded, root: _Element, made: Assembled, *, damaged: bool) -> Reading:
    """Put the parts together; a feed says more about itself than other documents."""
    about = _channel(root)
    reason = "Its XML is damaged; text may be missing." if damaged else None
    if made.truncated:
        reason = "The text was cut at the limit."
    return Reading(
        status="ok" if made.text else "empty",
        reason=reason if made.text else "The file holds no text.",
        mime=XML,
        reader="feed",
        encoding=decoded.encoding,
        encoding_source=decoded.source,
        title=_text(child(about, "title")) or None if about is not None else None,
        published_at=iso_date(_first(about, _DATES)) if about is not None else None,
        language=_text(child(about, "language")) or attribute(root, "lang") if about is not None else None,
        text=made.text,
        headings=made.headings,
        truncated=bool(made.text) and (made.truncated or damaged),
    )


def _channel(root: _Element) -> _Element | None:
    """Return the element that describes a feed as a whole; None for other documents."""
    if local(root) not in _FEEDS:
        return None
    channel = child(root, "channel")
    return root if channel is None else channel


def _feed_blocks(root: _Element) -> Iterator[Block]:
    """Yield a feed's title and what each entry says."""
    channel = _channel(root)
    if channel is not None:
        yield Block("heading", _text(child(channel, "title")), 1)
        yield from _markup(_first(channel, ("description", "subtitle")))
    for entry in (node for node in root.iter() if local(node) in _ENTRIES):
        yield Block("heading", _text(child(entry, "title")), 2)
        author = child(entry, "author")
        names = (("Published", _first(entry, _DATES)), ("Author", _text(author) or _text(child(entry, "creator"))))
        yield Block("row", ROW_SEPARATOR.join(f"{name}: {value}" for name, value in names if value))
        yield from _markup(_first(entry, _BODIES))


def _first(parent: _Element, names: tuple[str, ...]) -> str:
    """Return the text of the first named child that has any."""
    found = (_raw(child(parent, name)) for name in names)
    return next((text for text in found if text.strip()), "")


def _raw(node: _Element | None) -> str:
    """Return all text in an element."""
    return "" if node is None else "".join(str(part) for part in node.itertext(tag=None) if isinstance(part, str))


def _text(node: _Element | None) -> str:
    """Return all text in an element on one line."""
    return squeeze(_raw(node))


def _markup(text: str) -> Iterator[Block]:
    """Yield the blocks of an entry's body, which is HTML inside of XML."""
    if "<" not in text:
        yield from plain.blocks_of(text)
        return
    tree, _ = parse(f"<html><body>{text}</body></html>")
    if tree is not None:
        prune(tree)
        yield from blocks_of(tree)


def _blocks(root: _Element) -> Iterator[Block]:
    """Yield the blocks of a document: titles, paragraphs, and one row for what holds only short values."""
    waiting: list[tuple[_Element, int]] = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        children = [below for below in node if local(below)]
        if not children or _is_mixed(node) or local(node) in _PARAGRAPHS:
            yield from _leaf(node, depth)
        elif all(_is_value(below) for below in children):
            yield from _row(node, children)
        else:
            said = _attributes(node)
            if said:
                yield Block("row", ROW_SEPARATOR.join(said))
            waiting += [(below, depth + 1) for below in reversed(children)]


def _is_mixed(node: _Element) -> bool:
    """Tell whether text stands beside child elements."""
    return bool((node.text or "").strip()) or any((below.tail or "").strip() for below in node)


def _is_value(node: _Element) -> bool:
    """Tell whether an element is a field of a record."""
    return len(node) == 0 and local(node) not in _PARAGRAPHS and len(node.text or "") <= 300


def _leaf(node: _Element, depth: int) -> Iterator[Block]:
    """Yield an element that holds text: a title, a paragraph, or a value with its name."""
    text, name = _text(node), local(node)
    if name in _TITLES:
        yield Block("heading", text, min(6, max(1, depth)))
    elif name in _PARAGRAPHS or (_is_mixed(node) and len(node)):
        yield Block("paragraph", text)
    else:
        said = [*_attributes(node), *([f"{name}: {text}"] if text else [])]
        yield Block("row", ROW_SEPARATOR.join(said))


def _row(node: _Element, children: list[_Element]) -> Iterator[Block]:
    """Yield the fields of a record as a row."""
    said = _attributes(node)
    for below in children:
        said += _attributes(below)
        text = _text(below)
        said += [f"{local(below)}: {text}"] if text else []
    for start in range(0, len(said), _MAX_ROW_VALUES):
        yield Block("row", ROW_SEPARATOR.join(said[start : start + _MAX_ROW_VALUES]), opens=False)


def _attributes(node: _Element) -> list[str]:
    """Return the attributes that say something, as "name: value"."""
    named = ((str(key).rpartition("}")[2], squeeze(str(value))) for key, value in node.items())
    return [f"{name}: {value}" for name, value in named if value and len(value) <= 300 and not _NOT_SAID.search(name)]
