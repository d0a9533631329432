"""Sentences that point back: those that say of what stands before them, and mean nothing beside another text."""

import re

_POINTS = re.compile(
    r"\W*(?:it|its|they|their|he|she|his|her|this|these|that|those)\b(?!\s+(?:is|was)\s+(?:said|known|believed)\b)",
    re.I,
)
_LEANS = re.compile(
    r"\W*(?:it|its|they|their|he|she|his|her|this|these|that|those|such|there|here|both|neither|"
    r"however|but|and|or|so|thus|hence|then|therefore|moreover|furthermore|instead|otherwise|also|yet|"
    r"(?:for|in)\s+(?:this|that|these|those|such)|as\s+(?:a\s+result|such))\b",
    re.I,
)
_DEFINITE = re.compile(
    r"\b(?:the|this|that|these|those|such)\s+(?:(?:same|new|old|current|present|proposed|original|above|following)\s+)?"
    r"(?:above|former|latter|proposals?|documents?|papers?|reports?|stud(?:y|ies)|plans?|projects?|ideas?|authors?|"
    r"texts?|pages?|articles?|rules?|requests?|forms?|meetings?|drafts?|motions?|bills?|results?|peps?|rfcs?)"
    r"(?!\s+(?:of|on|for|that|which|by|in|from|about|to\s+add)\b)(?!\s+(?-i:[A-Z\d]))\b",
    re.I,
)


def points_back(sentence: str) -> bool:
    """Tell whether a sentence begins with a word that stands for a thing named before it ("It is 33 m long.")."""
    return _POINTS.match(sentence) is not None


def names_its_text(sentence: str) -> bool:
    """Tell whether a sentence speaks of "the proposal", "this report" or the like: of what its own text is."""
    return _DEFINITE.search(sentence) is not None


def leans_on_its_text(sentence: str) -> bool:
    """Tell whether a sentence says of a thing that only its own text names ("it", "this", "the proposal").

    Beside a sentence of another text such words would mean something else.
    """
    return _LEANS.match(sentence) is not None or names_its_text(sentence)
