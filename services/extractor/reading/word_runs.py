"""The visible words of a Word paragraph: raised ones as what they mean, formulas in one line, nothing hidden."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml.etree import _Element

from services.extractor.reading.raised import DOWN, UP, marked, settle
from services.extractor.reading.word_looks import Look, Looks, look_of, named
from services.extractor.reading.xml import child, local

SKIPPED = frozenset(
    """
    del moveFrom Fallback instrText delText pPr rPr fldData rt annotationRef commentReference footnoteRef endnoteRef
    footnoteReference endnoteReference tblPr trPr tcPr sectPr ctrlPr
    """.split()
)
_SIGNS = {"tab": " ", "ptab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_SCRIPTS = {"sup": UP, "sub": DOWN}  # of the formulas of Office
_MAX_DEPTH = 120


@dataclass(slots=True)
class Hanging:
    """What a paragraph holds that stands after it: text boxes, charts and diagrams."""

    boxes: list[_Element] = field(default_factory=list)
    graphics: list[_Element] = field(default_factory=list)


def words(paragraph: _Element, look: Look, looks: Looks, hanging: Hanging) -> str:
    """Return the visible text of a paragraph, "\\n" for line breaks."""
    return settle("".join(_pieces(paragraph, look, looks, hanging)))


def _pieces(node: _Element, look: Look, looks: Looks, hanging: Hanging, depth: int = 0) -> Iterator[str]:
    """Yield the text below a node; raised letters stand between marks."""
    if depth > _MAX_DEPTH:
        return
    for inner in node:
        kind = local(inner)
        if kind == "txbxContent":
            hanging.boxes.append(inner)
        elif kind in ("chart", "relIds"):
            hanging.graphics.append(inner)
        elif kind in SKIPPED:
            continue
        elif (text := _whole(inner, kind, look, looks)) is not None:
            yield text
        else:
            own = run_look(inner, look, looks) if kind == "r" else look
            if not (kind == "r" and own.unseen):  # what hangs on a hidden run is hidden with it
                pieces = _pieces(inner, own, looks, hanging, depth + 1)
                is_script = kind in _SCRIPTS and local(node).startswith("sS")
                yield from (marked("".join(pieces), _SCRIPTS[kind]),) if is_script else pieces


def _whole(node: _Element, kind: str, look: Look, looks: Looks) -> str | None:
    """Return the text of a node that is a piece by itself: letters, a sign, a fraction; None for one to go into."""
    if kind == "t":
        return marked(node.text or "", look.place or "")
    if kind == "f" and child(node, "num") is not None:
        return _fraction(node, look, looks)
    return _SIGNS.get(kind)


def run_look(run: _Element, look: Look, looks: Looks) -> Look:
    """Return how a run looks: by itself, by its style, by its paragraph."""
    layout = child(run, "rPr")
    return look_of(layout).over(named(child(layout, "rStyle"), looks)).over(look)


def _fraction(node: _Element, look: Look, looks: Looks) -> str:
    """Return a fraction of a formula; one of figures is a number, as it is seen."""
    parts = []
    for name in ("num", "den"):
        part = child(node, name)
        text = "".join(_pieces(part, look, looks, Hanging())).strip() if part is not None else ""
        parts.append(text if text.replace(" ", "").isalnum() else f"({text})")
    over, under = parts
    if over.isdecimal() and under.isdecimal():
        return f"{marked(over, UP)}/{marked(under, DOWN)}"
    return f"{over}/{under}"
