"""PDFs with PyMuPDF, which is under the AGPL or a commercial licence. Only this module imports it."""

import re
from collections.abc import Iterator
from typing import Any

import pymupdf
from pymupdf import mupdf

from services.extractor.reading.painted import PALE, Picture, covered, once
from services.extractor.reading.pdf_effort import MAX_CONTENT, Effort, unpacks_too_far
from services.extractor.reading.pdf_port import PdfInfo, PdfPage, is_for_certificates
from services.extractor.reading.result import Unreadable
from services.extractor.reading.runs import Row, Run, lines_of

_FAILURES = (RuntimeError, ValueError, LookupError, TypeError, AttributeError, mupdf.FzErrorBase)
_FLAGS = pymupdf.TEXT_MEDIABOX_CLIP  # and none that keeps ligatures, odd spaces or pictures
_open: Any = pymupdf.open  # the library is not typed
_tools: Any = pymupdf.TOOLS
_matrix: Any = pymupdf.Matrix
_rect: Any = pymupdf.Rect
_BOLD = pymupdf.TEXT_FONT_BOLD
_PAINTED = mupdf.FZ_STEXT_FILLED | mupdf.FZ_STEXT_STROKED
_PAINTED_OR_MADE_UP = _PAINTED | mupdf.FZ_STEXT_SYNTHETIC
_ON_LINE = 0.01  # points
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
        self._forms = _Forms(document)
        self._effort = Effort(self._forms)
        self.page_count = page_count

    def page(self, number: int) -> PdfPage | None:
        """Read one page."""
        try:
            page = self._document.load_page(number)
            self._forms.add(page)
            if self._effort.of(page.xref) > MAX_CONTENT:
                raise Unreadable("too_large", f"The content of page {number + 1} unpacks to more than 64 MB.")
            return _read(page, self._forms.contents(page.xref))
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


