"""Take out of a page what its reader would not see."""

import re

from lxml.etree import _Element
from lxml.html import HtmlElement

from services.extractor.reading.markup import tag_of
from services.extractor.reading.painting import unpaint
from services.extractor.reading.panels import opened_by_controls, show
from services.extractor.reading.styles import Declared, Sheet, declared, sheet_of

_NEVER_REMOVED = frozenset(("html", "body"))
_NOT_BY_STYLESHEET = frozenset(("html", "body", "main", "article"))
_NOT_TEXT = ("script", "style", "template", "noscript", "noembed", "noframes", "iframe", "object", "svg")
# Classes by which the common frameworks keep words for screen readers alone.
_FOR_SCREEN_READERS = frozenset(
    """
    sr-only visually-hidden visuallyhidden screen-reader-text screen-reader-only screenreader-only sr-text
    element-invisible u-visually-hidden is-visually-hidden a11y-hidden show-for-sr
    """.split()
)
_AWAY = re.compile(r"-\d{3,}")
_FAR = re.compile(r"translate(?:x|y|3d)?\([^)]*-\d{4,}|scale(?:3d|x|y)?\(\s*0(?:\.0+)?\s*[,)]")
_NONE = re.compile(r"0*(?:\.0+)?(?:px|pt|em|rem|%)?")
_FAINT = re.compile(r"0*\.0\d*|0+(?:\.0+)?|0(?:\.\d+)?%")
_CLIPPED = re.compile(r"rect\(\s*[01]|inset\(\s*(?:50|100)%")
_ONE = re.compile(r"[01](?:\.0*)?(?:px)?")


def prune(tree: HtmlElement) -> Sheet:
    """Remove, in place, scripts and what is hidden by attribute, inline style or a plain rule of the page's stylesheet.

    The text after a removed element stays. Closed <details> stay, and so do panels that a button of the page opens:
    a reader can open them. Returns the rules, which go with their elements.
    """
    sheet = sheet_of(tree)
    panels = opened_by_controls(tree)
    doomed: list[HtmlElement] = []
    for node in tree.iter():
        tag = tag_of(node)
        if tag in _NOT_TEXT:
            doomed.append(node)
        elif tag and tag not in _NEVER_REMOVED and _is_hidden(node, tag, sheet):
            if node.get("id") in panels:
                show(node)
            else:
                doomed.append(node)
    for node in doomed:
        if node.getparent() is not None:
            node.drop_tree()
    unpaint(tree, sheet)
    return sheet


def _is_hidden(node: _Element, tag: str, sheet: Sheet) -> bool:
    """Tell whether one element is hidden with all that is in it."""
    hidden = node.get("hidden")
    if hidden is not None and hidden.lower() != "until-found":
        return True
    own = declared(node.get("style"))
    if own and (_hides(own) or _fades(own)):
        return True
    if tag in _NOT_BY_STYLESHEET:
        return False
    if not _FOR_SCREEN_READERS.isdisjoint((node.get("class") or "").split()):
        return True
    ruled = sheet.of(node, tag)
    return bool(ruled) and _hides({**ruled, **own} if own else ruled)


def _hides(style: Declared) -> bool:
    """Tell whether a style takes an element out of sight for good."""
    if style.get("display") == "none" or style.get("content-visibility") == "hidden":
        return True
    places = ("left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top", "margin")
    if any(_AWAY.search(style.get(name, "")) for name in places) or _FAR.search(style.get("transform", "")):
        return True
    if _CLIPPED.search(style.get("clip", "")) or _CLIPPED.search(style.get("clip-path", "")):
        return True
    cut = style.get("overflow", "").startswith(("hidden", "clip"))
    width, height = style.get("width", ""), style.get("height", "")
    return cut and (_is_none(height) or _is_none(width) or bool(_ONE.fullmatch(width) and _ONE.fullmatch(height)))


def _fades(style: Declared) -> bool:
    """Tell whether an inline style hides in a way that classes use too, for what a script brings in at once."""
    if _FAINT.fullmatch(style.get("opacity", "-")) or "opacity(0" in style.get("filter", "").replace("0.", ""):
        return True
    return _is_none(style.get("max-height", ""))


def _is_none(length: str) -> bool:
    """Tell whether a length is nothing."""
    return bool(length) and _NONE.fullmatch(length) is not None
