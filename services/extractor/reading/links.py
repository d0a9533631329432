"""Where a page links to: absolute web addresses, each judged strictly, one bad one never costing the others."""

import re

from lxml.html import HtmlElement

from services.extractor.reading.markup import tag_of
from shared.domain.errors import NotAllowed
from shared.domain.urls import Url, parse_url, resolve

MAX_LINKS = 5_000
# Nothing, a place on the page itself, or another scheme.
_NO_LINK = re.compile(r"\s*(?:\Z|#|(?!https?:)[A-Za-z][A-Za-z0-9+.-]*:)", re.IGNORECASE)


def links_of(tree: HtmlElement, url: str | None) -> tuple[tuple[str, ...], int]:
    """Return the addresses that a page's links lead to, each once in its order, and how many links lead nowhere.

    `url` is the page's own final address; a <base> element overrules it, as in browsers. Fragments of the page itself
    and other schemes (mail, scripts) are no links and not counted.
    """
    base = _base(tree, url)
    found: dict[str, None] = {}
    seen: set[str] = set()
    bad = 0
    for node in tree.iter("a", "area"):
        href = node.get("href")
        if href is None or href in seen or _NO_LINK.match(href):
            continue
        seen.add(href)
        try:
            found[str(parse_url(href) if base is None else resolve(base, href))] = None
        except NotAllowed:
            bad += 1
        if len(found) >= MAX_LINKS:
            break
    return tuple(found), bad


def _base(tree: HtmlElement, url: str | None) -> Url | None:
    """Return what relative links are relative to."""
    own = _parsed(url)
    for node in tree.iter():
        if tag_of(node) == "base" and node.get("href") is not None:
            try:
                return parse_url(node.get("href") or "") if own is None else resolve(own, node.get("href") or "")
            except NotAllowed:
                return own
    return own


def _parsed(url: str | None) -> Url | None:
    try:
        return parse_url(url) if url is not None else None
    except NotAllowed:
        return None
