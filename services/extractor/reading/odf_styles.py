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


Looks = Mapping[str, Look]
PLAIN_LOOK = Look()


def looks_of(*roots: _Element) -> dict[str, Look]:
    """Return the look of each style by its name; what a style does not say, the one above it says."""
    nodes = {attribute(node, "name") or "": node for root in roots for node in root.iter() if local(node) == "style"}
    return {name: _look(name, nodes) for name in nodes}


def _look(name: str, nodes: Mapping[str, _Element]) -> Look:
    """Return the look of one style."""
    said: dict[str, str] = {}
    level, at = 0, name
    for _ in range(_MAX_CHAIN):
        node = nodes.get(at)
        if node is None:
            break
        outline = attribute(node, "default-outline-level") or ""
        level = level or (min(6, int(outline)) if outline.isdecimal() and len(outline) < 3 else 0)
        for properties in node:
            for key, value in properties.items():
                said.setdefault(f"{local(properties)} {str(key).rpartition('}')[2]}", str(value))
        at = attribute(node, "parent-style-name") or ""
    raised = said.get("text-properties text-position", "").split(" ")[0]
    ground = [value for key, value in said.items() if key.endswith((" background-color", " fill-color"))]
    return Look(
        place=DOWN if raised == "sub" or raised.startswith("-") else UP if raised not in ("", "0%") else "",
        hidden=said.get("text-properties display") == "none",
        white=said.get("text-properties color", "").lower() in _WHITE,
        shaded=any(value.lower() not in ("transparent", *_WHITE) for value in ground),
        page_hidden=said.get("drawing-page-properties visibility") == "hidden",
        table_hidden=said.get("table-properties display") == "false",
        level=level,
    )


def style_of(node: _Element, looks: Looks) -> Look:
    """Return the look of an element by the style that it names."""
    return looks.get(attribute(node, "style-name") or "", PLAIN_LOOK)


def body_of(root: _Element, kind: str) -> _Element | None:
    """Return the element of the document's body: "text", "spreadsheet" or "presentation"."""
    return child(root, "body", kind)
