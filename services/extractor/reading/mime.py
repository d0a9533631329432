"""What kind of file some bytes are, from the bytes themselves; names and headers only decide between kinds of text."""

import re
import struct
from io import BytesIO
from typing import Final
from zipfile import BadZipFile, ZipFile

HTML: Final = "text/html"
PDF: Final = "application/pdf"
MARKDOWN: Final = "text/markdown"
PLAIN: Final = "text/plain"
XML: Final = "application/xml"
CSV: Final = "text/csv"
TSV: Final = "text/tab-separated-values"
JSON: Final = "application/json"
DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX: Final = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
EPUB: Final = "application/epub+zip"
ZIP: Final = "application/zip"
OLE: Final = "application/x-ole-storage"
BINARY: Final = "application/octet-stream"

_HINTS = (
    (MARKDOWN, (".md", ".markdown")),
    (HTML, (".html", ".htm", ".xhtml")),
    (CSV, (".csv",)),
    (TSV, (".tsv", ".tab")),
    (JSON, (".json", ".jsonl", ".ndjson", ".geojson")),
    (XML, (".xml", ".rss", ".atom")),
)
_JSON_START = re.compile(rb"\s*(?:\{\s*[\"}]|\[\s*[\[{])")
_JSON_TYPE = re.compile(r"(?:application|text)/(?:(?:[\w.+-]+\+)?json|x-ndjson|jsonl|json-seq)")
_ARCHIVES = (
    (DOCX, (".docx", ".docm", ".dotx"), b"word/"),
    (PPTX, (".pptx", ".pptm", ".ppsx"), b"ppt/"),
    (XLSX, (".xlsx", ".xlsm", ".xltx"), b"xl/"),
    (EPUB, (".epub",), b"META-INF/container.xml"),
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
_PLAIN_NAMES = (".txt", ".text", ".log")
_MAX_TYPES = 2_000_000  # bytes of a list of content types
_HEAD = 1024
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", ZIP),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLE),
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

    `name` (a file name or the path of an address) and `content_type` (the header) are hints: they tell Markdown,
    tables, JSON and HTML that does not look like it from plain text, and what a damaged archive was meant to be; they
    never turn one kind of bytes into another.
    """
    head = data[: _HEAD * 4]
    if _is_pdf(head):
        return PDF
    known = _by_mark(data, (name or "").lower())
    if known is not None:
        return known
    if _looks_binary(data, content_type or ""):
        return BINARY
    text = head.replace(b"\x00", b"")
    for mark in _BOMS:
        text = text.removeprefix(mark)
    declared = (content_type or "").split(";")[0].strip().lower()
    return _kind_of_text(text, (name or "").lower(), declared)


def _by_mark(data: bytes, name: str) -> str | None:
    """Return the kind of file that begins with a mark of its own."""
    for magic, mime in _MAGIC:
        if data.startswith(magic):
            return _kind_of_archive(data, name) if mime == ZIP else mime
    if data[:4] == b"RIFF" or data[4:8] == b"ftyp":
        return "image/webp" if data[8:12] == b"WEBP" else "video/mp4"
    return None


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
        mime = archive.read(declared).decode("ascii", "replace").strip()
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
    return _by_hint(name, declared) or _by_start(text, body, name, declared)


def _by_hint(name: str, declared: str) -> str | None:
    """Return the kind of text that the header or the name tells."""
    if _JSON_TYPE.fullmatch(declared):
        return JSON
    return next((mime for mime, names in _HINTS if declared == mime or name.endswith(names)), None)


def _by_start(text: bytes, body: bytes, name: str, declared: str) -> str:
    """Return the kind of text that nothing tells but its beginning; `body` comes after comments and declarations."""
    if _XML_ROOT.match(text) or (_XML_TYPE.fullmatch(declared) and body.startswith(b"<")):
        return XML
    says_nothing = declared in _SAYS_NOTHING and not name.endswith(_PLAIN_NAMES)
    if says_nothing and _JSON_START.match(text):
        return JSON
    return HTML if _MARKUP.match(body) and not declared.startswith("text/") else PLAIN
