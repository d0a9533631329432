"""Text that stands in a page but is not painted: in the colour of its ground, too small, or invisible."""

import colorsys
import re
from dataclasses import dataclass, replace
from typing import Final

from lxml.etree import _Element, iterwalk
from lxml.html import HtmlElement

from services.extractor.reading.markup import tag_of
from services.extractor.reading.styles import Declared, Sheet, declared

Color = tuple[int, int, int]
_NAMED: Final[dict[str, Color]] = {
    "white": (255, 255, 255),
    "snow": (255, 250, 250),
    "ivory": (255, 255, 240),
    "ghostwhite": (248, 248, 255),
    "whitesmoke": (245, 245, 245),
    "floralwhite": (255, 250, 240),
    "black": (0, 0, 0),
    "red": (255, 0, 0),
    "green": (0, 128, 0),
    "blue": (0, 0, 255),
    "navy": (0, 0, 128),
    "yellow": (255, 255, 0),
    "orange": (255, 165, 0),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "silver": (192, 192, 192),
}
_HEX = re.compile(r"#([0-9a-f]{3,8})\b")
_FUNCTION = re.compile(r"(rgb|hsl)a?\(([^)]*)\)")
_LENGTH = re.compile(r"(\d*\.?\d+)(px|pt|rem|em|%)?")
_PIXELS = {"px": 1.0, "pt": 4 / 3, "rem": 16.0, "": 1.0}
_SAME = 16  # steps of 255 in every channel that nobody tells apart
_LEAST_SIZE = 2.0  # pixels
_ALPHA = 0.05
_ATTRIBUTES = frozenset(("color", "bgcolor", "text", "background"))


@dataclass(frozen=True, slots=True)
class _Paint:
    """How text is painted in an element; a colour of None is not known, and then counts as seen."""

    color: Color | None = (0, 0, 0)
    ground: Color | None = (255, 255, 255)
    size: float = 16.0
    visible: bool = True
    clear: bool = False  # painted with a transparent colour

    @property
    def is_seen(self) -> bool:
        """Tell whether such text can be read."""
        if not self.visible or self.clear or self.size < _LEAST_SIZE:
            return False
        if self.color is None or self.ground is None:
            return True
        return max(abs(one - other) for one, other in zip(self.color, self.ground, strict=True)) > _SAME


def unpaint(tree: HtmlElement, sheet: Sheet) -> None:
    """Take out, in place, the words that are not painted; what an element inside paints otherwise stays."""
    paints = [_Paint()]
    for event, node in iterwalk(tree, events=("start", "end")):
        if event == "end":
            paints.pop()
            continue
        paint = _painted(node, paints[-1], sheet)
        paints.append(paint)
        if not paint.is_seen:
            if node.get("style") is not None:
                del node.attrib["style"]  # what picks the content would drop what is seen inside
            node.text = " " if node.text else None
            for child in node:
                child.tail = " " if child.tail else None


def _painted(node: _Element, above: _Paint, sheet: Sheet) -> _Paint:
    """Return how an element paints its text, given how the one around it does."""
    tag = tag_of(node)
    own = declared(node.get("style"))
    ruled = sheet.of(node, tag)
    style = {**ruled, **own} if own else ruled
    unknown = not sheet.is_all and (node.get("class") or node.get("id")) and tag not in ("html", "body")
    paint = replace(above, ground=None) if unknown and above.ground is not None else above
    if not style and not _ATTRIBUTES.intersection(node.keys()):
        return paint
    paint = _grounded(node, paint, style)
    paint = _colored(node, tag, paint, style)
    visibility = style.get("visibility", "")
    if visibility in ("hidden", "collapse", "visible"):
        paint = replace(paint, visible=visibility == "visible")
    return replace(paint, size=_size(style.get("font-size", ""), above.size))


def _grounded(node: _Element, paint: _Paint, style: Declared) -> _Paint:
    """Return the paint with the ground that an element lays; a picture, or text laid over others, may be any."""
    laid = " ".join((style.get("background", ""), style.get("background-color", ""), node.get("bgcolor") or "")).strip()
    pictured = "background-image" in style and style["background-image"] != "none"
    if pictured or node.get("background") or "url(" in laid or "gradient" in laid or "var(" in laid:
        return replace(paint, ground=None)
    color = _color(laid)
    if color is not None:
        return replace(paint, ground=color)
    over = style.get("position") in ("absolute", "fixed", "sticky") or "text-shadow" in style or "z-index" in style
    return replace(paint, ground=None) if over else paint


def _colored(node: _Element, tag: str, paint: _Paint, style: Declared) -> _Paint:
    """Return the paint with the colour that an element gives to text."""
    attribute = node.get("color") if tag == "font" else node.get("text") if tag == "body" else None
    value = style.get("-webkit-text-fill-color") or style.get("color") or (attribute or "").lower()
    if not value or value in ("inherit", "currentcolor", "unset"):
        return paint
    if _is_clear(value):
        through = any("background-clip" in name or name == "text-shadow" for name in style)
        return replace(paint, color=None, clear=not through)
    return replace(paint, color=_color(value), clear=False)


def _is_clear(value: str) -> bool:
    """Tell whether a colour is transparent."""
    if value == "transparent":
        return True
    found = _FUNCTION.fullmatch(value)
    parts = re.split(r"[\s,/]+", found.group(2).strip()) if found else []
    if len(parts) != 4:
        return False
    alpha = parts[3].rstrip("%")
    return bool(re.fullmatch(r"\d*\.?\d+", alpha)) and float(alpha) / (100 if "%" in parts[3] else 1) < _ALPHA


def _color(value: str) -> Color | None:
    """Return the first colour in a value."""
    text = value.lower()
    if found := _HEX.search(text):
        digits = found.group(1)
        whole = "".join(digit * 2 for digit in digits[:3]) if len(digits) in (3, 4) else digits[:6]
        return (int(whole[:2], 16), int(whole[2:4], 16), int(whole[4:6], 16)) if len(whole) == 6 else None
    if found := _FUNCTION.search(text):
        return _mixed(found.group(1), re.findall(r"-?\d*\.?\d+%?", found.group(2)))
    return next((_NAMED[word] for word in text.split() if word in _NAMED), None)


def _mixed(kind: str, parts: list[str]) -> Color | None:
    """Return the colour of rgb() or hsl(); None for one that is see-through in part, or odd."""
    if len(parts) < 3 or (len(parts) > 3 and float(parts[3].rstrip("%")) < (100 if "%" in parts[3] else 1)):
        return None
    numbers = [float(part.rstrip("%")) for part in parts[:3]]
    if kind == "hsl":
        mixed = colorsys.hls_to_rgb(numbers[0] % 360 / 360, min(numbers[2], 100) / 100, min(numbers[1], 100) / 100)
        numbers = [255 * channel for channel in mixed]
    elif "%" in parts[0]:
        numbers = [2.55 * number for number in numbers]
    red, green, blue = (max(0, min(255, round(number))) for number in numbers)
    return red, green, blue


def _size(value: str, above: float) -> float:
    """Return the size of a font in pixels; words such as "small" count as the usual one."""
    if not value or value == "inherit":
        return above
    found = _LENGTH.fullmatch(value)
    if found is None:
        return 16.0
    number, unit = float(found.group(1)), found.group(2) or ""
    if unit in ("em", "%"):
        return above * (number if unit == "em" else number / 100)
    return number * _PIXELS[unit]
