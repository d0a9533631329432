"""Markdown to text, through HTML: the whole document, nothing left out as page frame."""

import re

from markdown_it import MarkdownIt

from services.extractor.reading import plain
from services.extractor.reading.blocks import Block, assemble
from services.extractor.reading.charset import decode
from services.extractor.reading.dates import iso_date
from services.extractor.reading.hidden import prune
from services.extractor.reading.mime import MARKDOWN
from services.extractor.reading.result import Reading
from services.extractor.reading.serialize import blocks_of
from services.extractor.reading.template_tags import without_tags
from services.extractor.reading.tree import parse
from shared.domain.text import clean

_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^([A-Za-z_-]{2,30}):[ \t]*(\S.*)$", re.MULTILINE)
_MAX_FRONT_MATTER = 20_000


def read(data: bytes, content_type: str | None) -> Reading:
    """Read Markdown (CommonMark with tables); the title is that of the front matter, else the first heading."""
    decoded = decode(data, content_type, markup=False)
    source = clean(decoded.text)
    fields, body = _front_matter(source)
    blocks, too_deep = _blocks(without_tags(body))
    made = assemble(blocks)
    first = made.headings[0].text if made.headings else None
    return Reading(
        status="ok" if made.text else "empty",
        reason="parse-truncated: the document nests too deeply."
        if too_deep
        else None
        if made.text
        else "The file holds no text.",
        mime=MARKDOWN,
        reader="markdown",
        encoding=decoded.encoding,
        encoding_source=decoded.source,
        title=fields.get("title") or first,
        author=fields.get("author"),
        published_at=iso_date(fields.get("date", "")),
        language=fields.get("lang"),
        text=made.text,
        headings=made.headings,
        truncated=made.truncated or too_deep,
    )


def markdown_blocks(source: str) -> list[Block]:
    """Return the blocks of Markdown that stands inside another file."""
    return _blocks(clean(source))[0]


def _blocks(body: str) -> tuple[list[Block], bool]:
    """Return the blocks of a document, and whether it nests too deeply."""
    tree, too_deep = parse(f"<html><body>{_renderer().render(body)}</body></html>")
    if tree is not None:
        prune(tree)
    return (blocks_of(tree) if tree is not None else []) or plain.blocks_of(body), too_deep


def _renderer() -> MarkdownIt:
    """Return a renderer for documents; HTML inside them is kept, because the result is read as HTML and never shown."""
    return MarkdownIt("commonmark", {"html": True, "maxNesting": 100}).enable(["table", "strikethrough"])


def _front_matter(source: str) -> tuple[dict[str, str], str]:
    """Return the simple fields of a leading YAML block, and the document below it."""
    match = _FRONT_MATTER.match(source[:_MAX_FRONT_MATTER])
    if match is None:
        return {}, source
    fields = {name.lower(): value.strip().strip("\"'") for name, value in _FIELD.findall(match.group(1))}
    return fields, source[match.end() :]
