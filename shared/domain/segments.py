"""Sentences with exact offsets, for Latin and other cased scripts, and for Chinese and Japanese.

A line is a block: no segment crosses a newline. A table row (a line of cells with " | " between them) is one segment, a
list item or heading one or more. The rules are deterministic and carry a version, because stored evidence names
segments by number: change a rule, and the version goes up.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from shared.domain.abbreviations import AFTER_ORDINAL, ALWAYS_CONTINUED, BEFORE_NUMBER, MAY_END, OPENERS

SEGMENTER_VERSION = "1"
MAX_SEGMENT = 1_000
ROW_SEPARATOR = " | "

_LINE = re.compile(r"\S(?:[^\n]*\S)?")
_STOPS = ".!?…‽؟۔।॥።։"
_CLOSERS = "\"'”’»›)\\]}）」』】》〉〕”"
_NOTE_MARK = r"\[[\d,;–\- ]{1,12}\]|\[[a-z]\]|[⁰¹²³⁴-⁹]"
# Either a stop that needs no space after it, or one that does and may carry a flattened note number ("boats.12 The").
_STOP = re.compile(
    rf"(?P<wide>[。！？｡]++|．(?!\d))(?P<wide_close>[{_CLOSERS}]*+)"
    rf"|(?<![{_STOPS}])(?P<stop>[{_STOPS}]++)"
    rf"(?:(?P<note>(?<=[a-z)]\.)\d{{1,3}}+)|(?P<close>(?:[{_CLOSERS}]|{_NOTE_MARK})*+))(?=\s)"
)
_NEXT = re.compile(r"\s*(?P<opening>[\"'“‘«‹(\[{¿¡–—-]*)\s*(?P<word>[^\W\d_]+|\d|\S?)(?P<dot>\.?)")
_PREVIOUS_WORD = re.compile(r"[^\s\"'“‘«(\[{/–—]*\Z")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]{1,2}")
_LABEL = re.compile(r"\d|[IVXLCivxlc]+\b|[A-Za-z]\b")
_LOOK_BACK = 40  # code points; no abbreviation is longer
_LIST_MARK = re.compile(r"(?:[-*•‣◦·–]\s+)?[(\[]?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxIVX]{1,5})\Z")
_CONTINUES_WIDE = frozenset("とっのはがをにでもや、，,；;：:はなだね")
_BREAKS = (re.compile(r"\s\|\s|[;:；：]\s*|\s[–—]\s|[。！？]"), re.compile(r",\s|[，、]"), re.compile(r"\s"))


@dataclass(frozen=True, slots=True)
class Segment:
    """A range of code points of the text, end exclusive, that neither begins nor ends with white space."""

    start: int
    end: int


def segment(text: str) -> tuple[Segment, ...]:
    """Split `text` into its segments, in order; together they hold every character that is not white space."""
    found: list[Segment] = []
    for line in _LINE.finditer(text):
        start, end = line.span()
        cuts = () if text.find(ROW_SEPARATOR, start, end) >= 0 else _sentence_ends(text, start, end)
        for cut in (*cuts, end):
            _append(found, text, start, cut)
            start = cut
    return tuple(found)


def _append(found: list[Segment], text: str, start: int, end: int) -> None:
    """Add text[start:end] without its outer white space, in pieces where it is too long."""
    while True:
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        if start == end:
            return
        if end - start <= MAX_SEGMENT:
            found.append(Segment(start, end))
            return
        cut = _long_cut(text, start)
        _append(found, text, start, cut)
        start = cut


def _long_cut(text: str, start: int) -> int:
    """Return where to cut a segment that is too long: after a clause, else after a word, else at the limit."""
    low, high = start + MAX_SEGMENT // 2, start + MAX_SEGMENT
    for pattern in _BREAKS:
        ends = [match.end() for match in pattern.finditer(text, low, high)]
        if ends:
            return ends[-1]
    return high


def _sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    """Yield where the sentences of one line end, the last one's end left out."""
    for match in _STOP.finditer(text, start, end):
        cut = match.end()
        if cut >= end:
            return
        if match.group("wide"):
            ends = not (match.group("wide_close") and text[cut] in _CONTINUES_WIDE)
        else:
            ends = _ends_sentence(text, start, match, end)
        if ends:
            yield cut


def _ends_sentence(text: str, line_start: int, match: re.Match[str], line_end: int) -> bool:
    """Tell whether a stop followed by white space ends a sentence."""
    following = _NEXT.match(text, match.end(), line_end)
    if following is None or not _may_open(following):
        return False
    if match.group("note"):
        return following.group("word")[0].isupper()
    if match.group("stop") != "." or match.group("close"):
        return True
    before = text[max(line_start, match.start() - _LOOK_BACK) : match.start()]
    if match.start() - line_start <= _LOOK_BACK and _LIST_MARK.match(before):
        return False
    previous = _PREVIOUS_WORD.search(before)
    return _period_ends(previous.group() if previous else "", following)


def _may_open(following: re.Match[str]) -> bool:
    """Tell whether a sentence can begin so: not with a small letter, nor with a mark other than an opening one."""
    word = following.group("word")
    return bool(word) and not word[0].islower() and (word[0].isalnum() or bool(following.group("opening")))


def _is_initials(token: str) -> bool:
    """Tell whether a word is one capital letter, or letters with stops between them."""
    return (len(token) == 1 and token.isupper()) or _DOTTED.fullmatch(token) is not None


def _period_ends(token: str, following: re.Match[str]) -> bool:
    """Tell whether the full stop after `token` ends a sentence, from what follows."""
    word, after = token.casefold(), following.group("word")
    opener = after.casefold() in OPENERS and not (len(after) == 1 and following.group("dot"))
    if word in ALWAYS_CONTINUED:
        return False
    if word in MAY_END or _is_initials(token):
        return opener
    if word in BEFORE_NUMBER:
        labelled = _LABEL.match(after) or following.group("opening")
        return not labelled or (opener and len(after) > 1)
    return not (len(word) <= 2 and word.isdecimal() and after.casefold() in AFTER_ORDINAL)
