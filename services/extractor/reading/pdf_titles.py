"""The title of a PDF: the one that it tells, unless a program or a template wrote that; then the largest text."""

import re
from collections.abc import Sequence

from services.extractor.reading.blocks import squeeze
from services.extractor.reading.layout import Line
from services.extractor.reading.lines import join_lines

_LONGEST = 500
_LARGEST = 1.15  # times the letter size of the text makes a title
_MOST_LINES = 6
# What programs write for want of a title: a file's name, or the name of the program.
_PROGRAM = re.compile(r"microsoft (?:word|powerpoint|excel) - ", re.IGNORECASE)
_NO_TITLE = re.compile(
    r"(?:untitled.*|no ?title|title|titel|slide \d+|powerpoint presentation|document\d*|doc\d*|presentation\d*|book\d*"
    r"|paper|main|output|print|scan[\W_\d]*|unknown|none|null|(?:la)?tex output.*|microsoft word|pii:.*"
    r"|\S.*\.(?:wpd|docx?|pages|pptx?|xlsx?|indd|tex|dvi|qxd|pdf|ps|rtf|od[tps]|key|fm|eps|html?|txt|p65|cdr|ai))\Z",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"\b(?:template|instructions (?:for|to) (?:the )?(?:authors?|contributors|preparing)|author guidelines"
    r"|guidelines for authors|preparation of (?:papers|manuscripts|camera)|formatting instructions"
    r"|how to (?:write|format) (?:a|your) (?:paper|manuscript)|style (?:file|guide)"
    r"|sample (?:paper|article|document|manuscript)|(?:paper|article|document|report) title|title of (?:the )?paper"
    r"|title (?:goes )?here|insert title|bare demo of|proceedings format|elsarticle|ieeetran|sig-alternate|llncs"
    r"|acmart|revtex|lorem)\b",
    re.IGNORECASE,
)
# A number or the name of a file without its ending: "ipg1300180a", "doi:10.1016/j.x", "6489122611071476 1..10".
_NAME_OF_A_FILE = re.compile(
    r"(?:doi:?\s*\S*|https?:\S+|\S*\d\S*|\S*_\S*|[\d\W_]+|\S*\d{3}\S*\s+\d+\.\.\d+)\Z", re.IGNORECASE
)
_LETTERS = re.compile(r"[^\W\d_]")


def title_of(told: str, first: Sequence[Line], body: float) -> str | None:
    """Return the title of a document that tells one, has these lines on its first page, and letters of this size."""
    told = squeeze(told)
    without_program = _PROGRAM.sub("", told)
    if told and without_program == told and not _is_made_up(told, first):
        return told[:_LONGEST]
    largest = _largest(first, body)
    if largest is not None:
        return largest
    return None if not without_program or _NO_TITLE.match(without_program) else without_program[:_LONGEST]


def _is_made_up(told: str, first: Sequence[Line]) -> bool:
    """Tell whether a title is not that of the document; a template's may be, where the page shows it."""
    if _NO_TITLE.match(told) or _NAME_OF_A_FILE.match(told):
        return True
    if _TEMPLATE.search(told) is None:
        return False
    return _plain(told) not in _plain(" ".join(line.text for line in first))


def _plain(text: str) -> str:
    """Return the letters of a text."""
    return "".join(_LETTERS.findall(text)).casefold()


def _largest(lines: Sequence[Line], body: float) -> str | None:
    """Return the largest text of a page: of several words before a single one, which may be that of a journal."""
    single = None
    for size in sorted({round(line.size) for line in lines if line.size >= body * _LARGEST}, reverse=True):
        found = _together(lines, size)
        text = squeeze(join_lines([line.text for line in found])).replace(" | ", " ")
        if len(_LETTERS.findall(text)) < 4 or len(found) > _MOST_LINES or len(text) > 300:
            continue
        if len(text.split()) >= 3:
            return text
        single = single or text
    return single


def _together(lines: Sequence[Line], size: int) -> list[Line]:
    """Return the first lines of one size that follow each other."""
    found: list[Line] = []
    for line in lines:
        if abs(line.size - size) <= 0.6:
            found.append(line)
        elif found:
            break
    return found
