"""The one table of the kinds of files that are read: names for people, media types, endings of file names.

The bytes decide what a file is; endings only choose between kinds of text, tell a file chooser what to show, and say
what a damaged file was meant to be. Any other text is read as plain text, whatever its name ends in.
"""

from dataclasses import dataclass
from typing import Final

HTML: Final = "text/html"
PDF: Final = "application/pdf"
MARKDOWN: Final = "text/markdown"
PLAIN: Final = "text/plain"
XML: Final = "application/xml"
CSV: Final = "text/csv"
TSV: Final = "text/tab-separated-values"
JSON: Final = "application/json"
NOTEBOOK: Final = "application/x-ipynb+json"
SUBRIP: Final = "application/x-subrip"
WEBVTT: Final = "text/vtt"
MAIL: Final = "message/rfc822"
MBOX: Final = "application/mbox"
RTF: Final = "application/rtf"
DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX: Final = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ODT: Final = "application/vnd.oasis.opendocument.text"
ODS: Final = "application/vnd.oasis.opendocument.spreadsheet"
ODP: Final = "application/vnd.oasis.opendocument.presentation"
EPUB: Final = "application/epub+zip"


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file that is read: what people call it, its media type, and endings of names that it has.

    `is_text` says that its bytes are text, so that only its name or its beginning tells it from other text.
    """

    name: str
    media_type: str
    endings: tuple[str, ...]
    is_text: bool = False


FILE_KINDS: Final = (
    FileKind("PDF", PDF, (".pdf",)),
    FileKind("Word", DOCX, (".docx", ".docm", ".dotx")),
    FileKind("PowerPoint", PPTX, (".pptx", ".pptm", ".ppsx")),
    FileKind("Excel", XLSX, (".xlsx", ".xlsm", ".xltx")),
    FileKind("OpenDocument text", ODT, (".odt", ".ott")),
    FileKind("OpenDocument sheets", ODS, (".ods", ".ots")),
    FileKind("OpenDocument slides", ODP, (".odp", ".otp")),
    FileKind("RTF", RTF, (".rtf",)),
    FileKind("EPUB", EPUB, (".epub",)),
    FileKind("HTML", HTML, (".html", ".htm", ".xhtml"), is_text=True),
    FileKind("Markdown", MARKDOWN, (".md", ".markdown"), is_text=True),
    FileKind("CSV", CSV, (".csv",), is_text=True),
    FileKind("TSV", TSV, (".tsv", ".tab"), is_text=True),
    FileKind("JSON", JSON, (".json", ".jsonl", ".ndjson", ".geojson"), is_text=True),
    FileKind("XML", XML, (".xml", ".rss", ".atom"), is_text=True),
    FileKind("notebooks", NOTEBOOK, (".ipynb",), is_text=True),
    FileKind("e-mail", MAIL, (".eml",), is_text=True),
    FileKind("mailboxes", MBOX, (".mbox",), is_text=True),
    FileKind("subtitles", SUBRIP, (".srt",), is_text=True),
    FileKind("WebVTT", WEBVTT, (".vtt",), is_text=True),
    FileKind(
        "any text",
        PLAIN,
        tuple(
            ".txt .text .log .rst .adoc .asciidoc .org .tex .bib .yaml .yml .toml .ini .cfg .conf .properties .env "
            ".py .r .jl .js .ts .java .c .h .cpp .cs .go .rs .rb .php .pl .sh .sql .css .diff .patch".split()
        ),
        is_text=True,
    ),
)
"""What documents are read as."""

KINDS_SHOWN: Final = ", ".join(kind.name for kind in FILE_KINDS)
"""The kinds in words."""


def kind_by_ending(name: str) -> FileKind | None:
    """Return the kind that a file's name promises, None where it promises none."""
    lowered = name.lower()
    return next((kind for kind in FILE_KINDS if lowered.endswith(kind.endings)), None)
