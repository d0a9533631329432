"""Take out of a page what its reader would not see."""

import re
from collections.abc import Iterator

from lxml.etree import _Element
from lxml.html import HtmlElement

from services.extractor.reading.markup import tag_of

_NEVER_REMOVED = frozenset(("html", "body"))
_NOT_BY_STYLESHEET = frozenset(("html", "body", "main", "article"))
_NOT_TEXT = ("script", "style", "template", "noscript", "noembed", "noframes", "iframe", "object", "svg")
_END = r"\s*(?:[;!}]|$)"
_HIDDEN_FOR_GOOD = (
    rf"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?:\.0+)?(?:px|pt|em|rem|%)?{_END}"
    r"|(?:left|top|text-indent)\s*:\s*-\d{3,}|clip\s*:\s*rect\(\s*0"
)
_FADED = rf"opacity\s*:\s*0(?:\.0+)?{_END}|max-height\s*:\s*0(?:px)?{_END}|color\s*:\s*transparent"
_HIDING = re.compile(rf"(?:^|[;{{\s])(?:{_HIDDEN_FOR_GOOD}|{_FADED})", re.IGNORECASE)
# Only rules for one class or one id outside of @media and the like; anything cleverer needs a browser. Classes that
# fade are left alone: they are how scripts bring in what the page shows at once.
_HIDING_RULE = re.compile(rf"(?:^|[;{{\s])(?:{_HIDDEN_FOR_GOOD})", re.IGNORECASE)
_SIMPLE_SELECTOR = re.compile(r"\s*([.#])([\w-]+)\s*")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_MARK = re.compile(r"[{};]")
_SHOWING = re.compile(r"display\s*:|visibility\s*:\s*visible", re.IGNORECASE)
_MAX_STYLESHEET = 200_000


def prune(tree: HtmlElement) -> None:
    """Remove, in place, scripts and what is hidden by attribute, inline style or a plain rule of the page's stylesheet.

    The text after a removed element stays. Closed <details> stay: a reader can open them.
    """
    classes, ids = _hidden_names(tree)
    doomed = [node for node in tree.iter() if tag_of(node) in _NOT_TEXT or _is_hidden(node, classes, ids)]
    for node in doomed:
        if node.getparent() is not None:
            node.drop_tree()


def _is_hidden(node: _Element, classes: frozenset[str], ids: frozenset[str]) -> bool:
    """Tell whether one element is hidden by its own attributes or by a hiding class or id."""
    tag = tag_of(node)
    if not tag or tag in _NEVER_REMOVED:
        return False
    hidden = node.get("hidden")
    if hidden is not None and hidden.lower() != "until-found":
        return True
    style = node.get("style")
    if style and _HIDING.search(style):
        return True
    if tag in _NOT_BY_STYLESHEET or not (classes or ids):
        return False
    return node.get("id") in ids or not classes.isdisjoint((node.get("class") or "").split())


def _hidden_names(tree: HtmlElement) -> tuple[frozenset[str], frozenset[str]]:
    """Return the classes and the ids that a stylesheet inside the page hides and does not show again."""
    names: dict[str, set[str]] = {".": set(), "#": set()}
    for style in tree.iter("style"):
        if not (style.get("media") or "all").lower().startswith(("all", "screen")):
            continue
        for selectors, body in _rules((style.text or "")[:_MAX_STYLESHEET]):
            hides = _HIDING_RULE.search(body) is not None
            if not hides and not _SHOWING.search(body):
                continue
            for simple in filter(None, map(_SIMPLE_SELECTOR.fullmatch, selectors.split(","))):
                if hides:
                    names[simple.group(1)].add(simple.group(2))
                else:
                    names[simple.group(1)].discard(simple.group(2))
    return frozenset(names["."]), frozenset(names["#"])


def _rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield selectors and declarations of the rules of a stylesheet, without those inside other rules."""
    sheet = _COMMENT.sub("", sheet)
    depth, start, selectors = 0, 0, ""
    for mark in _MARK.finditer(sheet):
        if mark.group() == "{":
            depth += 1
            if depth == 1:
                selectors, start = sheet[start : mark.start()], mark.end()
        elif mark.group() == "}":
            depth = max(0, depth - 1)
            if depth == 0:
                if not selectors.lstrip().startswith("@"):
                    yield selectors, sheet[start : mark.start()]
                start = mark.end()
        elif depth == 0:  # the end of @import and the like
            start = mark.end()
