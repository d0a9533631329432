"""PDFs with PDFium (BSD-3-Clause) through pypdfium2 (Apache-2.0 or BSD-3-Clause). Only this module imports it."""

import ctypes
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import hypot, pi
from typing import Any

import pypdfium2
from pypdfium2 import raw

from services.extractor.reading.blocks import squeeze
from services.extractor.reading.layout import Line
from services.extractor.reading.pdf_port import PdfInfo, PdfPage, is_for_certificates, stacked, unpacks_too_far
from services.extractor.reading.result import Unreadable

_FAILURES = (pypdfium2.PdfiumError, ValueError, LookupError, TypeError, AttributeError, OSError)
_pdfium: Any = raw  # the library is not typed
_document: Any = pypdfium2.PdfDocument
_BOLD_WEIGHT = 600
_BOLD_FLAG = 1 << 18  # of a font descriptor (ISO 32000-1, table 123)
_HYPHENS = frozenset((0x02, 0xFFFE))  # what stands for a hyphen at the end of a line
_LEVEL = pi / 8  # lines that rise or fall less than this are level
_NAME_BYTES = 200
_STREAM = re.compile(rb"<<((?:[^<>]|<[^<]|<<[^<>]*>>|>[^>])*)>>\s*stream\r?\n")
_NOT_CONTENT = re.compile(rb"/(?:Image|ObjStm|XRef|Length1|Length2|Subtype\s*/(?:Type1C|CIDFontType0C|OpenType|XML))\b")
_REPAIRED = re.compile(rb"startxref\s+\d+\s+%%EOF")


def open_pdf(data: bytes) -> "Pdfium":
    """Open a PDF; raise `Unreadable` for one that is locked, a bomb, or cannot be opened."""
    if unpacks_too_far(_content_streams(data)):
        raise Unreadable("too_large", "The content of a page unpacks to more than 64 MB.")
    try:
        document = _document(data)
    except pypdfium2.PdfiumError as error:
        code = getattr(error, "err_code", None)
        if code == raw.FPDF_ERR_PASSWORD:
            raise Unreadable("encrypted", "The PDF asks for a password.") from None
        if code == raw.FPDF_ERR_SECURITY or is_for_certificates(data):
            raise Unreadable("encrypted", "The PDF is encrypted in a way that no password opens.") from None
        raise Unreadable("broken", "The PDF cannot be opened, not even after repair.") from None
    except _FAILURES:
        raise Unreadable("broken", "The PDF cannot be opened, not even after repair.") from None
    return Pdfium(document, is_damaged=_REPAIRED.search(data, max(0, len(data) - 2048)) is None)


def _content_streams(data: bytes) -> Iterator[bytes]:
    """Yield the streams of a file that can be drawing instructions, packed as they are."""
    for match in _STREAM.finditer(data):
        if b"FlateDecode" in match[1] and not _NOT_CONTENT.search(match[1]):
            end = data.find(b"endstream", match.end())
            yield data[match.end() : end if end >= 0 else len(data)]