class _Forms:
    """See `services.extractor.reading.pdf_effort.Forms`; the contents of pages are kept while they are read."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._page: tuple[int, bytes] = (0, b"")

    def add(self, page: Any) -> None:
        """Keep the contents of a page; as if they were endless where they are a bomb."""
        streams = page.get_contents()
        is_bomb = unpacks_too_far(self._document.xref_stream_raw(xref) or b"" for xref in streams)
        self._page = (page.xref, b" " * (MAX_CONTENT + 1) if is_bomb else page.read_contents() or b"")

    def contents(self, number: int) -> bytes:
        """See `Forms.contents`."""
        if number == self._page[0]:
            return self._page[1]
        if self._document.xref_get_key(number, "Subtype")[1] == "/Image":
            return b""
        packed = self._document.xref_stream_raw(number) or b""
        return b" " * (MAX_CONTENT + 1) if unpacks_too_far([packed]) else self._document.xref_stream(number) or b""

    def called(self, number: int, name: str) -> Iterator[int]:
        """See `Forms.called`; pages inherit resources from those above them."""
        for above in ("", "Parent/", "Parent/Parent/") if number == self._page[0] else ("",):
            for path in ("XObject/{}", "Pattern/{}", "ExtGState/{}/SMask/G"):
                kind, value = self._document.xref_get_key(number, f"{above}Resources/{path.format(name)}")
                if kind == "xref":
                    yield int(value.split()[0])


def _read(page: Any, contents: bytes) -> PdfPage:
    """Read a page: its text once, without what it does not show."""
    if page.rotation:
        page.set_rotation(0)  # the library gives text unrotated, and pictures of the page rotated
    width, height = float(page.rect.width), float(page.rect.height)
    content = page.get_text("dict", flags=_FLAGS)
    if _is_painted_twice(_spans(content)):
        content = page.get_text("dict", flags=_FLAGS | pymupdf.TEXT_COLLECT_STYLES)  # slow: letters are compared
    spans = _spans(content)
    log = page.get_bboxlog() if _may_be_covered(contents) else []
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
    places: dict[str, tuple[float, float]] = {}
    before, end, base = "", 0.0, 0.0
    for span in spans:
        text = span["text"].strip()
        if not text:
            continue
        (x, y), near = span["origin"], 0.3 * span["size"]
        if x < end - near and abs(y - base) < near and (text in before or before in text):
            return True
        last = places.get(text)
        if last is not None and abs(x - last[0]) < near and abs(y - last[1]) < near:
            return True
        places[text] = (x, y)
        before, end, base = text, span["bbox"][2], y
    return False


def _is_doubtful(span: dict[str, Any]) -> bool:
    """Tell whether letters are as pale as the paper, or only a shape that something else is clipped to."""
    if not span["text"].strip() or span["alpha"] <= _TRANSPARENT:
        return not span["char_flags"] & _PAINTED and bool(span["char_flags"] & mupdf.FZ_STEXT_CLIPPED)
    color = span["color"]
    return bool(min(color >> 16, color >> 8 & 255, color & 255) >= PALE)


def _may_be_covered(contents: bytes) -> bool:
    """Tell whether a page paints shapes, pictures or forms after text; long instructions are not looked through."""
    return len(contents) <= _MOST_LOOKED_THROUGH and _FILLS.search(contents, max(0, contents.find(b"ET"))) is not None


def _covered(
    spans: list[dict[str, Any]], log: list[tuple[str, tuple[float, float, float, float]]]
) -> list[dict[str, Any]]:
    """Return the spans that may lie under what is painted after them."""
    covers = [(n, box) for n, (kind, box) in enumerate(log) if kind in _COVERS and box[3] - box[1] > 3][-_MOST_COVERS:]
    texts = [(n, box) for n, (kind, box) in enumerate(log) if kind.endswith("-text")]
    if not covers or not texts or covers[-1][0] < texts[0][0]:
        return []
    return [span for span in spans if span["text"].strip() and covered(span["bbox"], texts, covers)]


def _picture(page: Any) -> Picture:
    """Return how a page looks."""
    scale = min(1.0, (_MOST_PIXELS / max(1.0, page.rect.width * page.rect.height)) ** 0.5)
    made = page.get_pixmap(matrix=_matrix(scale, scale), colorspace=pymupdf.csGRAY, alpha=False)
    return Picture(bytes(made.samples), made.stride, made.width, made.height, scale)


def _pictures(page: Any, log: list[tuple[str, tuple[float, float, float, float]]]) -> float:
    """Return the share of a page that pictures cover."""
    boxes = [_rect(box) & page.rect for kind, box in log or page.get_bboxlog() if kind in _PICTURES]
    filled = sum(abs(float(box.width * box.height)) for box in boxes)
    area = abs(float(page.rect.width * page.rect.height))
    return min(1.0, filled / max(1.0, area))


def _rows(content: dict[str, Any]) -> list[Row]:
    """Return the rows of one page."""
    return [
        Row(tuple(_runs(line["spans"], upright=abs(line["dir"][1]) < abs(line["dir"][0]))), _turn(line))
        for block in content["blocks"]
        for line in block.get("lines", ())
    ]


def _runs(spans: list[dict[str, Any]], *, upright: bool) -> Iterator[Run]:
    """Yield the spans of one line as runs, those that are set alike together."""
    group: list[dict[str, Any]] = []
    for span in spans:
        if group and not _alike(group[0], span, upright):
            yield _run(group, upright=upright)
            group = []
        group.append(span)
    if group:
        yield _run(group, upright=upright)


def _alike(one: dict[str, Any], other: dict[str, Any], upright: bool) -> bool:
    """Tell whether two spans of a line are set in one font on one base line, and are as well seen."""
    return bool(
        one["size"] == other["size"]
        and one["font"] == other["font"]
        and abs(one["origin"][upright] - other["origin"][upright]) < _ON_LINE
        and _is_seen(one) == _is_seen(other)
    )


def _is_seen(span: dict[str, Any]) -> bool:
    """Tell whether the page shows a span."""
    return bool(span.get("seen", bool(span["char_flags"] & _PAINTED_OR_MADE_UP) and span["alpha"] > _TRANSPARENT))


def _turn(line: dict[str, Any]) -> int | None:
    """Return by how many quarters a line is turned clockwise; None where it is set from top to bottom, or aslant."""
    if line["wmode"]:
        return None
    along, down = line["dir"]
    if abs(along) > _LEVEL:
        return 0 if along > 0 else 2
    return (1 if down > 0 else 3) if abs(down) > _LEVEL else None


def _run(spans: list[dict[str, Any]], *, upright: bool) -> Run:
    """Return spans that are set alike as a run."""
    first, last = spans[0], spans[-1]
    (x0, y0, x1, y1), (a0, b0, a1, b1) = first["bbox"], last["bbox"]
    return Run(
        first["text"] if first is last else "".join(span["text"] for span in spans),
        min(x0, a0),
        min(y0, b0),
        max(x1, a1),
        max(y1, b1),
        first["origin"][upright],
        first["size"],
        first["font"],
        all(span["flags"] & _BOLD for span in spans if not span["text"].isspace()),
        _is_seen(first),
    )
