"""What kind of file some bytes are, from the bytes themselves; names and headers only decide between kinds of text."""

import re
import struct
from io import BytesIO
from zipfile import BadZipFile, ZipFile

from shared.domain.file_kinds import (
    CSV,
    DOCX,
    EPUB,
    FILE_KINDS,
    HTML,
    JSON,
    MAIL,
    MARKDOWN,
    MBOX,
    NOTEBOOK,
    ODP,
    ODS,
    ODT,
    PDF,
    PLAIN,
    PPTX,
    RTF,
    SUBRIP,
    TSV,
    WEBVTT,
    XLSX,
    XML,
)
from shared.domain.file_marks import BINARY, BOMS, OLE, ZIP, by_magic, looks_binary

__all__ = [
    "BINARY",
    "CSV",
    "DOCX",
    "EPUB",
    "HTML",
    "JSON",
    "MAIL",
    "MARKDOWN",
    "MBOX",
    "NOTEBOOK",
    "ODP",
    "ODS",
    "ODT",
    "OLE",
    "PDF",
    "PLAIN",
    "PPTX",
    "RTF",
    "SUBRIP",
    "TSV",
    "WEBVTT",
    "XLSX",
    "XML",
    "ZIP",
    "sniff",
]

_HINTS = tuple((kind.media_type, kind.endings) for kind in FILE_KINDS if kind.is_text and kind.media_type != PLAIN)
_JSON_START = re.compile(rb"\s*(?:\{\s*[\"}]|\[\s*[\[{])")
_JSON_TYPE = re.compile(r"(?:application|text)/(?:(?:[\w.+-]+\+)?json|x-ndjson|jsonl|json-seq)")
_MARKS_IN_ARCHIVES = {
    DOCX: b"word/",
    PPTX: b"ppt/",
    XLSX: b"xl/",
    EPUB: b"META-INF/container.xml",
    ODT: b"opendocument.text",
    ODS: b"opendocument.spreadsheet",
    ODP: b"opendocument.presentation",
}
_ARCHIVES = tuple(
    (k.media_type, k.endings, _MARKS_IN_ARCHIVES[k.media_type])
    for k in FILE_KINDS
    if k.media_type in _MARKS_IN_ARCHIVES
)
# The content type of an archive's main part tells what the archive is (ECMA-376-2, 8.2).
_MAIN_PARTS = (
    (DOCX, re.compile(rb"wordprocessingml\.(?:document|template)\.main|ms-word\.\w+\.macroEnabled\w*\.main")),
    (
        PPTX,
        re.compile(
            rb"presentationml\.(?:presentation|slideshow|template)\.main|ms-powerpoint\.\w+\.macroEnabled\w*\.main"
        ),
    ),
    (XLSX, re.compile(rb"spreadsheetml\.(?:sheet|template)\.main|ms-excel\.(?:sheet|template)\.macroEnabled\w*\.main")),
)
_SAYS_NOTHING = frozenset(("", "application/octet-stream", "binary/octet-stream"))
_PLAIN_NAMES = next(kind.endings for kind in FILE_KINDS if kind.media_type == PLAIN)
_MAX_TYPES = 2_000_000  # bytes of a list of content types
_HEAD = 1024
_DOCUMENT = re.compile(rb"<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)
_XML_ROOT = re.compile(rb"\s*<(?:\?xml|rss|feed|svg|urlset|sitemapindex|opml)[\s>]", re.IGNORECASE)
_MARKUP = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|style|link|div|span|p|a|table|h[1-6]|br|article|main|section"
    rb"|ul|ol|font|center|frameset|iframe|nav|header|form|img|base|noscript)(?:[\s>/]|$)",
    re.IGNORECASE,
)
_LEADING = re.compile(rb"(?:\s|<!--.*?-->|<\?xml[^>]*\?>)*", re.DOTALL)
_SUBTITLE = re.compile(rb"\s*(?:\d+\s*\n)?(?:\d{1,3}:)?\d{1,3}:\d\d[,.]\d{3}[ \t]+-->[ \t]+(?:\d{1,3}:)?\d{1,3}:\d\d")
_HEADER = re.compile(
    rb"(?m)^(from|to|cc|subject|date|message-id|received|return-path|mime-version|delivered-to|sender):", re.I
)
_HEADERS = re.compile(rb"(?:[!-9;-~]+:[^\n]*\n(?:[ \t]+[^\n]*\n)*){3,}")
_FROM_LINE = re.compile(rb"From \S+[^\n]{0,100}\d{4}[^\n]{0,20}\n")
_XML_TYPE = re.compile(r"(?:application|text)/(?:[\w.+-]+\+)?xml\b")