class Pdfium:
    """See `services.extractor.reading.pdf_port.PdfDocument`."""

    def __init__(self, document: Any, *, is_damaged: bool) -> None:
        self._document = document
        self._is_damaged = is_damaged
        self.page_count = len(document)

    def page(self, number: int) -> PdfPage | None:
        """Read one page."""
        try:
            page = self._document[number]
            text = page.get_textpage()
            try:
                return PdfPage(tuple(_lines(_View(page), text.raw)), float(page.get_height()))
            finally:
                text.close()
                page.close()
        except _FAILURES:
            return None

    def is_damaged(self) -> bool:
        """Tell whether the file does not end as it should."""
        return self._is_damaged

    def has_pictures(self, pages: int) -> bool:
        """Tell whether one of the first pages holds a picture."""
        if self._is_damaged:
            return False
        try:
            wanted = (self._document[number] for number in range(min(self.page_count, pages)))
            return any(True for page in wanted for _ in page.get_objects([raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))
        except _FAILURES:
            return False

    def info(self) -> PdfInfo:
        """Return what the file says about itself."""
        try:
            said = self._document.get_metadata_dict()
        except _FAILURES:
            return PdfInfo()
        title, author, created, modified = (said.get(k) or "" for k in ("Title", "Author", "CreationDate", "ModDate"))
        return PdfInfo(title, author, created, modified, self._language())

    def close(self) -> None:
        """Free what the file holds."""
        self._document.close()

    def _language(self) -> str:
        """Return the language that the catalogue declares."""
        ask = getattr(_pdfium, "FPDFCatalog_GetLanguage", None)
        if ask is None:
            return ""
        buffer = (ctypes.c_ushort * _NAME_BYTES)()
        size = ask(self._document.raw, buffer, _NAME_BYTES)  # in bytes, the closing zero included
        return bytes(buffer)[: size - 2].decode("utf-16-le", "replace") if 2 < size <= 2 * _NAME_BYTES else ""


class _View:
    """A page as it is shown: turns its own coordinates (y upwards) into those of the reader (y downwards)."""

    def __init__(self, page: Any) -> None:
        self._left, self._bottom, self._right, self._top = page.get_bbox()
        self.turn = int(page.get_rotation()) % 360

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point of the page is shown."""
        if self.turn == 90:
            return y - self._bottom, x - self._left
        if self.turn == 180:
            return self._right - x, y - self._bottom
        if self.turn == 270:
            return self._top - y, self._right - x
        return x - self._left, self._top - y

    def shows(self, x: float, y: float) -> bool:
        """Tell whether a point of the page is on what is shown of it."""
        return bool(self._left <= x <= self._right and self._bottom <= y <= self._top)


@dataclass(frozen=True, slots=True)
class _Character:
    """A character as it is shown: its box, where it stands on its base line, and whether it opens a word."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    base: float
    index: int


@dataclass(slots=True)
class _Piece:
    """Characters that follow each other on one line."""

    characters: list[_Character] = field(default_factory=list)
    size: float = 0.0


def _lines(view: _View, text: Any) -> list[Line]:
    """Return the lines of a page; those set upright or upside down come last, in their own order."""
    level: list[Line] = []
    turned: list[Line] = []
    for piece in _pieces(view, text):
        line = _line(piece, text)
        if line is not None:
            angle = _pdfium.FPDFText_GetCharAngle(text, piece.characters[0].index) - view.turn * pi / 180
            is_level = abs((angle + pi) % (2 * pi) - pi) < _LEVEL
            (level if is_level else turned).append(line)
    return [*level, *stacked(turned, level)]


def _pieces(view: _View, text: Any) -> Iterator[_Piece]:
    """Yield the pieces of lines: a line ends where the text does, and where the next character stands elsewhere."""
    piece = _Piece()
    for character in _characters(view, text):
        if piece.characters and (character.text == "\n" or _is_elsewhere(piece, character)):
            yield piece
            piece = _Piece()
        if character.text == "\n" or (character.text == " " and not piece.characters):
            continue
        if not piece.characters:
            piece.size = _size(text, character.index)
        piece.characters.append(character)
    if piece.characters:
        yield piece


def _is_elsewhere(piece: _Piece, character: _Character) -> bool:
    """Tell whether a character stands on another line or far to the side, as in the next column of a table."""
    last = next((c for c in reversed(piece.characters) if c.text != " "), piece.characters[-1])
    if character.text == " " or _is_upright(last) or _is_upright(character):
        return False
    size = max(piece.size, 1.0)
    if abs(character.base - last.base) > 0.6 * size:
        return True
    to_the_right, to_the_left = character.x0 - last.x1, last.x0 - character.x1  # as Arabic and Hebrew are written
    return not (-2 * size < to_the_right < 0.9 * size or -0.5 * size < to_the_left < 0.9 * size)


def _is_upright(character: _Character) -> bool:
    """Tell whether a box is that of a character without a width or height, which says nothing of its place."""
    return character.x1 <= character.x0 and character.y1 <= character.y0


def _characters(view: _View, text: Any) -> Iterator[_Character]:
    """Yield what is shown of a page, in the order of the file; "\\n" where the library sees a line end."""
    box = raw.FS_RECTF()
    x, y = ctypes.c_double(), ctypes.c_double()
    for index in range(_pdfium.FPDFText_CountChars(text)):
        code = _pdfium.FPDFText_GetUnicode(text, index)
        if code in (0x0A, 0x0D):
            yield _Character("\n", 0, 0, 0, 0, 0, index)
            continue
        letter = "-" if code in _HYPHENS else chr(code) if 0 < code < 0x110000 else "\ufffd"
        if not _pdfium.FPDFText_GetLooseCharBox(text, index, box):
            continue
        _pdfium.FPDFText_GetCharOrigin(text, index, x, y)
        if not view.shows((box.left + box.right) / 2, (box.bottom + box.top) / 2):
            continue
        ax, ay = view.point(box.left, box.bottom)
        bx, by = view.point(box.right, box.top)
        base = view.point(x.value, y.value)[1]
        yield _Character(letter, min(ax, bx), min(ay, by), max(ax, bx), max(ay, by), base, index)


def _line(piece: _Piece, text: Any) -> Line | None:
    """Return a piece as a line: its words, its box, and the size that most of its letters have."""
    words = squeeze("".join(character.text for character in piece.characters))
    shown = [character for character in piece.characters if not character.text.isspace()]
    size, is_bold = _type(piece.characters, text)
    if not words or size < 1:
        return None
    bases = Counter(round(character.base, 1) for character in shown)
    return Line(
        words,
        min(character.x0 for character in shown),
        min(character.y0 for character in shown),
        max(character.x1 for character in shown),
        max(character.y1 for character in shown),
        bases.most_common(1)[0][0],
        size,
        is_bold,
    )


def _type(characters: list[_Character], text: Any) -> tuple[float, bool]:
    """Return the letter size of most letters, and whether all are bold; each word is set as its first letter is."""
    sizes: Counter[float] = Counter()
    size, is_bold, opens = 0.0, True, True
    for character in characters:
        if character.text.isspace():
            opens = True
            continue
        if opens:
            size = round(_size(text, character.index), 1)
            is_bold = is_bold and _is_bold(text, character.index)
            opens = False
        sizes[size] += 1
    return max(sizes, key=lambda one: sizes[one], default=0.0), is_bold


def _size(text: Any, index: int) -> float:
    """Return the letter size in points as it is shown."""
    size = abs(float(_pdfium.FPDFText_GetFontSize(text, index)))  # a negative one mirrors the letters
    matrix = raw.FS_MATRIX()
    if _pdfium.FPDFText_GetMatrix(text, index, matrix):
        size *= hypot(matrix.c, matrix.d) or 1.0
    return size


def _is_bold(text: Any, index: int) -> bool:
    """Tell whether a character is set in a bold font."""
    if _pdfium.FPDFText_GetFontWeight(text, index) >= _BOLD_WEIGHT:
        return True
    name, flags = ctypes.create_string_buffer(_NAME_BYTES), ctypes.c_int()
    _pdfium.FPDFText_GetFontInfo(text, index, name, _NAME_BYTES, flags)
    return bool(flags.value & _BOLD_FLAG) or b"bold" in name.value.lower()
