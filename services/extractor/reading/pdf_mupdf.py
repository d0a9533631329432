"""PDFs with PyMuPDF, which is under the AGPL or a commercial licence. Only this module imports it."""

import re
from collections import defaultdict
from typing import Any

import pymupdf
from pymupdf import mupdf

from services.extractor.reading.painted import PALE, Picture, covered, once
from services.extractor.reading.pdf_port import PdfInfo, PdfPage, is_for_certificates, unpacks_too_far
from services.extractor.reading.result import Unreadable
from services.extractor.reading.runs import Row, Run, lines_of

_FAILURES = (RuntimeError, ValueError, LookupError, TypeError, AttributeError, mupdf.FzErrorBase)
_FLAGS = pymupdf.TEXT_MEDIABOX_CLIP  # and none that keeps ligatures, odd spaces or pictures
_open: Any = pymupdf.open  # the library is not typed
_tools: Any = pymupdf.TOOLS
_BOLD = pymupdf.TEXT_FONT_BOLD
_PAINTED = mupdf.FZ_STEXT_FILLED | mupdf.FZ_STEXT_STROKED
_TRANSPARENT = 12  # of 255
_LEVEL = 0.9
_FILLS = re.compile(rb"(?<![^\s\]>])(?:f\*?|F|[Bb]\*?|sh|Do|EI)(?!\S)")
_PICTURES = frozenset(("fill-image", "fill-imgmask"))
_COVERS = _PICTURES | {"fill-path", "fill-shade"}
_MOST_LOOKED_THROUGH = 500_000  # bytes of drawing instructions
_MOST_COVERS = 200
_MOST_PIXELS = 2_000_000
_LITTLE = 200  # letters of a page that may be a picture


def open_pdf(data: bytes) -> "MuPdf":
    """Open a PDF; raise `Unreadable` for one that is locked or cannot be opened."""
    _tools.mupdf_display_errors(False)
    _tools.mupdf_display_warnings(False)
    _tools.reset_mupdf_warnings()
    try:
        document: Any = _open(stream=data, filetype="pdf")
        locked, pages = bool(document.needs_pass), int(document.page_count)
    except _FAILURES:
        if is_for_certificates(data):
            raise Unreadable("encrypted", "The PDF is encrypted for the holders of certain certificates.") from None
        raise Unreadable("broken", "The PDF cannot be opened, not even after repair.") from None
    if locked:
        document.close()
        raise Unreadable("encrypted", "The PDF asks for a password.")
    return MuPdf(document, pages)


class MuPdf:
    """See `services.extractor.reading.pdf_port.PdfDocument`."""

    def __init__(self, document: Any, page_count: int) -> None:
        self._document = document
        self.page_count = page_count

    def page(self, number: int) -> PdfPage | None:
        """Read one page."""
        try:
            page = self._document.load_page(number)
            if unpacks_too_far(self._document.xref_stream_raw(xref) or b"" for xref in page.get_contents()):
                raise Unreadable("too_large", f"The content of page {number + 1} unpacks to more than 64 MB.")
            return _read(page)
        except mupdf.FzErrorSystem:
            raise MemoryError from None
        except _FAILURES:
            return None

    def is_damaged(self) -> bool:
        """Tell whether the file was repaired, or the library complained."""
        warnings = _tools.mupdf_warnings(reset=False)
        return bool(self._document.is_repaired) or re.search(r"error|cannot|invalid", warnings) is not None

    def has_pictures(self, pages: int) -> bool:
        """Tell whether one of the first pages holds a picture."""
        if self._document.is_repaired:
            return False
        try:
            return any(self._document.get_page_images(number) for number in range(min(self.page_count, pages)))
        except _FAILURES:
            return False

    def info(self) -> PdfInfo:
        """Return what the file says about itself."""
        try:
            said, language = self._document.metadata or {}, self._document.language
        except _FAILURES:
            return PdfInfo()
        title, author, created, modified = (said.get(k) or "" for k in ("title", "author", "creationDate", "modDate"))
        return PdfInfo(title, author, created, modified, language or "")

    def close(self) -> None:
        """Free what the file holds."""
        self._document.close()


