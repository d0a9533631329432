"""The document that rich text becomes while it is read: paragraphs, rows of tables, notes, what it says of itself."""

from dataclasses import dataclass, field

from lxml.etree import Element, SubElement, _Element

from services.extractor.reading.blocks import squeeze
from services.extractor.reading.raised import settle
from shared.domain.text import clean

_MAX_COLUMNS = 200
_WHITE = 250


@dataclass(slots=True)
class Layout:
    """What is known of the paragraph that is being read."""

    level: int = 0
    in_table: bool = False


@dataclass(slots=True)
class Page:
    """The document as far as it has been read; `words` are those of the paragraph, or of a title or a note."""

    tree: _Element = field(default_factory=lambda: Element("body"))
    words: dict[str, list[str]] = field(default_factory=lambda: {"text": []})
    layout: Layout = field(default_factory=Layout)
    colors: list[list[int]] = field(default_factory=lambda: [[]])
    notes: list[str] = field(default_factory=list)
    _cells: list[str] = field(default_factory=list)
    _table: _Element | None = None

    def write(self, into: str, text: str) -> None:
        """Add text to the words of a destination."""
        self.words.setdefault(into, []).append(text)

    def is_white(self, color: int) -> bool:
        """Tell whether a color of the document's table is that of paper."""
        parts = self.colors[color] if 0 < color < len(self.colors) else ()
        return len(parts) == 3 and min(parts) >= _WHITE

    def end_note(self) -> None:
        """Keep the words of a note for the end of the document."""
        note = squeeze(settle("".join(self.words.pop("footnote", ()))))
        if note:
            self.notes.append(note)

    def end_paragraph(self) -> None:
        """Add the paragraph to the tree, or to the cell that it stands in."""
        if self.layout.in_table:
            self.words["text"].append(" ")
            return
        text = self._taken()
        if not squeeze(text):
            return
        self._table = None
        first, *others = text.split("\n")
        made = SubElement(self.tree, f"h{self.layout.level}" if self.layout.level else "p")
        made.text = first
        for line in others:
            SubElement(made, "br").tail = line

    def end_cell(self) -> None:
        """Keep the words of a cell."""
        self._cells.append(squeeze(self._taken()))

    def end_row(self) -> None:
        """Add a row of cells to the table that is being read."""
        if any(self._cells):
            self._table = SubElement(self.tree, "table") if self._table is None else self._table
            row = SubElement(self._table, "tr")
            for cell in self._cells[:_MAX_COLUMNS]:
                SubElement(row, "td").text = cell
        self._cells = []

    def end(self) -> None:
        """Add what is left, and the notes below the text."""
        self.layout.in_table = False
        self.end_row()
        self.end_paragraph()
        for note in self.notes:
            SubElement(self.tree, "li").text = note

    def _taken(self) -> str:
        """Return the words of the paragraph so far, and forget them."""
        words, self.words["text"] = clean(settle("".join(self.words["text"]))), []
        return words
