"""Whether one line of a page goes on in the next, and how two such lines are joined."""

import re

from services.extractor.reading.hyphens import Vocabulary

_NO_WORDS = Vocabulary()
_TAIL = 40  # code points; what ends a line shows within them
_SENTENCE_END = re.compile(r"[.!?:;。！？：；…][\"'”’»)\]」』]*\Z")
_HYPHENATED = re.compile(r"(?P<head>[^\W\d_]{2,})[-\u00ad\u2010]\Z")
_LIST_START = re.compile(r"(?:[-–—*•‣◦▪●■○·]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]\s)")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff，。、；：！？「」『』（）]")


def starts_item(line: str) -> bool:
    """Tell whether a line begins with a bullet or a number as list items do."""
    return _LIST_START.match(line) is not None


def ends_sentence(line: str) -> bool:
    """Tell whether a line ends with a stop, a colon or a semicolon, closing quotes and brackets allowed after it."""
    return _SENTENCE_END.search(line[-_TAIL:]) is not None


def is_capitals(line: str) -> bool:
    """Tell whether a line is written in capitals, as headings are; figures and marks may be less than half of it."""
    if line == line.lower() or line != line.upper():
        return False
    letters = sum(1 for character in line if character.isalpha())
    return letters >= 4 and letters * 2 > len(line)


def continues(line: str, following: str) -> bool:
    """Tell whether `following` goes on with the sentence of `line`: no stop before, a small letter or mark after."""
    if not line or not following or starts_item(following):
        return False
    if _HYPHENATED.search(line[-_TAIL:]) and following[0].islower():
        return True
    return not ends_sentence(line) and (following[0].islower() or following[0] in ",;)]%&")


def glue(line: str, following: str, words: Vocabulary = _NO_WORDS) -> tuple[str, str]:
    """Return `line` as it should stand before `following`, and what to put between the two.

    A word cut by a hyphen is rejoined when its second half is small ("har-", "bour"), unless the words of the document
    tell that the hyphen belongs there. Chinese and Japanese take no space.
    """
    cut = _HYPHENATED.search(line[-_TAIL:])
    if cut and following[:1].islower():
        return (line, "") if words.keeps_hyphen(line, following) else (line[:-1], "")
    if line[-1:] in "-\u2010–/" and line[-2:-1].isalnum() and following[:1].isalnum():
        return line, ""
    if line and following and _UNSPACED.match(line[-1]) and _UNSPACED.match(following[0]):
        return line, ""
    return line, " "


def join_lines(lines: list[str], words: Vocabulary = _NO_WORDS) -> str:
    """Join lines of one paragraph into one line."""
    parts: list[str] = []
    for line in lines:
        if parts:
            parts[-1], between = glue(parts[-1], line, words)
            parts.append(between)
        parts.append(line)
    return "".join(parts)
