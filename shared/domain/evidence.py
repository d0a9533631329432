"""What counts as evidence: how relevant a span has to be, how much of a source is kept, and what is no evidence."""

import re

RELEVANCE_BAR_BP = 5000
"""Relevance, in basis points, from which supporting evidence covers its question."""

ANSWER_BAR_BP = 3000
"""Certainty, in basis points, from which words count as an answer."""

SURE_BP = 8500
"""Certainty, in basis points, from which an answer is told with high confidence, and nothing more is searched for."""

MAX_EXCERPT_CHARS = 1000
"""Longest excerpt that a piece of evidence holds."""

_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.]{0,40}\b(?:instructions?|prompts?|rules|directions?|guidelines)\b"
    r"|\b(?:summar(?:y|ies)|reports?|answers?|responses?|assistants?|models?|bots?|crawlers?|readers?)\s+"
    r"(?:must|shall|should|have\s+to|are\s+to|is\s+to)\s+(?:always\s+|only\s+|not\s+)?"
    r"(?:state|say|name|report|mention|include|visit|write|conclude|cite|output|reply|respond)\b"
    r"|\b(?:append|add|include|repeat|print|output|insert|integrate|reply\s+with|respond\s+with)\b[^.]{0,60}"
    r"\b(?:exact\s+(?:token|phrase|text|words?|string)|(?:your|every|each|the)\s+(?:reply|response|answer|summary|output|"
    r"review)|to\s+the\s+user)\b"
    r"|\b(?:system|hidden|important\s+new)\s*(?:note|prompt|message|instructions?|override)\b[^\n]{0,200}"
    r"\b(?:you|your|user|reply|answer|response|summary|output)\b"
    r"|\b(?:state|say|mention|write|put|show|insert|include|append)\b[^\n]{0,80}"
    r"\b(?:in|to|at\s+the\s+end\s+of)\s+(?:every|each|your|any)\s+(?:summary|reply|answer|response|report|output)\b",
    re.IGNORECASE,
)


def gives_orders(text: str) -> bool:
    """Tell whether a text orders its reader to write or do something, which is no statement about the world."""
    return _ORDERS.search(text) is not None
