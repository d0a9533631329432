"""Subtitles (SubRip, WebVTT) to text: what is spoken, in paragraphs, each with the time at which it begins."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from services.extractor.reading import plain
from services.extractor.reading.blocks import Block, assemble, parts_of, squeeze
from services.extractor.reading.charset import decode
from services.extractor.reading.lines import ends_sentence
from services.extractor.reading.mime import SUBRIP, WEBVTT
from services.extractor.reading.result import Reading
from shared.domain.text import clean

_TIMES = re.compile(
    r"\s*(?:(?P<hours>\d{1,3}):)?(?P<minutes>\d{1,2}):(?P<seconds>\d{2})[,.]\d{1,3}\s+-->\s+"
    r"(?:(?P<hours2>\d{1,3}):)?(?P<minutes2>\d{1,2}):(?P<seconds2>\d{2})[,.]\d{1,3}.*"
)
_TAGS = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|<\d[\d:.]{3,15}>|\{\\[^{}]{0,100}\}")
_VOICE = re.compile(r"<v(?:\.[\w.]+)?\s+([^<>]{1,100})>")
_ASIDE = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|\Z)")
_PAUSE_S = 3
_PARAGRAPH_S = 30
_LONGEST_S = 90


@dataclass(frozen=True, slots=True)
class _Cue:
    """What stands on the screen from one second to another."""

    start: int
    end: int
    text: str


def read(data: bytes, content_type: str | None) -> Reading:
    """Read subtitles; a text without times is read as plain text."""
    decoded = decode(data, content_type, markup=False)
    text = clean(decoded.text)
    paragraphs = list(_paragraphs(_cues(text)))
    if not paragraphs:
        return plain.read(data, content_type)
    blocks = [Block("paragraph", spoken, page=number) for number, (_, spoken) in enumerate(paragraphs, start=1)]
    made = assemble(blocks, page_count=len(blocks))
    return Reading(
        status="ok",
        reason="The text was cut at the limit." if made.truncated else None,
        mime=WEBVTT if text.startswith("WEBVTT") else SUBRIP,
        reader="subtitles",
        encoding=decoded.encoding,
        encoding_source=decoded.source,
        text=made.text,
        parts=parts_of(made, "time", [name for name, _ in paragraphs]),
        truncated=made.truncated,
    )


def _cues(text: str) -> Iterator[_Cue]:
    """Yield the cues; blocks that hold none (a header, a note, a style) are passed over."""
    for block in re.split(r"\n[ \t]*\n", text):
        lines = [line for line in block.split("\n") if line.strip()]
        at = next((number for number, line in enumerate(lines[:3]) if _TIMES.fullmatch(line)), None)
        if at is None or _ASIDE.match(lines[0]):
            continue
        times = _TIMES.fullmatch(lines[at])
        spoken = squeeze(" ".join(map(_spoken, lines[at + 1 :])))
        if times is not None and spoken:
            yield _Cue(_seconds(times, ""), _seconds(times, "2"), spoken)


def _spoken(line: str) -> str:
    """Return a line without its marks; the name of a voice stands before what it says."""
    return unescape(_TAGS.sub("", _VOICE.sub(r"\1: ", line)))


def _seconds(times: re.Match[str], which: str) -> int:
    hours, minutes, seconds = (int(times[f"{unit}{which}"] or 0) for unit in ("hours", "minutes", "seconds"))
    return hours * 3600 + minutes * 60 + seconds


def _paragraphs(cues: Iterator[_Cue]) -> Iterator[tuple[str, str]]:
    """Yield the time and the words of each paragraph: it ends with a sentence after a while, or at a pause.

    Cues that are shown again while they grow (as speech recognition writes them) are told once.
    """
    words: list[str] = []
    begin = end = 0
    for cue in cues:
        if words and (cue.start - end > _PAUSE_S or _is_whole(end - begin, words[-1])):
            yield _clock(begin), " ".join(words)
            words = []
        if not words:
            begin = cue.start
        if words and cue.text.startswith(words[-1]):
            words[-1] = cue.text
        elif not (words and words[-1].endswith(cue.text)):
            words.append(cue.text)
        end = max(cue.end, cue.start)
    if words:
        yield _clock(begin), " ".join(words)


def _is_whole(seconds: int, last: str) -> bool:
    """Tell whether a paragraph is long enough: at the end of a sentence after a while, anywhere after a long one."""
    return seconds >= _LONGEST_S or (seconds >= _PARAGRAPH_S and ends_sentence(last))


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"
