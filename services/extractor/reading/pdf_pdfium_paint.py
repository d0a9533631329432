"""Which letters of a page PDFium paints so that they are seen: with `pdf_pdfium` the only one that imports it."""

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pypdfium2 import raw

from services.extractor.reading.painted import PALE, Box, Picture, covered

_View = Callable[[float, float], tuple[float, float]]
_Object = tuple[int, Any]  # its place in the order of painting, and its handle
_pdfium: Any = raw  # the library is not typed
_MOST_OBJECTS = 20_000
_MOST_COVERS = 200
_MOST_PIXELS = 2_000_000
_DEEPEST = 4  # forms in forms
_TRANSPARENT = 12  # of 255
_FILLS = frozenset((raw.FPDF_TEXTRENDERMODE_FILL, raw.FPDF_TEXTRENDERMODE_FILL_STROKE))
_STROKES = frozenset((raw.FPDF_TEXTRENDERMODE_STROKE, raw.FPDF_TEXTRENDERMODE_FILL_STROKE))
_CLIPS = frozenset(range(raw.FPDF_TEXTRENDERMODE_FILL_CLIP, raw.FPDF_TEXTRENDERMODE_CLIP + 1))


@dataclass(slots=True)
class Paint:
    """What is told of the text objects of a page by their addresses, and of what is painted after them.

    `hidden` ones are not painted; `doubtful` ones may not be seen: pale, clipped, or covered.
    """

    hidden: set[int] = field(default_factory=set)
    doubtful: set[int] = field(default_factory=set)
    pictures: float = 0.0

    def is_plain(self) -> bool:
        """Tell whether every letter is seen."""
        return not self.hidden and not self.doubtful


def paint_of(page: Any, view: _View, area: float) -> Paint:
    """Look through the objects of a page; `view` turns their points into places on the page as it is shown."""
    paint = Paint()
    texts: list[_Object] = []
    covers: list[_Object] = []
    for number, (kind, made) in enumerate(_objects(page.raw)):
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            texts.append((number, made))
            _sort(made, paint)
        elif kind == raw.FPDF_PAGEOBJ_IMAGE or kind == raw.FPDF_PAGEOBJ_SHADING or _is_filled(made):
            covers.append((number, made))
            if kind == raw.FPDF_PAGEOBJ_IMAGE and area > 0:
                x0, y0, x1, y1 = _box(made, view)
                paint.pictures = min(1.0, paint.pictures + (x1 - x0) * (y1 - y0) / area)
    if texts and covers and covers[-1][0] > texts[0][0]:
        paint.doubtful.update(_covered(texts, covers, view))
    return paint


def _covered(texts: list[_Object], covers: list[_Object], view: _View) -> Iterator[int]:
    """Yield the addresses of texts that something painted after them covers."""
    after = [(number, _box(made, view)) for number, made in covers if number > texts[0][0]][-_MOST_COVERS:]
    for number, made in texts:
        box = _box(made, view)
        if covered(box, [(number, box)], after):
            yield _address(made)


def picture_of(page: Any) -> Picture:
    """Return how a page looks."""
    scale = min(1.0, (_MOST_PIXELS / max(1.0, page.get_width() * page.get_height())) ** 0.5)
    made = page.render(scale=scale, grayscale=True)
    return Picture(bytes(made.buffer), made.stride, made.width, made.height, scale)


def _objects(page: Any) -> Iterator[tuple[int, Any]]:
    """Yield the kind and the handle of the objects of a page in the order of painting, forms opened."""
    left = [_MOST_OBJECTS]

    def inside(count: int, get: Callable[[int], Any], depth: int) -> Iterator[tuple[int, Any]]:
        for number in range(count):
            if left[0] <= 0:
                return
            left[0] -= 1
            made = get(number)
            kind = _pdfium.FPDFPageObj_GetType(made)
            if kind == raw.FPDF_PAGEOBJ_FORM and depth < _DEEPEST:
                total = _pdfium.FPDFFormObj_CountObjects(made)
                yield from inside(total, partial(_pdfium.FPDFFormObj_GetObject, made), depth + 1)
            else:
                yield kind, made

    yield from inside(_pdfium.FPDFPage_CountObjects(page), partial(_pdfium.FPDFPage_GetObject, page), 0)


def _sort(text: Any, paint: Paint) -> None:
    """Note a text object that is not painted, or may not be seen."""
    mode = _pdfium.FPDFTextObj_GetTextRenderMode(text)
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if mode == raw.FPDF_TEXTRENDERMODE_INVISIBLE:
        paint.hidden.add(_address(text))
    elif mode in _CLIPS:
        paint.doubtful.add(_address(text))
    elif mode in _FILLS and _pdfium.FPDFPageObj_GetFillColor(text, red, green, blue, alpha):
        if alpha.value <= _TRANSPARENT and mode not in _STROKES:
            paint.hidden.add(_address(text))
        elif min(red.value, green.value, blue.value) >= PALE:
            paint.doubtful.add(_address(text))


def _is_filled(made: Any) -> bool:
    """Tell whether an object is a shape that is filled."""
    mode, stroke = ctypes.c_int(), ctypes.c_int()
    return bool(_pdfium.FPDFPath_GetDrawMode(made, mode, stroke)) and mode.value != raw.FPDF_FILLMODE_NONE


def _box(made: Any, view: _View) -> Box:
    """Return the box of an object as it is shown."""
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    _pdfium.FPDFPageObj_GetBounds(made, left, bottom, right, top)
    ax, ay = view(left.value, bottom.value)
    bx, by = view(right.value, top.value)
    return min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)


def _address(made: Any) -> int:
    """Return what tells an object from others."""
    return ctypes.cast(made, ctypes.c_void_p).value or 0


def address_of_character(text: Any, index: int) -> int:
    """Return what tells the object of a character from others; 0 for one that the library made up."""
    return _address(_pdfium.FPDFText_GetTextObject(text, index))
