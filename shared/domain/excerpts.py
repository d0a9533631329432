"""Excerpts: the hash that names a piece of evidence, and the folding under which quoted words are compared."""

from shared.domain.ids import sha256_hex
from shared.domain.text import clean

_FOLDED = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u2039\u203a`\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
        "\u2026": "...",
    }
)


def evidence_sha256(snapshot_sha256: str, start: int, end: int, excerpt: str) -> str:
    """Return the sha256 that names a span: that of the UTF-8 of ``snapshot_sha256:start:end:excerpt``."""
    return sha256_hex(f"{snapshot_sha256}:{start}:{end}:{excerpt}".encode())


def one_line(text: str) -> str:
    """Return the text with every run of white space as one space, and none at its ends."""
    return " ".join(text.split())


def folded(text: str) -> str:
    """Return the text as it is compared: cleaned, white space as single spaces, one form for each quote and dash.

    Case, digits and every other character stay as they are, so two texts that fold alike say the same words.
    """
    return one_line(clean(text).translate(_FOLDED))