def _read(page: Any) -> PdfPage:
    """Read a page: its text once, without what it does not show."""
    width, height = float(page.rect.width), float(page.rect.height)
    content = page.get_text("dict", flags=_FLAGS)
    if _is_painted_twice(_spans(content)):
        content = page.get_text("dict", flags=_FLAGS | pymupdf.TEXT_COLLECT_STYLES)  # slow: letters are compared
    spans = _spans(content)
    log = page.get_bboxlog() if _may_be_covered(page) else []
    doubtful = [span for span in spans if _is_doubtful(span)] + _covered(spans, log)
    if doubtful:
        picture = _picture(page)
        for span in doubtful:
            span["seen"] = picture.shows(span["bbox"])
    lines = lines_of(_rows(content), width, height)
    little = sum(len(line.text) for line in lines if line.painted) < _LITTLE or not all(line.painted for line in lines)
    return PdfPage(tuple(once(lines)), height, _pictures(page, log) if little else 0.0)


def _spans(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the spans of a page."""
    return [span for block in content["blocks"] for line in block.get("lines", ()) for span in line["spans"]]


def _is_painted_twice(spans: list[dict[str, Any]]) -> bool:
    """Tell whether any letters may lie on the same letters, as they do where bold is made by painting twice."""
    places: defaultdict[str, list[tuple[float, float, float]]] = defaultdict(list)
    before, end, base = "", 0.0, 0.0
    for span in spans:
        text, (x, y) = span["text"].strip(), span["origin"]
        if not text:
            continue
        near = 0.3 * span["size"]
        if abs(y - base) < near and x < end - near and (text in before or before in text):
            return True
        if any(abs(x - left) < near and abs(y - top) < near for left, top, _ in places[text][-4:]):
            return True
        places[text].append((x, y, near))
        before, end, base = text, span["bbox"][2], y
    return False


def _is_doubtful(span: dict[str, Any]) -> bool:
    """Tell whether letters are as pale as the paper, or only a shape that something else is clipped to."""
    if not span["text"].strip() or span["alpha"] <= _TRANSPARENT:
        return not span["char_flags"] & _PAINTED and bool(span["char_flags"] & mupdf.FZ_STEXT_CLIPPED)
    color = span["color"]
    return min(color >> 16, color >> 8 & 255, color & 255) >= PALE


def _may_be_covered(page: Any) -> bool:
    """Tell whether a page paints shapes, pictures or forms after text; long instructions are not looked through."""
    contents = page.read_contents()
    return len(contents) <= _MOST_LOOKED_THROUGH and _FILLS.search(contents, max(0, contents.find(b"ET"))) is not None


def _covered(spans: list[dict[str, Any]], log: list[tuple[str, tuple[float, float, float, float]]]) -> list[dict[str, Any]]:
    """Return the spans that may lie under what is painted after them."""
    covers = [(n, box) for n, (kind, box) in enumerate(log) if kind in _COVERS and box[3] - box[1] > 3][-_MOST_COVERS:]
    texts = [(n, box) for n, (kind, box) in enumerate(log) if kind.endswith("-text")]
    if not covers or not texts or covers[-1][0] < texts[0][0]:
        return []
    return [span for span in spans if span["text"].strip() and covered(span["bbox"], texts, covers)]


def _picture(page: Any) -> Picture:
    """Return how a page looks."""
    scale = min(1.0, (_MOST_PIXELS / max(1.0, page.rect.width * page.rect.height)) ** 0.5)
    made = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csGRAY, alpha=False)
    return Picture(bytes(made.samples), made.stride, made.width, made.height, scale)


def _pictures(page: Any, log: list[tuple[str, tuple[float, float, float, float]]]) -> float:
    """Return the share of a page that pictures cover."""
    boxes = [pymupdf.Rect(box) & page.rect for kind, box in log or page.get_bboxlog() if kind in _PICTURES]
    return min(1.0, sum(abs(box.width * box.height) for box in boxes) / max(1.0, abs(page.rect.width * page.rect.height)))


def _rows(content: dict[str, Any]) -> list[Row]:
    """Return the rows of one page."""
    return [
        Row(tuple(_run(span, upright=abs(line["dir"][1]) < abs(line["dir"][0])) for span in line["spans"]), _turn(line))
        for block in content["blocks"]
        for line in block.get("lines", ())
    ]


def _turn(line: dict[str, Any]) -> int | None:
    """Return by how many quarters a line is turned clockwise; None where it is set from top to bottom, or aslant."""
    if line["wmode"]:
        return None
    along, down = line["dir"]
    if abs(along) > _LEVEL:
        return 0 if along > 0 else 2
    return (1 if down > 0 else 3) if abs(down) > _LEVEL else None


def _run(span: dict[str, Any], *, upright: bool) -> Run:
    """Return a span as a run."""
    return Run(
        span["text"],
        *span["bbox"],
        span["origin"][upright],
        span["size"],
        span["font"],
        bool(span["flags"] & _BOLD),
        span.get("seen", bool(span["char_flags"] & _PAINTED) and span["alpha"] > _TRANSPARENT),
    )
