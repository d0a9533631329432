"""A light English stemmer: plurals, -ed, -ing and final y, and nothing that changes a word's meaning.

Steps 1a to 1c of M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980. The later steps (ational to
ate, and so on) are left out: they join words that a reader tells apart.
"""

import re
from functools import lru_cache

_ENGLISH = re.compile(r"[a-z]{3,}")
_VOWEL = re.compile(r"[aeiou]|(?<=[^aeiou])y")
_MEASURE = re.compile(r"(?:[aeiou]|(?<=[^aeiou])y)(?=[^aeiouy])")
_SHORT_END = re.compile(r"[^aeiou][aeiouy][^aeiouwxy]$")
_SAME_ALL_ALONG = frozenset(("news", "during", "being", "gas", "lens", "series", "species", "always", "perhaps"))


def _without_plural(word: str) -> str:
    """Apply step 1a: caresses to caress, ponies to poni, ties to tie, cats to cat."""
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ies"):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _repaired(stem_: str) -> str:
    """Put back what -ed and -ing took: conflat to conflate, hopp to hop, fil to file."""
    if stem_.endswith(("at", "bl", "iz")):
        return stem_ + "e"
    if len(stem_) > 2 and stem_[-1] == stem_[-2] and stem_[-1] not in "aeioulsz":
        return stem_[:-1]
    if len(_MEASURE.findall(stem_)) == 1 and _SHORT_END.search(stem_):
        return stem_ + "e"
    return stem_


def _without_tense(word: str) -> str:
    """Apply step 1b: agreed to agree, plastered to plaster, motoring to motor, but sing stays."""
    if word.endswith("eed"):
        return word[:-1] if _MEASURE.search(word[:-3]) else word
    for ending in ("ed", "ing"):
        if word.endswith(ending) and _VOWEL.search(word[: -len(ending)]):
            return _repaired(word[: -len(ending)])
    return word


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; a word that is not plain English letters comes back as it is."""
    if word in _SAME_ALL_ALONG or not _ENGLISH.fullmatch(word):
        return word
    word = _without_tense(_without_plural(word))
    if len(word) > 2 and word[-1] == "y" and _VOWEL.search(word[:-1]):
        return word[:-1] + "i"
    return word
