"""Figures that measure nothing: names of things, numbers of parts, one end of a range, and bounds."""

import re

from shared.domain.numbers import CLOCK, VERSION, Quantity

_BEFORE = 48
"""Code points before a figure in which what makes it a label stands."""

_NUMBERED = re.compile(
    r"(?:\b(?:no|nos|nr|number|pep|rfc|iso|issue|bug|ticket|section|sect|sec|chapter|ch|figure|fig|table|page|pages|pp?|"
    r"article|art|rule|clause|paragraph|para|part|appendix|annex|item|step|question|version|ver|v|release|room|building|"
    r"floor|form|file|case|act|bill|line|lines|row|column|volume|vol|level|phase|class|type|grade|model|flight|route|"
    r"highway|platform|track|lot|serial|ref|reference|id|code|isbn|issn|doi)\b\.?|#|§|№)\s*[:`#-]?\s*$",
    re.IGNORECASE,
)
_CAPITAL_BEFORE = re.compile(r"(?<![\w'’-])([A-Z][\w'’-]*)[\s-]$")
_NO_NAMES = frozenset(
    "a about all almost and another approximately around as at between both but by every exactly for from has have in "
    "is its just nearly of on only or our over roughly since some than that the their there these they this those to "
    "under until up was we were with within".split()
)
_GLUED = re.compile(r"[\w`/_=&?.:@#-]$")
_LIST_MARK = re.compile(r"(?:^|\n)\s*[-*•]?\s*[(\[]?$")
_AFTER_MARK = re.compile(r"[.)\]]\s")
_AFTER_GLUED = re.compile(r"[/_=&@]\w|[`]")
_RANGE_AFTER = re.compile(r"\s*(?:[-–—]|to|and|or)\s*[$€£]?\d", re.I)
_RANGE_BEFORE = re.compile(r"\d\s*(?:%|[a-z]{0,3})\s*(?:[-–—]|\b(?:to|or)\b)\s*[$€£]?$", re.I)
_BETWEEN = re.compile(r"\bbetween\s+[^,;]{0,24}$", re.I)
_BOUND = re.compile(
    r"\b(?:more|less|fewer|greater|higher|lower|longer|shorter|deeper|larger|smaller|other)\s+than\s+(?:the\s+)?$"
    r"|\b(?:at\s+least|at\s+most|up\s+to|under|(?<!carry\s)(?<!carried\s)over|above|below|within|exceed(?:s|ed|ing)?|beyond|minimum\s+of|"
    r"maximum\s+of|every|each|per|first|last|next|another|additional|extra|further)\s+$",
    re.I,
)


def is_label(text: str, quantity: Quantity) -> bool:
    """Tell whether a figure names or numbers something, as "PEP 397", "page 3" or "Windows 11", and measures nothing.

    So do ordinals, times of day, versions, list marks, and digits in addresses and code.
    """
    if quantity.kind == "ordinal" or quantity.unit in (CLOCK, VERSION):
        return True
    before = text[max(0, quantity.start - _BEFORE) : quantity.start]
    after = text[quantity.end : quantity.end + 3]
    if (_GLUED.search(before) and not before.endswith((". ", ": "))) or _AFTER_GLUED.match(after):
        return True
    return bool(_NUMBERED.search(before)) or (_is_plain(quantity) and (_marks_item(before, after) or _named(before)))


def _is_plain(quantity: Quantity) -> bool:
    return quantity.kind == "number" and quantity.unit is None


def _marks_item(before: str, after: str) -> bool:
    return bool(_LIST_MARK.search(before) and _AFTER_MARK.match(after))


def _named(before: str) -> bool:
    """Tell whether a name stands right before a plain figure: "Python 3"; "Only 3" and "In 3" are none."""
    match = _CAPITAL_BEFORE.search(before)
    return match is not None and match.group(1).lower() not in _NO_NAMES


def is_part(text: str, quantity: Quantity) -> bool:
    """Tell whether a figure is one end of a range, or a bound, so that another figure need not contradict it."""
    before = text[max(0, quantity.start - _BEFORE) : quantity.start]
    if quantity.kind == "date":
        return False
    return bool(
        _RANGE_AFTER.match(text, quantity.end)
        or _RANGE_BEFORE.search(before)
        or _BETWEEN.search(before)
        or _BOUND.search(before)
    )
