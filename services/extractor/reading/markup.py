"""What the tags mean, in HTML and in the main-content tree of trafilatura alike."""

from lxml.etree import _Element, iterwalk

from services.extractor.reading.blocks import squeeze

INLINE = frozenset(
    """
    a abbr acronym b bdi bdo big cite code data del dfn em font hi i ins kbd label mark nobr output q ref rb ruby s samp
    small span strike strong sub sup time tt u var wbr
    """.split()
)
# Nothing in them is text of the page, or it is shown in another place or to another reader.
SKIPPED = frozenset(
    """
    script style template noscript head title iframe object embed applet audio video canvas svg map area picture img
    graphic source track select datalist option optgroup textarea button input rp rt annotation annotation-xml dialog
    progress meter frame frameset noframes noembed
    """.split()
)
HEADINGS = {f"h{level}": level for level in range(1, 7)}
ITEMS = frozenset(("li", "item", "dt", "dd"))
BREAKS = frozenset(("br", "lb"))
TABLES = frozenset(("table",))
LINE_BREAK = "\x00"  # cannot stand in a parsed tree


def tag_of(element: _Element) -> str:
    """Return the tag in lower case without its namespace prefix; "" for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def heading_level(element: _Element) -> int:
    """Return 1 to 6 for a heading, 0 for anything else."""
    tag = tag_of(element)
    if tag != "head":
        return HEADINGS.get(tag, 0)
    parent = element.getparent()  # trafilatura's heading, or the head of the page
    return 0 if parent is None or tag_of(parent) == "html" else HEADINGS.get(element.get("rend") or "", 2)


def inline_text(element: _Element) -> str:
    """Return the words of an element on one line; block children and line breaks separate words."""
    parts: list[str] = []
    walk = iterwalk(element, events=("start", "end"))
    for event, node in walk:
        tag = tag_of(node)
        if node is not element and tag not in INLINE:
            parts.append(" ")
        if event == "start":
            if node is not element and tag in SKIPPED:
                walk.skip_subtree()
            else:
                parts.append(node.text or "")
        elif node is not element:
            parts.append(node.tail or "")
    return squeeze("".join(parts))
