"""What a page says about itself in explicit marks: meta elements, JSON-LD, microdata, link and time elements."""

import json
import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from lxml.html import HtmlElement

from services.extractor.reading.blocks import squeeze
from services.extractor.reading.dates import iso_date
from services.extractor.reading.markup import inline_text
from services.extractor.reading.raising import flatten_raised

_TITLE = ("citation_title", "og:title", "twitter:title", "dc.title", "dcterms.title", "parsely-title", "title")
_AUTHOR = (
    *("citation_author", "author", "article:author", "dc.creator", "dcterms.creator", "parsely-author"),
    *("sailthru.author", "byl", "og:article:author", "book:author"),
)
_PUBLISHER = ("og:site_name", "citation_publisher", "dc.publisher", "dcterms.publisher")
_PUBLISHED = (
    *("article:published_time", "og:published_time", "og:article:published_time", "citation_publication_date"),
    *("citation_online_date", "citation_date", "parsely-pub-date", "sailthru.date", "dcterms.issued", "dc.date.issued"),
    *(
        "dcterms.created",
        "dc.date.created",
        "dc.date",
        "dcterms.date",
        "datepublished",
        "date",
        "pubdate",
        "publishdate",
    ),
    *("publish-date", "publish_date", "publication_date", "published", "article.published", "originalpublicationdate"),
    *("displaydate", "ptime", "cxenseparse:recs:publishtime", "article_date_original", "rnews:datepublished"),
)
_MODIFIED = (
    *("article:modified_time", "og:modified_time", "og:updated_time", "article:updated_time", "dcterms.modified"),
    *("dc.date.modified", "datemodified", "last-modified", "lastmod", "modified", "revised", "dateupdated"),
)
_TIME_CLASS = re.compile(
    r"\b(?:dt-|entry-|post-)?publish(?:ed)?(?:-date|_date|date)?\b|\bentry-date\b|\bpost-date\b", re.IGNORECASE
)
_ARTICLE = re.compile(
    r"article|posting|report|review|dataset|book|recipe|howto|publication|thesis|legislation", re.IGNORECASE
)
_PAGE = re.compile(r"webpage|itempage|creativework", re.IGNORECASE)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_NO_TITLE = frozenset(("untitled", "untitled document", "home", "index", "document"))
_MAX_JSON = 1_000_000
_MAX_NODES = 2_000
_MAX_VALUE = 500
_DAY = len("2019-05-04")


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the page declares; None where it declares nothing that can be read."""

    title: str | None
    author: str | None
    publisher: str | None
    published_at: str | None
    modified_at: str | None
    canonical_url: str | None
    language: str | None


def metadata_of(tree: HtmlElement, url: str | None, latest: str | None = None) -> Metadata:
    """Read the marks of a whole page; call it before scripts are taken out. `url` is the page's own address.

    No date after the day `latest`, that of the fetch, is believed.
    """
    meta = _meta(tree)
    linked = _linked_data(tree)
    publisher = _first((*_named(meta, _PUBLISHER), *_names(linked.get("publisher"))))
    return Metadata(
        title=_title(tree, meta, linked, publisher),
        author=_author(tree, meta, linked),
        publisher=publisher,
        published_at=_date(
            (*_named(meta, _PUBLISHED[:3]), *_texts(linked.get("datePublished"))), _published(tree, meta), latest=latest
        ),
        modified_at=_date(
            (*_named(meta, _MODIFIED[:3]), *_texts(linked.get("dateModified"))), _modified(tree, meta), latest=latest
        ),
        canonical_url=_canonical(tree, url),
        language=_language(tree, meta),
    )


def _meta(tree: HtmlElement) -> dict[str, list[str]]:
    """Return the contents of meta elements by lower-case name, in document order."""
    found: dict[str, list[str]] = {}
    for node in tree.iter("meta"):
        content = squeeze(node.get("content") or "")[:_MAX_VALUE]
        for attribute in ("property", "name", "itemprop", "http-equiv"):
            name = (node.get(attribute) or "").strip().lower()
            if name and content:
                found.setdefault(name, []).append(content)
    return found


def _named(meta: dict[str, list[str]], names: Iterable[str]) -> Iterator[str]:
    """Yield the contents of the named meta elements, the stronger name first."""
    for name in names:
        yield from meta.get(name, ())


def _first(values: Iterable[str]) -> str | None:
    """Return the first value that is not empty."""
    return next((value for value in values if value), None)


def _date(*groups: Iterable[str], latest: str | None = None) -> str | None:
    """Return the first value that is a date and not after `latest`; one that names the day beats a month or a year."""
    dates = [found for group in groups for value in group if (found := iso_date(value))]
    if latest is not None:
        dates = [date for date in dates if date[:10] <= latest[: len(date[:10])]]
    first = _first(dates)
    if first is None or len(first) >= _DAY:
        return first
    near = (date for date in dates if len(date) >= _DAY and abs(int(date[:4]) - int(first[:4])) <= 1)
    return next(near, None) or next((date for date in dates if date.startswith(first) and date != first), first)


def _linked_data(tree: HtmlElement) -> dict[str, Any]:
    """Return the JSON-LD object that describes the page: an article of any kind, else the first that has a date."""
    candidates = [item for loaded in _json_of(tree) for item in _objects(loaded)]
    articles = [item for item in candidates if any(map(_ARTICLE.search, _texts(item.get("@type"))))]
    dated = [item for item in candidates if "datePublished" in item or "headline" in item]
    found = next(iter(articles + dated), {})
    missing = {
        name: item[name]
        for name in ("dateModified", "datePublished")
        for item in reversed(candidates)
        if name in item and ("@type" not in item or any(map(_PAGE.search, _texts(item["@type"]))))
    }
    return {**missing, **found}


def _json_of(tree: HtmlElement) -> Iterator[object]:
    """Yield what the JSON-LD scripts of a page hold; what is no JSON is passed over."""
    for node in tree.iter("script"):
        if (node.get("type") or "").split(";")[0].strip().lower() != "application/ld+json":
            continue
        text = node.text or ""
        if len(text) > _MAX_JSON:
            continue
        try:
            loaded = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
        yield loaded


def _objects(loaded: object) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON-LD from the outside in, a bounded number of them."""
    queue: list[object] = [loaded]
    for count, item in enumerate(queue):
        if count >= _MAX_NODES:
            return
        if isinstance(item, dict):
            yield item
            queue += [item[key] for key in ("@graph", "mainEntity", "mainEntityOfPage") if key in item]
        elif isinstance(item, list):
            queue += item


