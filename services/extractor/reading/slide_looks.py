"""Which words of a slide nobody sees: white ones on a white slide, with nothing colored below them."""

from collections.abc import Iterator
from dataclasses import dataclass

from lxml.etree import _Element

from services.extractor.reading.package import Package, first_of
from services.extractor.reading.raised import DOWN, UP
from services.extractor.reading.word_looks import is_white_code
from services.extractor.reading.xml import attribute, child, local

_FILLS = frozenset(("solidFill", "gradFill", "blipFill", "pattFill", "grpFill"))
_WHITE_NAMES = frozenset(("bg1", "lt1", "window"))
_DRAWN = frozenset(("sp", "pic", "graphicFrame"))


@dataclass(frozen=True, slots=True)
class Ground:
    """What text of a slide stands on: whether the slide is white, and whether pictures or filled shapes lie on it."""

    white: bool
    covered: bool


def ground_of(package: Package, slide: str, root: _Element) -> Ground:
    """Return the ground of a slide, from its own, its layout's and its master's."""
    roots, part = [root], slide
    for kind in ("slideLayout", "slideMaster"):
        above = first_of(package.relations(part), kind)
        if above is None or not package.has(above):
            break
        roots.append(package.xml(above))
        part = above
    backgrounds = [node for node in (child(one, "cSld", "bg") for one in roots) if node is not None]
    white = not backgrounds or _is_white_background(backgrounds[0], roots[-1])
    return Ground(
        white, any(_lies_below(node) for number, one in enumerate(roots) for node in _drawn(one, own=number == 0))
    )


def _drawn(root: _Element, *, own: bool) -> Iterator[_Element]:
    """Yield what is drawn on a slide; of a layout or a master without its places, which show nothing themselves."""
    for node in root.iter():
        if local(node) in _DRAWN and (own or child(node, "nvSpPr", "nvPr", "ph") is None):
            yield node


def _lies_below(node: _Element) -> bool:
    return local(node) == "pic" or (local(node) == "sp" and is_filled(node))


def is_filled(shape: _Element) -> bool:
    """Tell whether a shape has a ground of its own that is not white."""
    layout = child(shape, "spPr")
    for fill in layout if layout is not None else ():
        if local(fill) == "noFill":
            return False
        if local(fill) in _FILLS:
            return not _is_white(fill)
    reference = child(shape, "style", "fillRef")
    return reference is not None and attribute(reference, "idx") not in (None, "0")


def _is_white_background(background: _Element, master: _Element) -> bool:
    """Tell whether a background is white; one that a theme paints is, where it takes the theme's first light color."""
    reference = child(background, "bgRef")
    if reference is not None:
        mapping = child(master, "clrMap")
        light = mapping is None or attribute(mapping, "bg1") in (None, "lt1")
        return light and _is_white(reference) and attribute(reference, "idx") in (None, "1001", "0", "1000")
    layout = child(background, "bgPr")
    fill = next((node for node in (layout if layout is not None else ()) if local(node) in _FILLS), None)
    return fill is None or _is_white(fill)


def _is_white(fill: _Element) -> bool:
    """Tell whether a fill is white, by its code or by its name in the theme, and not made darker."""
    if local(fill) not in ("solidFill", "bgRef"):
        return False
    color = next(iter(fill), None)
    if color is None or any(local(node) in ("lumMod", "shade", "lumOff") for node in color):
        return False
    value = attribute(color, "val") or ""
    if local(color) == "srgbClr":
        return is_white_code(value)
    return value in _WHITE_NAMES or (local(color) == "sysClr" and value == "window")


def is_unseen(run: _Element, ground: Ground) -> bool:
    """Tell whether a run is white on a white ground, or wholly transparent, or has letters that nobody can read."""
    layout = child(run, "rPr")
    if layout is None:
        return False
    size = attribute(layout, "sz") or ""
    if size.isdecimal() and int(size) <= 100:  # hundredths of a point
        return True
    fill = child(layout, "solidFill")
    if fill is None or child(layout, "highlight") is not None or child(layout, "ln", "solidFill") is not None:
        return False
    alpha = next((attribute(node, "val") for node in fill.iter() if local(node) == "alpha"), None)
    return alpha == "0" or (ground.white and not ground.covered and _is_white(fill))


def place_of(run: _Element) -> str:
    """Return the mark of raised or lowered letters."""
    layout = child(run, "rPr")
    shift = attribute(layout, "baseline") or "0" if layout is not None else "0"
    number = int(shift.rstrip("%")) if shift.rstrip("%").lstrip("-").isdecimal() else 0
    return UP if number > 0 else DOWN if number < 0 else ""
