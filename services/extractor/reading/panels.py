"""Panels that a page keeps closed until its reader opens them: tabs, accordions, "show more"."""

import re
from collections.abc import Iterator

from lxml.etree import _Element
from lxml.html import HtmlElement

from services.extractor.reading.markup import tag_of

_OPENING = frozenset(("collapse", "tab", "pill", "accordion", "toggle"))
_FRAME = frozenset(("nav", "dialog", "form", "aside", "header", "footer", "menu"))
_NOT_PANELS = frozenset(("menu", "menubar", "dialog", "alertdialog", "listbox", "tooltip", "navigation", "search"))
_HIDING_CLASS = re.compile(r"hid|collaps|closed|d-none|invisible|fade|inactive", re.IGNORECASE)


def opened_by_controls(tree: HtmlElement) -> frozenset[str]:
    """Return the ids of what the page's own buttons and tabs open; menus and dialogs are none of them."""
    wanted = {name for node in tree.iter() if tag_of(node) and not _in_frame(node) for name in _controlled(node)}
    if not wanted:
        return frozenset()
    return frozenset(name for node in tree.iter() if (name := node.get("id")) in wanted and _is_panel(node))


def show(panel: _Element) -> None:
    """Take the marks off that hide a panel: whatever looks at the tree later would read them too."""
    for name in ("hidden", "style", "aria-hidden"):
        if panel.get(name) is not None:
            del panel.attrib[name]
    names = [name for name in (panel.get("class") or "").split() if not _HIDING_CLASS.search(name)]
    panel.set("class", " ".join(names))


def _controlled(node: _Element) -> Iterator[str]:
    """Yield the ids that an element says it opens."""
    if (node.get("aria-haspopup") or "false").lower() not in ("false", ""):
        return
    yield from (node.get("aria-controls") or "").split()
    kind = (node.get("data-bs-toggle") or node.get("data-toggle") or node.get("role") or "").lower()
    if kind in _OPENING:
        for name in ("data-bs-target", "data-target", "href"):
            target = node.get(name) or ""
            if target.startswith("#") and len(target) > 1:
                yield target[1:]


def _in_frame(node: _Element) -> bool:
    """Tell whether an element belongs to navigation or another part of the page's frame."""
    if not (node.get("aria-controls") or node.get("data-toggle") or node.get("data-bs-toggle") or node.get("role")):
        return True  # it opens nothing
    article = False
    for above in node.iterancestors():
        tag = tag_of(above)
        article = article or tag in ("main", "article", "section")
        if tag in ("nav", "menu", "dialog") or (tag in _FRAME and not article and tag != "form"):
            return True
    return False


def _is_panel(node: _Element) -> bool:
    """Tell whether an element that is opened holds content: no menu, no dialog, and not mostly links."""
    if tag_of(node) in _FRAME or (node.get("role") or "").lower() in _NOT_PANELS:
        return False
    words = len("".join(map(str, node.itertext())).strip())
    linked = sum(len("".join(map(str, link.itertext()))) for link in node.iter("a"))
    return linked * 2 <= words
