"""What kind of file some bytes are, from the bytes themselves; names and headers only decide between kinds of text."""

import re
from typing import Final

HTML: Final = "text/html"
PDF: Final = "application/pdf"
MARKDOWN: Final = "text/markdown"
PLAIN: Final = "text/plain"
XML: Final = "application/xml"
BINARY: Final = "application/octet-stream"

_HINTS = ((MARKDOWN, (".md", ".markdown")), (HTML, (".html", ".htm", ".xhtml")))
_HEAD = 1024
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"{\\rtf", "application/rtf"),
    (b"%!PS", "application/postscript"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"BM\x00", "image/bmp"),
    (b"OggS", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"fLaC", "audio/flac"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x7fELF", "application/x-executable"),
    (b"\x00asm", "application/wasm"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
)
_DOCUMENT = re.compile(rb"<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)
_XML_ROOT = re.compile(rb"\s*<(?:\?xml|rss|feed|svg|urlset|sitemapindex|opml)[\s>]", re.IGNORECASE)
_MARKUP = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|style|link|div|span|p|a|table|h[1-6]|br|article|main|section"
    rb"|ul|ol|font|center|frameset|iframe|nav|header|form|img|base|noscript)(?:[\s>/]|$)",
    re.IGNORECASE,
)
_LEADING = re.compile(rb"(?:\s|<!--.*?-->|<\?xml[^>]*\?>)*", re.DOTALL)
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_XML_TYPE = re.compile(r"(?:application|text)/(?:[\w.+-]+\+)?xml\b")


def sniff(data: bytes, *, name: str | None, content_type: str | None) -> str:
    """Return the MIME type of `data`.

    `name` (a file name or the path of an address) and `content_type` (the header) are hints: they tell Markdown, and
    HTML that does not look like it, from plain text; they never turn one kind of bytes into another.
    """
    head = data[: _HEAD * 4]
    if _is_pdf(head):
        return PDF
    for magic, mime in _MAGIC:
        if data.startswith(magic):
            return mime
    if data[:4] == b"RIFF" or data[4:8] == b"ftyp":
        return "image/webp" if data[8:12] == b"WEBP" else "video/mp4"
    declared = (content_type or "").split(";")[0].strip().lower()
    if _looks_binary(data, content_type or ""):
        return BINARY
    text = head.replace(b"\x00", b"")
    for mark in _BOMS:
        text = text.removeprefix(mark)
    return _kind_of_text(text, (name or "").lower(), declared)


def _is_pdf(head: bytes) -> bool:
    """Tell whether the mark stands in the first 1,024 bytes (as viewers allow), and not in a page that mentions it."""
    position = head[:_HEAD].find(b"%PDF-")
    return position == 0 or (position > 0 and not _MARKUP.search(head[:position]))


def _looks_binary(data: bytes, content_type: str) -> bool:
    """Tell whether the bytes hold controls that no text has; UTF-16 has zeros, in every second place."""
    sample = data[: _HEAD * 8]
    if sample.startswith(_BOMS[1:]) or "utf-16" in content_type.lower():
        return False
    zeros = sample.count(0)
    if zeros and not (sample[::2].count(0) in (0, zeros) and zeros > len(sample) * 0.4):
        return zeros > len(sample) * 0.001 or not sample.isascii()
    controls = sum(sample.count(code) for code in (*range(1, 8), *range(14, 27), 28, 29, 30, 31))
    return controls > max(2, len(sample) * 0.02)


def _kind_of_text(text: bytes, name: str, declared: str) -> str:
    """Tell the kinds of text apart: the marks of a document first, then the hints, then lesser marks."""
    leading = _LEADING.match(text)
    body = text[leading.end() :] if leading else text
    if declared == "application/xhtml+xml" or _DOCUMENT.match(body):
        return HTML
    for mime, names in _HINTS:
        if declared == mime or name.endswith(names):
            return mime
    if _XML_ROOT.match(text) or (_XML_TYPE.fullmatch(declared) and body.startswith(b"<")):
        return XML
    return HTML if _MARKUP.match(body) and not declared.startswith("text/") else PLAIN