def _texts(value: object) -> list[str]:
    """Return the strings of a JSON-LD value."""
    values = value if isinstance(value, list) else [value]
    return [squeeze(item)[:_MAX_VALUE] for item in values if isinstance(item, str)]


def _names(value: object) -> list[str]:
    """Return the names of a JSON-LD value: strings, or objects with a name."""
    values = value if isinstance(value, list) else [value]
    return [name for item in values for name in _texts(item.get("name") if isinstance(item, dict) else item)]


def _title(tree: HtmlElement, meta: dict[str, list[str]], linked: dict[str, Any], publisher: str | None) -> str | None:
    """Return the title, without the name of the site behind it where the page tells that name."""
    headline = _texts(linked.get("headline"))
    elements = [_words(node) for tag in ("title", "h1") for node in list(tree.iter(tag))[:1]]
    values = (*_named(meta, _TITLE[:2]), *headline, *_named(meta, _TITLE[2:]), *elements)
    title = _first(value for value in values if value.casefold() not in _NO_TITLE)
    if title and publisher:
        shorter = re.sub(rf"\s*[-–—|·:»]\s*{re.escape(publisher)}\s*\Z", "", title, flags=re.IGNORECASE)
        title = shorter or title
    return title[:_MAX_VALUE].strip(" -–—|") or None if title else None


def _words(node: HtmlElement) -> str:
    """Return the words of an element without marks of notes."""
    bare = deepcopy(node)
    flatten_raised(bare)
    return inline_text(bare)[:_MAX_VALUE]


def _author(tree: HtmlElement, meta: dict[str, list[str]], linked: dict[str, Any]) -> str | None:
    """Return the authors, joined by "; "; an address of a profile is no name."""
    marked = [
        inline_text(node)
        for node in tree.xpath("//*[@itemprop='author' or @rel='author'][not(self::meta)][position() <= 20]")
    ]
    for values in (*([*_named(meta, (name,))] for name in _AUTHOR), _names(linked.get("author")), marked):
        people = [value for value in dict.fromkeys(values) if value and "://" not in value and len(value) <= 200]
        if people:
            return "; ".join(people)[:_MAX_VALUE]
    return None


def _times(tree: HtmlElement, prop: str) -> Iterator[str]:
    """Yield the date that microdata mark with `prop`."""
    nodes = tree.xpath("//*[@itemprop=$prop]", prop=prop)
    yield from _only_one(
        node.get("datetime") or node.get("content") or inline_text(node)[:_MAX_VALUE] for node in nodes
    )


def _published(tree: HtmlElement, meta: dict[str, list[str]]) -> Iterator[str]:
    """Yield what else may be the date of publication, the stronger mark first."""
    yield from _named(meta, _PUBLISHED[3:])
    yield from _times(tree, "datePublished")
    nodes = [
        node
        for node in tree.iter("time", "abbr")
        if node.get("pubdate") is not None or _TIME_CLASS.search(node.get("class") or "")
    ]
    yield from _only_one(node.get("datetime") or (node.get("title") if node.tag == "abbr" else "") for node in nodes)


def _only_one(marked: Iterable[str | None]) -> Iterator[str]:
    """Yield the date of marks inside the page, if they all name one day: comments and teasers carry the same marks."""
    dates = [written for written in marked if written and iso_date(written)]
    if len({(iso_date(written) or "")[:10] for written in dates}) == 1:
        yield dates[0]


def _modified(tree: HtmlElement, meta: dict[str, list[str]]) -> Iterator[str]:
    """Yield what else may be the date of the last change."""
    yield from _named(meta, _MODIFIED[3:])
    yield from _times(tree, "dateModified")


def _canonical(tree: HtmlElement, url: str | None) -> str | None:
    """Return the canonical link as an absolute http(s) address."""
    for node in tree.iter("link"):
        href = squeeze(node.get("href") or "")
        if not href or "canonical" not in (node.get("rel") or "").lower().split():
            continue
        try:
            address = urljoin(url or "", href)
            parts = urlsplit(address)
        except ValueError:
            continue
        if parts.scheme in ("http", "https") and parts.hostname:
            return address
    return None


def _language(tree: HtmlElement, meta: dict[str, list[str]]) -> str | None:
    """Return the declared language as a BCP 47 tag, like "en" or "pt-BR"."""
    root = tree.getroottree().getroot()
    namespaced = root.get("{http://www.w3.org/XML/1998/namespace}lang")
    for value in (
        root.get("lang"),
        root.get("xml:lang"),
        namespaced,
        *_named(meta, ("content-language", "og:locale", "dc.language")),
    ):
        match = _LANGUAGE.match((value or "").strip())
        if match:
            primary, *others = match.group().replace("_", "-").split("-")
            return "-".join((primary.lower(), *(part.upper() if len(part) == 2 else part for part in others)))
    return None
