"""Texts as the checks of figures read them."""

from shared.domain.excerpts import folded
from shared.domain.segments import segment


def sentence_lines(text: str) -> str:
    """Return a text with each sentence folded and on its own line, so that no figure is read across two of them."""
    return "\n".join(folded(text[s.start : s.end]) for s in segment(text))
