"""Proper names: the words of a statement that name something and so have to stand in what it cites."""

import re
import unicodedata
from collections.abc import Iterable

from shared.domain.numbers import quantities
from shared.domain.segments import segment
from shared.domain.text import STOP_WORDS, clean

_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_JOINT = re.compile(r"[-&]")
_POSSESSIVE = re.compile(r"['’]s?$")


def proper_names(text: str) -> tuple[str, ...]:
    """Return the words that name something, as written: capitalised inside a sentence, or letters and digits mixed.

    A capital at the start of a sentence tells nothing and is passed over, as are words that belong to a figure or date.
    """
    taken = [(q.start, q.end) for q in quantities(text)]
    openings = {s.start for s in segment(text)}
    found = []
    for match in _WORD.finditer(text):
        word = _POSSESSIVE.sub("", match.group())
        first = any(opening <= match.start() <= opening + 1 for opening in openings)
        inside = any(start <= match.start() < end for start, end in taken)
        if not inside and word.casefold() not in STOP_WORDS and _names(word, first=first):
            found.append(word)
    return tuple(found)


def missing_names(statement: str, spans: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the statement that stand in no span; those in a script that no span uses are passed over."""
    words = {part for match in _WORD.finditer(clean("\n".join(spans))) for part in _forms(match.group())}
    scripts = {script for word in words if (script := _script(word))}
    return tuple(n for n in proper_names(clean(statement)) if _script(n) in scripts and not _stands(n, words))


def _names(word: str, *, first: bool) -> bool:
    """Tell whether a word names something; ``first`` says that it opens a sentence."""
    coded = word[0].isalpha() and any(c.isdigit() for c in word)
    acronym = len(word) > 1 and word.isupper()
    return coded or acronym or (word[0].isupper() and not first)


def _forms(word: str) -> list[str]:
    """Return the spellings of a word: whole, without its dots, and the parts between its hyphens; all without case."""
    plain = _POSSESSIVE.sub("", unicodedata.normalize("NFKC", word).casefold())
    return [plain, plain.replace(".", ""), *_JOINT.split(plain)]


def _stands(name: str, words: set[str]) -> bool:
    """Tell whether a name stands among the words, written in one or by its hyphenated parts."""
    whole, undotted, *parts = _forms(name)
    return whole in words or undotted in words or words.issuperset(parts)


def _script(word: str) -> str | None:
    """Return the script of the word's first letter as Unicode names it (LATIN, CYRILLIC, GREEK, CJK ...)."""
    letter = next((c for c in word if c.isalpha()), None)
    return unicodedata.name(letter, "").partition(" ")[0] or None if letter else None
