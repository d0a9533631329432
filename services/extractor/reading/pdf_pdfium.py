"""PDFs with PDFium (BSD-3-Clause) through pypdfium2 (Apache-2.0 or BSD-3-Clause). Only this module imports it."""

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import hypot, pi
from typing import Any

import pypdfium2
from pypdfium2 import raw

from services.extractor.reading.painted import Picture, once
from services.extractor.reading.pdf_effort import MAX_CONTENT, Effort, FileForms, unpacks_too_far
from services.extractor.reading.pdf_pdfium_paint import Paint, address_of_character, paint_of, picture_of
from services.extractor.reading.pdf_port import PdfInfo, PdfPage, is_for_certificates
from services.extractor.reading.result import Unreadable
from services.extractor.reading.runs import Row, Run, lines_of

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
    forms = FileForms(data)
    effort = Effort(forms)
    if any(effort.of(number) > MAX_CONTENT for number in forms.numbers()):
        raise Unreadable("too_large", "A form of the PDF draws others so often that it comes to more than 64 MB.")
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
                return _read(page, text.raw)
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
    """A character as it is shown: its box, the height and the place on the base line of its origin, its number."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    base: float
    along: float
    index: int


@dataclass(slots=True)
class _Piece:
    """Characters that follow each other on one line."""

    characters: list[_Character] = field(default_factory=list)
    size: float = 0.0


def _read(page: Any, text: Any) -> PdfPage:
    """Read a page: its text once, without what it does not show."""
    view = _View(page)
    width, height = float(page.get_width()), float(page.get_height())
    paint = paint_of(page, view.point, width * height)
    is_seen = None if paint.is_plain() else _Seen(page, text, paint)
    return PdfPage(tuple(once(lines_of(_rows(view, text, is_seen), width, height))), height, paint.pictures)


class _Seen:
    """Tells of characters whether the page shows them; doubtful ones are looked for on a picture of the page."""

    def __init__(self, page: Any, text: Any, paint: Paint) -> None:
        self._page, self._text, self._paint = page, text, paint
        self._picture: Picture | None = None

    def is_painted(self, characters: Sequence["_Character"]) -> bool:
        """Tell it of characters of one object."""
        address = next((found for c in characters if (found := self.address(c))), 0)
        if address in self._paint.hidden:
            return False
        if address not in self._paint.doubtful:
            return True
        self._picture = self._picture or picture_of(self._page)
        boxes = ((c.x0, c.y0, c.x1, c.y1) for c in characters if not c.text.isspace())
        x0, y0, x1, y1 = zip(*boxes, strict=True)
        return self._picture.shows((min(x0), min(y0), max(x1), max(y1)))

    def address(self, character: "_Character") -> int:
        """Return what tells the object of a character from others."""
        return address_of_character(self._text, character.index)


def _rows(view: _View, text: Any, seen: _Seen | None) -> list[Row]:
    """Return the rows of a page."""
    rows = ((piece, Row(tuple(_runs(piece, text, seen)), _turn(view, piece, text))) for piece in _pieces(view, text))
    return [_standing(row, piece) if (row.turn or 0) % 2 else row for piece, row in rows if row.runs]


def _turn(view: _View, piece: _Piece, text: Any) -> int | None:
    """Return by how many quarters a piece is turned clockwise; None where it is set aslant."""
    angle = _pdfium.FPDFText_GetCharAngle(text, piece.characters[0].index) + view.turn * pi / 180
    quarters = round(angle / (pi / 2))
    return quarters % 4 if abs(angle - quarters * pi / 2) < _LEVEL else None


def _standing(row: Row, piece: _Piece) -> Row:
    """Return a row that goes up or down the page, with the places of its base lines from left to right."""
    usual = Counter(round(character.along, 1) for character in piece.characters).most_common(1)[0][0]
    return replace(row, runs=tuple(run._replace(base=usual) for run in row.runs))


def _runs(piece: _Piece, text: Any, seen: _Seen | None) -> Iterator[Run]:
    """Yield the runs of a piece: another one begins where letters stand higher or lower, or are painted otherwise."""
    for _, group in groupby(_with_spaces(piece.characters, seen), key=lambda pair: pair[1]):
        characters = [character for character, _ in group]
        shown = [character for character in characters if not character.text.isspace()]
        if not shown:
            continue
        size, is_bold = _type(characters, text)
        yield Run(
            "".join(character.text for character in characters),
            min(character.x0 for character in shown),
            min(character.y0 for character in shown),
            max(character.x1 for character in shown),
            max(character.y1 for character in shown),
            Counter(round(character.base, 1) for character in shown).most_common(1)[0][0],
            size,
            bold=is_bold,
            painted=seen is None or seen.is_painted(shown),
        )


def _with_spaces(characters: list[_Character], seen: _Seen | None) -> Iterator[tuple[_Character, tuple[float, int]]]:
    """Yield characters with their base line to a point and their object; a space has those of the letter before it."""
    base, address = characters[0].base, 0
    for character in characters:
        if not character.text.isspace():
            if abs(character.base - base) > 0.5:
                base = character.base
            address = (seen.address(character) or address) if seen else 0
        yield character, (base, address)


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
            yield _Character("\n", 0, 0, 0, 0, 0, 0, index)
            continue
        letter = "-" if code in _HYPHENS else chr(code) if 0 < code < 0x110000 else "\ufffd"
        if not _pdfium.FPDFText_GetLooseCharBox(text, index, box):
            continue
        _pdfium.FPDFText_GetCharOrigin(text, index, x, y)
        if not view.shows((box.left + box.right) / 2, (box.bottom + box.top) / 2):
            continue
        ax, ay = view.point(box.left, box.bottom)
        bx, by = view.point(box.right, box.top)
        along, base = view.point(x.value, y.value)
        yield _Character(letter, min(ax, bx), min(ay, by), max(ax, bx), max(ay, by), base, along, index)


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
