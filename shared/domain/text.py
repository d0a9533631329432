"""The one function that cleans text, and the words of a text for searching.

Everything that is hashed, stored, shown or sent to a model has passed `clean` first, so that offsets computed anywhere
refer to the same characters.
"""

import re
import unicodedata
from collections.abc import Iterator

from shared.domain.stemming import stem

_SURROGATE = re.compile("[\ud800-\udfff]")
_CHARACTER_RANGES_TO_DROP = (
    (0x00, 0x08),  # C0 controls but tab, newline and carriage return; 0x0B, 0x0C and 0x1C to 0x1E break lines
    (0x0E, 0x1B),
    (0x1F, 0x1F),
    (0x7F, 0x84),  # DEL and C1 controls but NEL (0x85), which is a line break
    (0x86, 0x9F),
    (0xAD, 0xAD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x061C, 0x061C),  # Arabic letter mark
    (0x115F, 0x1160),  # Hangul fillers, shown as nothing
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),  # Mongolian selectors and vowel separator
    (0x200B, 0x200F),  # zero-width space and joiners, direction marks
    (0x202A, 0x202E),  # direction overrides
    (0x2060, 0x206F),  # word joiner, invisible operators, isolates
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),  # unassigned ignorable characters and interlinear annotation
    (0xFFFE, 0xFFFF),  # not characters
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),  # tag characters and more variation selectors: invisible, able to carry hidden words
)
_LINE_BREAKS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\r"
_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f"
_TRANSLATION: dict[int, str | None] = {
    **{code: None for first, last in _CHARACTER_RANGES_TO_DROP for code in range(first, last + 1)},
    **{ord(character): "\n" for character in _LINE_BREAKS},
    **{ord(character): " " for character in _SPACES},
}
_UNWANTED = re.compile(
    "["
    + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _CHARACTER_RANGES_TO_DROP)
    + re.escape(_LINE_BREAKS + _SPACES)
    + "]"
)


def clean(text: str) -> str:
    """Return `text` without anything invisible or unstorable; cleaning twice changes nothing.

    NUL, controls other than newline and tab, zero-width and direction characters, byte order marks, soft hyphens, tag
    characters and variation selectors are dropped; every kind of line break becomes a newline and every odd space a
    plain one; a surrogate pair becomes its character and a lone surrogate U+FFFD.
    """
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return text.translate(_TRANSLATION) if _UNWANTED.search(text) else text


def _marks() -> str:
    """Return the combining marks as a character class body; Python's ``\\w`` leaves them out and would cut words."""
    blocks = (
        (0x0300, 0x2000),
        (0x20D0, 0x2100),
        (0x302A, 0x3030),
        (0x3099, 0x309B),
        (0xA660, 0xAC00),
        (0xFE20, 0xFE30),
    )
    codes = (code for first, last in blocks for code in range(first, last))
    return "".join(chr(code) for code in codes if unicodedata.category(chr(code)).startswith("M"))


# Scripts written without spaces between words, or whose spaced units are too long to match whole.
UNSPACED = "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
UNSPACED += "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(
    rf"(?P<run>[{UNSPACED}]+)"
    r"|(?P<number>\d++(?:[.,]\d++){0,8}+(?![\w.]))"
    rf"|(?P<word>(?:(?![{UNSPACED}])[\w{_marks()}])+(?:['’](?:(?![{UNSPACED}])[^\W\d_])+)*)"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_POSSESSIVE = re.compile(r"['’]s?$")

_LONGEST_WORD = 40

STOP_WORDS: frozenset[str] = frozenset(
    """
    a about above after again against all am an and any are aren't as at be because been before being below between
    both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from
    further had hadn't has hasn't have haven't having he her here hers herself him himself his how i i'm if in into is
    isn't it it's its itself just let's me more most my myself no nor not now of off on once only or other our ours
    ourselves out over own s same she should shouldn't so some such t than that that's the their theirs them themselves
    then there there's these they they're this those through to too under until up very was wasn't we we're were weren't
    what what's when where which while who whom why will with won't would wouldn't you your yours yourself yourselves
    """.split()
)


_ACCENTED = re.compile("[\u00e0-\u024f\u1e00-\u1eff]")


def _without_accents(text: str) -> str:
    """Return a folded text with Latin letters without their accents: a question seldom has those of its sources."""
    return _ACCENTED.sub(lambda match: unicodedata.normalize("NFD", match.group())[0], text)


def _surface_tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, token) with kind "word", "number" or "run", from the folded text."""
    for match in _TOKEN.finditer(_without_accents(unicodedata.normalize("NFKC", text).casefold())):
        yield str(match.lastgroup), match.group()


def _term(kind: str, token: str) -> Iterator[str]:
    """Yield the search terms of one surface token."""
    if kind == "run":
        yield from (token[i : i + 2] for i in range(max(1, len(token) - 1)))
    elif kind == "number":
        yield token.replace(",", "") if _THOUSANDS.fullmatch(token) else token
    else:
        word = _POSSESSIVE.sub("", token).replace("'", "").replace("’", "").strip("_")
        if word:
            yield stem(word) if len(word) <= _LONGEST_WORD else word


def terms(text: str) -> list[str]:
    """Return the search terms of `text` in order: folded, English words stemmed, runs without spaces as bigrams."""
    return [term for kind, token in _surface_tokens(text) for term in _term(kind, token)]


def content_terms(text: str) -> list[str]:
    """Return `terms` without those of `STOP_WORDS`."""
    return [
        term
        for kind, token in _surface_tokens(text)
        if token.replace("’", "'") not in STOP_WORDS
        for term in _term(kind, token)
    ]


def content_words(text: str) -> list[str]:
    """Return the words of `text` that search terms are made of, as they are written."""
    return [word.strip(".,;:?!()\"'’") for word in text.split() if content_terms(word)]
