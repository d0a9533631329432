"""Formulas in MathML as a line of text: "4.5 × 10⁶", "1/2", "√(x)"."""

from lxml.etree import _Element

from services.extractor.reading.blocks import squeeze
from services.extractor.reading.markup import tag_of
from services.extractor.reading.scripts import exponent, lowered, mixed

_MAX_DEPTH = 40
_SILENT = frozenset(("annotation", "annotation-xml", "mphantom", "none", "mprescripts"))
_PAIRS = frozenset(("mfrac", "msup", "msub", "mover", "munder"))
_TRIPLES = frozenset(("msubsup", "munderover"))
_APART = frozenset("=<>≤≥≈×·+−±∈→")


def formula(node: _Element, depth: int = 0) -> str:
    """Return the words of a formula, or of a part of one."""
    tag = tag_of(node)
    if tag in _SILENT or depth > _MAX_DEPTH:
        return ""
    parts = [formula(child, depth + 1) for child in node if tag_of(child)]
    if tag in _PAIRS and len(parts) == 2:
        return _pair(tag, *parts)
    if tag in _TRIPLES and len(parts) == 3:
        return _triple(*parts)
    if tag in ("msqrt", "mroot"):
        return _root(tag, parts)
    if tag == "mo":
        return _operator(squeeze(node.text or ""))
    return _row([squeeze(node.text or ""), *parts])


def _row(parts: list[str]) -> str:
    """Join parts; a fraction stands apart from a figure before it, two figures never become one."""
    line = ""
    for part in parts:
        line += f" {part}" if line[-1:].isdigit() and part[:1].isdigit() else part
    return line


def _pair(tag: str, first: str, second: str) -> str:
    """Return a part that has two."""
    first, second = first.strip(), second.strip()
    if tag == "mfrac":
        return mixed("", _grouped(first), _grouped(second))
    if tag == "msup":
        return f"{first}{_power(second)}"
    return f"{first}{lowered(second, first)}" if second else first


def _triple(base: str, below: str, above: str) -> str:
    """Return a part with something lowered and something raised beside it."""
    return f"{base}{lowered(below, base) if below else ''}{_power(above)}"


def _root(tag: str, parts: list[str]) -> str:
    """Return a root; of one that names its degree only what it is the root of."""
    return f"√({parts[0] if tag == 'mroot' and parts else _row(parts)})"


def _operator(sign: str) -> str:
    return f" {sign} " if sign in _APART else sign


def _power(text: str) -> str:
    return exponent(text) if text.strip() else ""


def _grouped(text: str) -> str:
    """Return one side of a fraction."""
    return text if all(character.isalnum() or character in ".," for character in text) else f"({text})"
