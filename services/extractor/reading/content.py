"""Which part of a page is its content."""

from copy import deepcopy

from lxml.etree import LxmlError
from lxml.html import HtmlElement
from trafilatura import bare_extraction
from trafilatura.settings import Document

from services.extractor.reading.blocks import Block, squeeze
from services.extractor.reading.markup import tag_of
from services.extractor.reading.serialize import blocks_of
from services.extractor.reading.tables import fold_tables

_ENOUGH = 250  # code points; below it trafilatura itself begins to guess
_MAX_ELEMENTS = 250_000  # choosing takes about 50 microseconds an element
_CHROME = frozenset(("nav", "footer", "aside", "menu"))
_CHROME_ROLES = frozenset(("navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar"))
# What a slip in third-party code raises on odd markup: it may cost the choice of content, never the page.
_SLIPS = (ArithmeticError, AssertionError, AttributeError, LookupError, LxmlError, RecursionError)


def main_blocks(tree: HtmlElement) -> list[Block]:
    """Return the blocks of the main content; `tree` has no scripts and no hidden text any more.

    trafilatura chooses. Where it finds next to nothing, or only pours out the page, or the page is huge, the whole body
    is taken instead without navigation, footers and asides.
    """
    if sum(1 for _ in tree.iter()) > _MAX_ELEMENTS:
        return _whole_body(tree)
    fold_tables(tree)
    try:
        # Any format but the default one spares the rendering of a text that is not used.
        document = bare_extraction(tree, output_format="xml", include_formatting=False, include_comments=False)
    except _SLIPS:
        document = None
    blocks = blocks_of(document.body) if isinstance(document, Document) and document.body is not None else []
    body = tree.find(".//body")
    words = squeeze("".join((tree if body is None else body).itertext()))
    poured = len(blocks) == 1 and _length(blocks) > 0.9 * len(words)
    if _length(blocks) >= _ENOUGH and not poured:
        return blocks
    whole = _whole_body(tree)
    return whole if poured or _length(whole) >= _length(blocks) else blocks


def _length(blocks: list[Block]) -> int:
    """Return how many code points the blocks hold."""
    return sum(len(block.text) for block in blocks)


def _whole_body(tree: HtmlElement) -> list[Block]:
    """Return the blocks of everything but the page's frame, or of everything where only the frame has words."""
    body = tree.find(".//body")
    if body is None:
        body = tree
    bare = deepcopy(body)
    frame = [
        node for node in bare.iter() if tag_of(node) in _CHROME or (node.get("role") or "").lower() in _CHROME_ROLES
    ]
    for node in frame:
        if node.getparent() is not None:
            node.drop_tree()
    return blocks_of(bare) or blocks_of(body)
