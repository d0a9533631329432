"""Chains of questions: what a question points back to, and the names that lead from there to its answer.

"Who built the pier, and where were its blocks cast?" The second part names no pier; a source that answers it may know
only the builder. The builder's name, found beside the pier, links the two.
"""

import re
from collections.abc import Sequence

from shared.domain.text import content_terms

BESIDE = 0.6
"""Share of the terms of what a question points back to that a text must hold to stand beside it."""

_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'’-]+(?:\s+[A-Z][\w'’-]+)*")


def names_in(text: str) -> list[str]:
    """Return the capitalised names in a text, in order; a capital that opens the text or a sentence is passed over."""
    return _NAME.findall(text)


def beside(text: str, context: frozenset[str]) -> bool:
    """Tell whether a text speaks of what a question points back to."""
    return len(context & set(content_terms(text))) >= BESIDE * len(context)


def linking_names(texts: Sequence[str], context: frozenset[str]) -> frozenset[str]:
    """Return the names that stand beside what a question points back to, that itself apart."""
    found = {name for text in texts if beside(text, context) for name in names_in(text)}
    return frozenset(name for name in found if not set(content_terms(name)) <= context)


def linked(text: str, context: frozenset[str], names: frozenset[str]) -> bool:
    """Tell whether a text speaks of what a question points back to, or of a name that leads there."""
    return beside(text, context) or any(name in text for name in names)
