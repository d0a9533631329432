"""How runs of a Word document look: raised or lowered, hidden, white on white, by themselves or by their style."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lxml.etree import _Element

from services.extractor.reading.raised import DOWN, UP
from services.extractor.reading.xml import attribute, child, local

_MAX_CHAIN = 10
_OFF = ("0", "false", "off")
_SMALLEST = 2  # half points; nobody reads smaller letters
_WHITE = 0xFA


@dataclass(frozen=True, slots=True)
class Look:
    """How text looks; None where nothing is said, so that what stands above says it."""

    place: str | None = None
    hidden: bool | None = None
    white: bool | None = None
    shaded: bool | None = None

    def over(self, other: "Look") -> "Look":
        """Return this look, completed by another one."""
        return Look(
            place=other.place if self.place is None else self.place,
            hidden=other.hidden if self.hidden is None else self.hidden,
            white=other.white if self.white is None else self.white,
            shaded=other.shaded if self.shaded is None else self.shaded,
        )

    @property
    def unseen(self) -> bool:
        """Tell whether nobody sees such text on white paper."""
        return bool(self.hidden) or (bool(self.white) and not self.shaded)


NOTHING_SAID = Look()
Looks = Mapping[str, Look]


def looks_of(styles: _Element) -> dict[str, Look]:
    """Return the look of each style by its id."""
    own: dict[str, tuple[Look, str]] = {}
    for style in (node for node in styles if local(node) == "style"):
        above = child(style, "basedOn")
        look = look_of(child(style, "rPr"))
        if any(_is_ground(node) for node in style.iter() if local(node) == "shd"):
            look = replace(look, shaded=True)
        own[attribute(style, "styleId") or ""] = (look, attribute(above, "val") or "" if above is not None else "")
    found: dict[str, Look] = {}
    for name in own:
        look, at = NOTHING_SAID, name
        for _ in range(_MAX_CHAIN):
            if at not in own:
                break
            look, at = look.over(own[at][0]), own[at][1]
        found[name] = look
    return found


def named(style: _Element | None, looks: Looks) -> Look:
    """Return the look of the style that an element names."""
    return looks.get(attribute(style, "val") or "", NOTHING_SAID) if style is not None else NOTHING_SAID


def look_of(layout: _Element | None) -> Look:
    """Return what the properties of a run say themselves."""
    if layout is None:
        return NOTHING_SAID
    said = {local(node): attribute(node, "val") for node in layout}
    color = child(layout, "color")
    ground = child(layout, "shd")
    size = said.get("sz") or ""
    tiny = size.isdecimal() and int(size) <= _SMALLEST
    hidden = said["vanish"] not in _OFF if "vanish" in said else None
    shaded = (said.get("highlight") not in (None, "none", "white")) or (ground is not None and _is_ground(ground))
    return Look(
        place=_place(said),
        hidden=True if tiny else hidden,
        white=_is_white(color) if color is not None else None,
        shaded=True if shaded else None,
    )


def _place(said: Mapping[str, str | None]) -> str | None:
    """Return the mark of raised or lowered letters; "" says that they are neither."""
    if "vertAlign" in said:
        return {"superscript": UP, "subscript": DOWN}.get(said["vertAlign"] or "", "")
    moved = said.get("position") or ""
    if moved.lstrip("-").isdecimal():
        half_points = int(moved)
        return UP if half_points > 3 else DOWN if half_points < -3 else ""
    return None


def is_shaded(layout: _Element | None) -> bool:
    """Tell whether a paragraph, a cell or a table has a ground of its own color."""
    ground = child(layout, "shd")
    return ground is not None and _is_ground(ground)


def _is_ground(node: _Element) -> bool:
    """Tell whether a shading is seen: a color other than that of paper, or a pattern."""
    fill, pattern = attribute(node, "fill") or "auto", attribute(node, "val") or "clear"
    if attribute(node, "themeFill") not in (None, "background1", "light1"):
        return True
    return pattern not in ("clear", "nil") or not (fill.lower() == "auto" or is_white_code(fill))


def _is_white(color: _Element) -> bool:
    theme = attribute(color, "themeColor")
    if theme is not None:
        return theme in ("background1", "light1") and attribute(color, "themeShade") is None
    return is_white_code(attribute(color, "val") or "")


def is_white_code(code: str) -> bool:
    """Tell whether six hexadecimal digits are white, or so near to it that nobody sees a difference."""
    try:
        parts = bytes.fromhex(code)
    except ValueError:
        return False
    return len(parts) == 3 and min(parts) >= _WHITE
