"""Keeping a secret out of a sentence, without spoiling the sentence where the secret is none."""

import re

SHORTEST_SECRET = 4
SURELY_SECRET = 12
"""From this length on a key is taken out wherever it stands; a shorter one only where it stands by itself."""


def without_secret(sentence: str, secret: str | None) -> str:
    """Return a sentence in which the secret does not stand.

    A placeholder (``x``, ``EMPTY``, ``ollama``: a few characters, or letters alone) is no secret, and what it is spelt
    with stands in every sentence.
    """
    if not secret or len(secret) < SHORTEST_SECRET:
        return sentence
    if len(secret) >= SURELY_SECRET:
        return sentence.replace(secret, "…")
    if secret.isalpha():
        return sentence
    return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "…", sentence)
