"""Claim keys: what a piece of evidence speaks about, so that different words for the same thing meet."""

from shared.domain.text import content_terms

MAX_TERMS = 8
"""Terms of one part of a key that count; whatever needs more is no name of a thing."""


def claim_key(subject: str, measure: str, scope: str) -> str | None:
    """Return the key of a claim: the search terms of each part, without order; None when it names no thing or measure.

    "the Sill Reach basin", "its depth" and "Depth" of "Sill Reach Basin" give the same key.
    """
    parts = [_part(subject), _part(measure), _part(scope)]
    return "|".join(parts) if parts[0] and parts[1] else None


def _part(text: str) -> str:
    return " ".join(sorted(dict.fromkeys(content_terms(text)))[:MAX_TERMS])
