"""XML to a tree, without anything that the document could make the parser do."""

from collections.abc import Mapping
from typing import Any

from lxml.etree import Entity, ErrorTypes, XMLParser, XMLSyntaxError, _Element, fromstring, strip_elements

from services.extractor.reading.result import Unreadable

HARMLESS: Mapping[str, Any] = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}
"""What a parser must be told of every XML: nothing is expanded, loaded or fetched, libxml2's own limits stand."""

MAX_XML = 64 * 1024 * 1024  # bytes that become a tree, which takes several times as many


def parse_xml(data: bytes, *, recover: bool = False) -> _Element:
    """Return the root element.

    No entity is expanded (its mark is dropped), no DTD or other file is loaded, and libxml2's own limits on depth (256)
    and on the length of one text (10 MB) stand. Raises `Unreadable`; MemoryError where libxml2 ran out of memory.
    """
    if len(data) > MAX_XML:
        raise Unreadable("too_large", f"Its XML has more than {MAX_XML // 2**20} MB.")
    parser = XMLParser(**HARMLESS, recover=recover, collect_ids=False)
    try:
        root = fromstring(data, parser=parser)
    except XMLSyntaxError as error:  # its log cannot travel between processes
        raise broken_xml(error) from None
    if root is None:
        raise Unreadable("broken", "Its XML holds no element.")
    strip_elements(root, Entity, with_tail=False)
    return root


def broken_xml(error: XMLSyntaxError) -> Unreadable:
    """Return what an error of libxml2 means for the file; raise MemoryError where that is what it means."""
    code = getattr(error, "code", None)
    if code == ErrorTypes.ERR_NO_MEMORY:
        raise MemoryError from None
    if code in (ErrorTypes.ERR_RESOURCE_LIMIT, ErrorTypes.ERR_ENTITY_LOOP):
        return Unreadable("too_large", "Its XML nests too deeply or holds too long a text.")
    return Unreadable("broken", "Its XML is damaged.")


def local(element: _Element) -> str:
    """Return the name without its namespace; "" for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: _Element, name: str) -> str | None:
    """Return an attribute by its name without a namespace."""
    found = element.get(name)
    if found is not None:
        return found
    return next((str(value) for key, value in element.items() if str(key).rpartition("}")[2] == name), None)


def child(element: _Element | None, *path: str) -> _Element | None:
    """Return the first descendant by a path of local names, or None."""
    for name in path:
        element = next((node for node in element if local(node) == name), None) if element is not None else None
    return element
