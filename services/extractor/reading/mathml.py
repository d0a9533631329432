"""Formulas in MathML as a line of text: "4.5 × 10⁶", "1/2", "√(x)"."""

from lxml.etree import _Element

from services.extractor.reading.blocks import squeeze
from services.extractor.reading.markup import tag_of
from services.extractor.reading.scripts import exponent, lowered, mixed

_MAX_DEPTH = 40
_SILENT = frozenset(("annotation", "annotation-xml", "mphantom", "none", "mprescripts"))
_APART = frozenset("=<>≤≥≈×·+−±∈→")


def formula(node: _Element, depth: int = 0) -> str:
    """Return the words of a formula, or of a part of one."""
    tag = tag_of(node)
    if tag in _SILENT or depth > _MAX_DEPTH:
        return ""
    parts = [formula(child, depth + 1) for child in node if tag_of(child)]
    if tag in ("mfrac", "msup", "msub", "mover", "munder") and len(parts) == 2:
        return _pair(tag, *parts)
    if tag in ("msubsup", "munderover") and len(parts) == 3:
        return f"{parts[0]}{lowered(parts[1], parts[0]) if parts[1] else ''}{_power(parts[2])}"
    if tag in ("msqrt", "mroot"):
        return f"√({parts[0] if tag == 'mroot' and parts else _row(parts)})"
    if tag == "mo":
        sign = squeeze(node.text or "")
        return f" {sign} " if sign in _APART else sign
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


def _power(text: str) -> str:
    return exponent(text) if text.strip() else ""


def _grouped(text: str) -> str:
    """Return one side of a fraction."""
    return text if all(character.isalnum() or character in ".," for character in text) else f"({text})"
