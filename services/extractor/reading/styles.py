"""What a page's own styles say of one element: inline, or by plain rules of the stylesheets inside the page."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from lxml.etree import _Element
from lxml.html import HtmlElement

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_MARK = re.compile(r"[{};]")
_DECLARATION = re.compile(r"\s*([\w-]+)\s*:\s*((?:[^;()]|\([^()]*\))*)")
# Only rules for one tag, class or id, outside of @media and the like; anything cleverer needs a browser.
_SIMPLE_SELECTOR = re.compile(r"\s*([a-z][a-z0-9]*)?(?:([.#])([\w-]+))?\s*", re.IGNORECASE)
_MAX_STYLESHEET = 200_000

Declared = Mapping[str, str]
NOTHING: Final[Declared] = {}


@dataclass(frozen=True, slots=True)
class Sheet:
    """The plain rules by selector. ``is_all`` is false where others may paint: elsewhere, or too clever to read."""

    rules: Mapping[str, Declared]
    is_all: bool
    _known: dict[tuple[str, str | None, str | None], Declared] = field(default_factory=dict)

    def of(self, node: _Element, tag: str) -> Declared:
        """Return what the rules declare for an element: tag, then class, then id."""
        if not self.rules:
            return NOTHING
        key = (tag, node.get("class"), node.get("id"))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._found(tag, (key[1] or "").split(), key[2])
        return found

    def _found(self, tag: str, names: list[str], own: str | None) -> Declared:
        keys = [tag, *(f".{name}" for name in names), *(f"{tag}.{name}" for name in names)]
        keys += [f"#{own}", f"{tag}#{own}"] if own else []
        found: dict[str, str] = {}
        for key in keys:
            found.update(self.rules.get(key, NOTHING))
        return found


def declared(style: str | None) -> Declared:
    """Return the declarations of a style attribute or of a rule's body; of a name given twice the last."""
    if not style:
        return NOTHING
    pairs = _DECLARATION.findall(_COMMENT.sub("", style))
    return {name.lower(): value.lower().replace("!important", "").strip() for name, value in pairs}


def sheet_of(tree: HtmlElement) -> Sheet:
    """Return the plain rules of the stylesheets inside a page; call it before they are taken out."""
    rules: dict[str, dict[str, str]] = {}
    is_all = not any("stylesheet" in (node.get("rel") or "").lower() for node in tree.iter("link"))
    for text in _stylesheets(tree):
        for selectors, body in _rules(text):
            found = declared(body) if not selectors.lstrip().startswith("@") else NOTHING
            for selector in selectors.split(","):
                key = _key(selector) if found else None
                if key is not None:
                    rules.setdefault(key, {}).update(found)
                elif "background" in body:
                    is_all = False
    return Sheet(rules, is_all)


def _stylesheets(tree: HtmlElement) -> Iterator[str]:
    """Yield the stylesheets inside a page that hold for screens."""
    for style in tree.iter("style"):
        if (style.get("media") or "all").lower().startswith(("all", "screen")):
            yield (style.text or "")[:_MAX_STYLESHEET]


def _key(selector: str) -> str | None:
    """Return a plain selector as it is looked up; None for one that is not plain."""
    match = _SIMPLE_SELECTOR.fullmatch(selector)
    if match is None or not selector.strip():
        return None
    tag, mark, name = match.groups()
    return f"{(tag or '').lower()}{mark or ''}{name or ''}"


def _rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield selectors and body of the outer rules of a stylesheet; a body may hold rules of its own."""
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
                yield selectors, sheet[start : mark.start()]
                start = mark.end()
        elif depth == 0:  # the end of @import and the like
            start = mark.end()
