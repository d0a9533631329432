"""The English stemmer of M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980.

Words that share a stem count as the same word in ranking and alignment: "activate", "activation" and "activated". A
word that is not plain English letters comes back as it is.
"""

import re
from functools import lru_cache

_ENGLISH = re.compile(r"[a-z]{3,}")
_VOWEL = re.compile(r"[aeiou]|(?<=[^aeiou])y")
_MEASURE = re.compile(r"(?:[aeiou]|(?<=[^aeiou])y)(?=[^aeiouy])|(?<=[aeiou])(?=y)")
_SHORT_END = re.compile(r"[^aeiou][aeiouy][^aeiouwxy]$")
_SAME_ALL_ALONG = frozenset(("news", "during", "being", "gas", "lens", "series", "species", "always", "perhaps"))


def _rules(text: str) -> dict[str, str]:
    """Return suffix to replacement, the longest suffix first; "-" stands for nothing."""
    words = text.split()
    pairs = zip(words[::2], words[1::2], strict=True)
    return {suffix: "" if new == "-" else new for suffix, new in sorted(pairs, key=lambda pair: -len(pair[0]))}


_STEP_2 = _rules(
    "ational ate tional tion enci ence anci ance izer ize abli able alli al entli ent eli e ousli ous ization ize "
    "ation ate ator ate alism al iveness ive fulness ful ousness ous aliti al iviti ive biliti ble"
)
_STEP_3 = _rules("icate ic ative - alize al iciti ic ical ic ful - ness -")
_STEP_4 = _rules(
    "al - ance - ence - er - ic - able - ible - ant - ement - ment - ent - sion s tion t ou - ism - ate - iti - ous - "
    "ive - ize -"
)


def _measure(word: str) -> int:
    """Return how many times a vowel is followed by a consonant: Porter's m."""
    return len(_MEASURE.findall(word))


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
    if _measure(stem_) == 1 and _SHORT_END.search(stem_):
        return stem_ + "e"
    return stem_


def _without_tense(word: str) -> str:
    """Apply step 1b: agreed to agree, plastered to plaster, motoring to motor, but sing stays."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for ending in ("ed", "ing"):
        if word.endswith(ending) and _VOWEL.search(word[: -len(ending)]):
            return _repaired(word[: -len(ending)])
    return word


def _without_suffix(word: str, rules: dict[str, str], least: int) -> str:
    """Apply the rule of the longest suffix that the word has, where the measure of what is left is above ``least``."""
    suffix = next((s for s in rules if word.endswith(s)), None)
    if suffix is None:
        return word
    left = word[: -len(suffix)]
    new = rules[suffix]
    return left + new if _measure(left + new if new in ("s", "t") else left) > least else word


def _without_e(word: str) -> str:
    """Apply step 5: probate to probat, rate stays; controll to control."""
    if word.endswith("e"):
        left = word[:-1]
        measure = _measure(left)
        if measure > 1 or (measure == 1 and not _SHORT_END.search(left)):
            word = left
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


@lru_cache(maxsize=32768)
def stem(word: str) -> str:
    """Return the stem of a lower-case word."""
    if word in _SAME_ALL_ALONG or not _ENGLISH.fullmatch(word):
        return word
    word = _without_tense(_without_plural(word))
    if len(word) > 2 and word[-1] == "y" and _VOWEL.search(word[:-1]):
        word = word[:-1] + "i"
    word = _without_suffix(_without_suffix(word, _STEP_2, 0), _STEP_3, 0)
    return _without_e(_without_suffix(word, _STEP_4, 1))