def sniff(data: bytes, *, name: str | None, content_type: str | None) -> str:
    """Return the MIME type of `data`.

    `name` (a file name or the path of an address) and `content_type` (the header) are hints: they tell Markdown,
    tables, JSON and HTML that does not look like it from plain text, and what a damaged archive was meant to be; they
    never turn one kind of bytes into another.
    """
    head = data[: _HEAD * 4]
    if _is_pdf(head):
        return PDF
    known = by_magic(data)
    if known is not None:
        return _kind_of_archive(data, (name or "").lower()) if known == ZIP else known
    if "utf-16" not in (content_type or "").lower() and looks_binary(data):
        return BINARY
    text = head.replace(b"\x00", b"")
    for mark in BOMS:
        text = text.removeprefix(mark)
    declared = (content_type or "").split(";")[0].strip().lower()
    return _kind_of_text(text, (name or "").lower(), declared)


def _kind_of_archive(data: bytes, name: str) -> str:
    """Tell Office documents and books from other archives, by what their list of parts says."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            return _declared_archive(archive)
    except (BadZipFile, OSError, ValueError, NotImplementedError, struct.error, RuntimeError):
        start = data[: _HEAD * 64]
        return next((mime for mime, names, mark in _ARCHIVES if name.endswith(names) or mark in start), ZIP)


def _declared_archive(archive: ZipFile) -> str:
    """Return what an archive declares itself to be."""
    parts = {entry.filename: entry for entry in archive.infolist()}
    declared = parts.get("mimetype")
    if declared is not None and declared.file_size < 200:
        mime = archive.read(declared).decode("ascii", "replace").strip().removesuffix("-template")
        return mime if re.fullmatch(r"application/[\w.+-]+", mime) else ZIP
    types = parts.get("[Content_Types].xml")
    if types is not None and types.file_size <= _MAX_TYPES:
        listed = archive.read(types)
        return next((mime for mime, mark in _MAIN_PARTS if mark.search(listed)), ZIP)
    return EPUB if "META-INF/container.xml" in parts else ZIP


def _is_pdf(head: bytes) -> bool:
    """Tell whether the mark stands in the first 1,024 bytes (as viewers allow), and not in a page that mentions it."""
    position = head[:_HEAD].find(b"%PDF-")
    return position == 0 or (position > 0 and not _MARKUP.search(head[:position]))


def _kind_of_text(text: bytes, name: str, declared: str) -> str:
    """Tell the kinds of text apart: the marks of a document first, then the hints, then lesser marks."""
    leading = _LEADING.match(text)
    body = text[leading.end() :] if leading else text
    if declared == "application/xhtml+xml" or _DOCUMENT.match(body):
        return HTML
    return _by_hint(name, declared) or _by_start(text, body, name, declared)


def _by_hint(name: str, declared: str) -> str | None:
    """Return the kind of text that the header or the name tells."""
    if _JSON_TYPE.fullmatch(declared):
        return JSON
    return next((mime for mime, names in _HINTS if declared == mime or name.endswith(names)), None)


def _by_start(text: bytes, body: bytes, name: str, declared: str) -> str:
    """Return the kind of text that nothing tells but its beginning; `body` comes after comments and declarations."""
    if (structured := _structured(text)) is not None and declared in (*_SAYS_NOTHING, PLAIN):
        return structured
    if _XML_ROOT.match(text) or (_XML_TYPE.fullmatch(declared) and body.startswith(b"<")):
        return XML
    says_nothing = declared in _SAYS_NOTHING and not name.endswith(_PLAIN_NAMES)
    if says_nothing and _JSON_START.match(text):
        return _kind_of_json(text)
    return HTML if _MARKUP.match(body) and not declared.startswith("text/") else PLAIN


def _kind_of_json(text: bytes) -> str:
    return NOTEBOOK if b'"cell_type"' in text and b'"cells"' in text else JSON


def _structured(text: bytes) -> str | None:
    """Return the kind of text that has a beginning of its own: subtitles, a mail, a mailbox."""
    text = text.replace(b"\r\n", b"\n")
    if text.startswith(b"WEBVTT"):
        return WEBVTT
    if _SUBTITLE.match(text):
        return SUBRIP
    sender = _FROM_LINE.match(text)
    headers = _HEADERS.match(text, sender.end() if sender else 0)
    if headers is None:
        return None
    named = {name.lower() for name in _HEADER.findall(headers.group())}
    if sender is not None and named:
        return MBOX
    return (
        MAIL
        if b"from" in named and len(named) >= 3 and (named & {b"message-id", b"received", b"mime-version"})
        else None
    )
