"""A tree of HTML (or of trafilatura's main content) to blocks, without recursion."""

from lxml.etree import _Element, iterwalk

from services.extractor.reading import plain
from services.extractor.reading.blocks import Block, Kind, squeeze
from services.extractor.reading.lines import continues, glue
from services.extractor.reading.markup import (
    BREAKS,
    INLINE,
    ITEMS,
    LINE_BREAK,
    SKIPPED,
    TABLES,
    heading_level,
    inline_text,
    tag_of,
)
from services.extractor.reading.tables import rows

_MAX_TERM = 100
_PRESERVED = frozenset(("pre", "listing", "xmp", "plaintext"))


def blocks_of(root: _Element) -> list[Block]:
    """Return the blocks of a tree in document order."""
    return _Serializer().run(root)


class _Serializer:
    """Walks a tree once and collects its text; block elements end what was collected before."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._buffer: list[str] = []
        self._item = False  # the next text opens a list item
        self._term = ""  # the <dt> that the next <dd> explains

    def run(self, root: _Element) -> list[Block]:
        """Walk the tree under `root`."""
        walk = iterwalk(root, events=("start", "end"))
        for event, node in walk:
            tag = tag_of(node)
            if event == "start":
                if node is not root and self._whole(node, tag):
                    walk.skip_subtree()
                    continue
                self._open(node, tag)
            else:
                self._close(node, tag, node is root)
        self._flush()
        self._add("paragraph", "")  # a last <dt> without a <dd>
        return self._blocks

    def _open(self, node: _Element, tag: str) -> None:
        """Begin an element."""
        if tag in BREAKS:
            self._buffer.append(LINE_BREAK)
        elif tag not in INLINE:
            self._flush()
            if tag in ITEMS:
                self._item = True
        self._buffer.append(node.text or "")

    def _close(self, node: _Element, tag: str, is_root: bool) -> None:
        """End an element and take the text after it."""
        if tag not in INLINE and tag not in BREAKS and tag not in SKIPPED:
            self._flush(term=tag == "dt" or (node.get("rend") or "").startswith("dt"))
            if tag in ITEMS:
                self._item = False
        if not is_root:
            self._buffer.append(node.tail or "")

    def _whole(self, node: _Element, tag: str) -> bool:
        """Take an element that is read as a whole, or not at all; its tail is left to `_close`."""
        level = heading_level(node)
        if level:
            self._flush()
            self._add("heading", inline_text(node), level)
        elif tag in SKIPPED:
            return True
        elif tag in _PRESERVED or (tag == "code" and "\n" in (node.text or "").strip()):
            self._flush()
            self._blocks += plain.blocks_of("".join(_preserved_text(node)))
        elif tag in TABLES:
            lines = rows(node)
            if lines is None:
                return False
            self._flush()
            self._caption(node)
            for number, line in enumerate(lines):
                self._add("row", line, opens=number == 0)
        else:
            return False
        return True

    def _caption(self, table: _Element) -> None:
        """Put a table's caption before its rows."""
        for child in table:
            if tag_of(child) == "caption":
                self._add("paragraph", inline_text(child))

    def _flush(self, *, term: bool = False) -> None:
        """End the text collected so far: one block, or several where line breaks stand in it."""
        raw, self._buffer = "".join(self._buffer), []
        if not raw or raw.isspace():
            return
        for number, paragraph in enumerate(_paragraphs(raw)):
            for position, line in enumerate(paragraph):
                if term and len(line) <= _MAX_TERM:
                    self._term = f"{self._term}, {line}" if self._term else line
                elif self._item and number == position == 0:
                    self._add_item(line)
                else:
                    self._add("paragraph" if len(paragraph) == 1 else "line", line, opens=position == 0)

    def _add_item(self, line: str) -> None:
        """Add the first line of a list item, after the term that it explains."""
        self._item = False
        if self._term:
            line, self._term = f"{self._term.rstrip(':')}: {line}", ""
        self._add("item", line if line.startswith(("- ", "• ")) else f"- {line}")

    def _add(self, kind: Kind, text: str, level: int = 0, *, opens: bool = False) -> None:
        """Add a block, unless it repeats the heading just before it."""
        if self._term:
            pending, self._term = self._term, ""
            self._blocks.append(Block("item", f"- {pending}"))
        if not text:
            return
        last = self._blocks[-1] if self._blocks else None
        if last is not None and last.kind == kind == "heading" and last.text == text:
            return
        self._blocks.append(Block(kind, text, level, opens))


def _paragraphs(raw: str) -> list[list[str]]:
    """Split at line breaks: two in a row part paragraphs, a single one parts lines unless the sentence goes on."""
    paragraphs: list[list[str]] = [[]]
    for piece in raw.split(LINE_BREAK):
        line = squeeze(piece)
        if not line:
            if paragraphs[-1]:
                paragraphs.append([])
        elif paragraphs[-1] and continues(paragraphs[-1][-1], line):
            before, between = glue(paragraphs[-1][-1], line)
            paragraphs[-1][-1] = before + between + line
        else:
            paragraphs[-1].append(line)
    return [paragraph for paragraph in paragraphs if paragraph]


def _preserved_text(node: _Element) -> list[str]:
    """Return the text of a preformatted element, line breaks included."""
    parts: list[str] = []
    for event, child in iterwalk(node, events=("start", "end")):
        if event == "start":
            parts.append("\n" if tag_of(child) in BREAKS else child.text or "")
        elif child is not node:
            parts.append(child.tail or "")
    return parts
