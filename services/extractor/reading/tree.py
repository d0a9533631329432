"""Text of a page to a tree that is never too deep to walk."""

import re

from lxml.etree import ErrorTypes, ParserError, XMLSyntaxError, _Element
from lxml.html import HtmlElement, HTMLParser, document_fromstring

MAX_DEPTH = 200  # below libxml2's own 255, and far from Python's limit for code that recurses over the tree

_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*>")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
_WRAPPERS = re.compile(
    r"</?(?:div|span|font|section|center|article|main|b|i|u|em|strong|small|big|blockquote|ul|ol|dl|table|tbody|tr)\b[^<>]*>",
    re.IGNORECASE,
)


def parse(text: str) -> tuple[HtmlElement | None, bool]:
    """Return the tree of an HTML page (None where it has no elements), and whether it nested too deeply.

    libxml2 drops what lies deeper than its limit, and everything after it. Where that happens the wrapping elements are
    taken out of the source, which keeps the words and loses the structure; what is still too deep then becomes plain
    text of its ancestor.
    """
    source = _NOT_XML.sub("", _XML_DECLARATION.sub("", text))
    tree, dropped = _parsed(source)
    if tree is None:
        return None, False
    if dropped:
        tree, _ = _parsed(_WRAPPERS.sub("\n", source))
        if tree is None:
            return None, True
    return tree, _flatten(tree) or dropped


def _parsed(source: str) -> tuple[HtmlElement | None, bool]:
    """Return the tree, and whether the parser gave up for depth.

    Raises MemoryError where libxml2 ran out of memory, which it would pass over in silence.
    """
    parser = HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, collect_ids=False)
    try:
        tree = document_fromstring(source.encode("utf-8", "replace"), parser=parser)
    except ParserError:  # nothing but white space or comments
        return None, False
    except XMLSyntaxError as error:  # its log cannot travel between processes
        if getattr(error, "code", None) == ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from None
        return None, False
    codes = {entry.type for entry in parser.error_log}
    if ErrorTypes.ERR_NO_MEMORY in codes:
        raise MemoryError
    return tree, ErrorTypes.ERR_RESOURCE_LIMIT in codes


def _flatten(tree: _Element) -> bool:
    """Turn every element at the depth limit that has children into its text; tell whether there was one."""
    level = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in node]
        if not level:
            return False
    deep = [node for node in level if len(node)]
    for node in deep:
        text = " ".join(str(part) for part in node.itertext())
        del node[:]
        node.text = text
    return bool(deep)
