"""Plain text to blocks: paragraphs made whole again from hard-wrapped lines, headings by their look."""

import re
from itertools import pairwise

from services.extractor.reading.blocks import Block, assemble, squeeze
from services.extractor.reading.charset import decode
from services.extractor.reading.lines import ends_sentence, is_capitals, join_lines, starts_item
from services.extractor.reading.mime import PLAIN
from services.extractor.reading.result import Reading
from shared.domain.text import clean

_UNDERLINE = re.compile(r"\s*(=|-|~|\*|#)\1{2,}\s*\Z")
_NUMBERED = re.compile(r"\d{1,2}(?:\.\d{1,2})*\.?\s+\S.{,54}\w")
_LETTER = re.compile(r"[^\W\d_]")
_COLUMNS = re.compile(r"\S(?:\t|\s{3,})\S")
_CODE = re.compile(r"[{};]\s*\Z|\A\s*(?:#include|def |class |import |return |function |</?\w+>)")
_MAX_HEADING = 100
_MIN_WRAP = 45
_MAX_WRAP = 130


def read(data: bytes, content_type: str | None) -> Reading:
    """Read plain text of any encoding."""
    decoded = decode(data, content_type, markup=False)
    made = assemble(blocks_of(decoded.text))
    title = made.headings[0].text if made.headings and made.headings[0].start == 0 else None
    return Reading(
        status="ok" if made.text else "empty",
        reason=None if made.text else "The file holds no text.",
        mime=PLAIN,
        reader="plain",
        encoding=decoded.encoding,
        encoding_source=decoded.source,
        title=title,
        text=made.text,
        headings=made.headings,
        truncated=made.truncated,
    )


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of plain text, whose paragraphs are parted by empty lines."""
    blocks: list[Block] = []
    paragraph: list[str] = []
    for line in [*clean(text).split("\n"), ""]:
        if line.strip():
            paragraph.append(line.expandtabs(4).rstrip())
        elif paragraph:
            blocks += _paragraph_blocks(paragraph)
            paragraph = []
    return blocks


def _paragraph_blocks(lines: list[str]) -> list[Block]:
    """Return the blocks of the lines between two empty ones."""
    heading = _heading(lines)
    if heading is not None:
        level, taken = heading
        rest = lines[taken:]
        return [Block("heading", squeeze(lines[0]), level), *(_paragraph_blocks(rest) if rest else [])]
    lines = [line for line in lines if not _UNDERLINE.match(line)]
    if not _is_wrapped(lines):
        return [_unwrapped(line, alone=len(lines) == 1, opens=number == 0) for number, line in enumerate(lines)]
    groups = [squeeze(join_lines([line.strip() for line in group])) for group in _items(lines)]
    return [
        Block("item" if starts_item(text) else "paragraph", text, opens=number == 0)
        for number, text in enumerate(groups)
    ]


def _unwrapped(line: str, *, alone: bool, opens: bool) -> Block:
    """Return the block of one line that stays a line; lines of code and of columns keep their spaces."""
    if starts_item(line.strip()):
        return Block("item", squeeze(line), opens=opens)
    return Block("paragraph", squeeze(line)) if alone else Block("line", line, opens=opens)


def _heading(lines: list[str]) -> tuple[int, int] | None:
    """Return level and number of lines taken where the first line is a heading: underlined, in capitals, numbered."""
    first = lines[0].strip()
    if len(first) > _MAX_HEADING or not _LETTER.search(first):
        return None
    mark = _UNDERLINE.match(lines[1]) if len(lines) > 1 else None
    if mark and abs(len(lines[1].strip()) - len(first)) <= 4:
        return (1 if mark.group(1) in "=*#" else 2), 2
    if len(lines) > 1 or ends_sentence(first):
        return None
    return (2, 1) if is_capitals(first) or _NUMBERED.fullmatch(first) else None


def _is_wrapped(lines: list[str]) -> bool:
    """Tell whether lines were broken at a margin, rather than where their author wanted them to end.

    The sign of a margin: the first word of the next line would not have fitted.
    """
    longest = max(map(len, lines), default=0)
    if not _MIN_WRAP <= longest <= _MAX_WRAP or _is_code_or_columns(lines):
        return False
    inner = [(line, after) for line, after in pairwise(lines) if not starts_item(after.strip())]
    fitting = sum(1 for line, after in inner if len(line) + 1 + len(after.split()[0]) <= longest - 2)
    return len(lines) > 1 and fitting * 5 <= len(inner)


def _is_code_or_columns(lines: list[str]) -> bool:
    """Tell whether the spaces or the marks of lines mean something."""
    if any(_COLUMNS.search(line.strip()) for line in lines):
        return True
    return sum(1 for line in lines if _CODE.search(line)) * 3 >= len(lines)


def _items(lines: list[str]) -> list[list[str]]:
    """Group wrapped lines by the list item they belong to."""
    groups: list[list[str]] = []
    for line in lines:
        if not groups or starts_item(line.strip()):
            groups.append([line])
        else:
            groups[-1].append(line)
    return groups
