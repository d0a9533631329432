"""HTML to text: the main content of a page, without navigation, hidden text, comments or pictures."""

from dataclasses import replace

from lxml.html import HtmlElement

from services.extractor.reading.blocks import Assembled, assemble
from services.extractor.reading.charset import Decoded, decode
from services.extractor.reading.comments import drop_comments
from services.extractor.reading.content import main_blocks
from services.extractor.reading.doors import door, look
from services.extractor.reading.hidden import prune
from services.extractor.reading.links import links_of
from services.extractor.reading.metadata import Metadata, metadata_of
from services.extractor.reading.mime import HTML
from services.extractor.reading.raising import flatten_raised
from services.extractor.reading.result import Reading
from services.extractor.reading.tree import parse

_TOO_DEEP = "parse-truncated: the page nests its elements too deeply; structure was dropped and text may be missing."
_CUT = "The text was cut at the limit."
_NOTHING = "The page holds no text."


def read(data: bytes, content_type: str | None, url: str | None, latest: str | None = None) -> Reading:
    """Read an HTML page. `content_type` is the header's value, `url` its own address, `latest` the day of the fetch."""
    decoded = decode(data, content_type, markup=True)
    tree, too_deep = parse(decoded.text)
    if tree is None:
        return _reading(decoded, None, assemble(()), _NOTHING, too_deep)
    metadata = metadata_of(tree, url, latest)
    page, wish = look(tree), _wish(tree)
    flatten_raised(tree, prune(tree))
    drop_comments(tree)
    links, bad_links = links_of(tree, url)
    made = assemble(main_blocks(tree))
    rule = door(replace(page, text=made.text))
    if rule is not None:
        # A check says nothing true about the page behind it; a shell has at least the page's own head.
        known = metadata if rule.verdict == "thin_content" else None
        return replace(_reading(decoded, known, assemble(()), rule.reason, False), status=rule.verdict)
    lost = _TOO_DEEP if too_deep else _CUT if made.truncated else None if made.text else _NOTHING
    reason = " ".join(filter(None, (lost, wish))) or None
    return replace(_reading(decoded, metadata, made, reason, too_deep), links=links, bad_links=bad_links)


def _wish(tree: HtmlElement) -> str | None:
    """Say what the page asks of search engines, which bars nobody from reading it; None where it asks nothing."""
    said = (n.get("content") or "" for n in tree.iter("meta") if (n.get("name") or "").strip().lower() == "robots")
    words = {word.strip().lower() for content in said for word in content.split(",")}
    asked = [name for name in ("noindex", "nosnippet") if words & {name, "none"}]
    return f"The page asks search engines: {', '.join(asked)}." if asked else None


def _reading(
    decoded: Decoded, metadata: Metadata | None, made: Assembled, reason: str | None, too_deep: bool
) -> Reading:
    """Put the parts together."""
    return Reading(
        status="ok" if made.text else "empty",
        reason=reason,
        mime=HTML,
        reader="html",
        encoding=decoded.encoding,
        encoding_source=decoded.source,
        title=metadata.title if metadata else None,
        author=metadata.author if metadata else None,
        publisher=metadata.publisher if metadata else None,
        published_at=metadata.published_at if metadata else None,
        modified_at=metadata.modified_at if metadata else None,
        canonical_url=metadata.canonical_url if metadata else None,
        language=metadata.language if metadata else None,
        text=made.text,
        headings=made.headings,
        truncated=made.truncated or too_deep,
    )
