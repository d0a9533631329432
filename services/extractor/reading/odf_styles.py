"""What the styles of an OpenDocument file make of text: raised, lowered, hidden or white."""

from collections.abc import Mapping
from dataclasses import dataclass

from lxml.etree import _Element

from services.extractor.reading.raised import DOWN, UP
from services.extractor.reading.xml import attribute, child, local

_MAX_CHAIN = 10
_WHITE = frozenset(("#ffffff", "#fefefe", "#fdfdfd"))


@dataclass(frozen=True, slots=True)
class Look:
    """How text of a style looks: `place` is the mark of raised or lowered letters."""

    place: str = ""
    hidden: bool = False
    white: bool = False
    shaded: bool = False
    page_hidden: bool = False
    table_hidden: bool = False
    level: int = 0

    @property
    def unseen(self) -> bool:
        """Tell whether nobody sees the text."""
        return self.hidden or (self.white and not self.shaded)

    def within(self, outer: "Look") -> "Look":
        """Return how text of this style looks inside text that looks like `outer`."""
        return Look(
            place=self.place or outer.place,
            hidden=self.hidden or outer.hidden,
            white=self.white or outer.white,
            shaded=self.shaded or outer.shaded,
        )


Looks = Mapping[str, Look]
PLAIN_LOOK = Look()


def looks_of(*roots: _Element) -> dict[str, Look]:
    """Return the look of each style by its name; what a style does not say, the one above it says."""
    nodes = {attribute(node, "name") or "": node for root in roots for node in root.iter() if local(node) == "style"}
    return {name: _look(name, nodes) for name in nodes}


def _look(name: str, nodes: Mapping[str, _Element]) -> Look:
    """Return the look of one style."""
    chain = _chain(name, nodes)
    said: dict[str, str] = {}
    for properties in (inner for node in chain for inner in node):
        for key, value in properties.items():
            said.setdefault(f"{local(properties)} {str(key).rpartition('}')[2]}", str(value))
    ground = [value for key, value in said.items() if key.endswith((" background-color", " fill-color"))]
    return Look(
        place=_place(said.get("text-properties text-position", "").split(" ")[0]),
        hidden=said.get("text-properties display") == "none",
        white=said.get("text-properties color", "").lower() in _WHITE,
        shaded=any(value.lower() not in ("transparent", *_WHITE) for value in ground),
        page_hidden=said.get("drawing-page-properties visibility") == "hidden",
        table_hidden=said.get("table-properties display") == "false",
        level=next((level for node in chain if (level := _level(node))), 0),
    )


def _chain(name: str, nodes: Mapping[str, _Element]) -> list[_Element]:
    """Return a style and those above it, of which it has what it does not say itself."""
    chain: list[_Element] = []
    node = nodes.get(name)
    while node is not None and len(chain) < _MAX_CHAIN:
        chain.append(node)
        node = nodes.get(attribute(node, "parent-style-name") or "")
    return chain


def _level(style: _Element) -> int:
    """Return the level of the headings that a style makes, 0 for other text."""
    outline = attribute(style, "default-outline-level") or ""
    return min(6, int(outline)) if outline.isdecimal() and len(outline) < 3 else 0


def _place(position: str) -> str:
    """Return the mark of letters in a position: "super", "sub", or so many percent up or down."""
    if position == "sub" or position.startswith("-"):
        return DOWN
    return UP if position not in ("", "0%") else ""


def style_of(node: _Element, looks: Looks) -> Look:
    """Return the look of an element by the style that it names."""
    return looks.get(attribute(node, "style-name") or "", PLAIN_LOOK)


def body_of(root: _Element, kind: str) -> _Element | None:
    """Return the element of the document's body: "text", "spreadsheet" or "presentation"."""
    return child(root, "body", kind)
