"""Sentences of a source that may answer a question: by words alone in any language, by the reader where it can read."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from services.extractor.engines.reading import Window, best_windows, windows_of
from services.extractor.engines.spans import ExtractRequest, looked_at
from shared.domain.certainty import (
    READER,
    WORDS,
    Candidate,
    Sought,
    certainty,
    figures_of,
    reads,
    sought,
    with_reading,
)
from shared.domain.evidence import gives_orders
from shared.domain.segments import ROW_SEPARATOR
from shared.domain.text import content_terms
from shared.ports.reader import Pair, Reader, ReaderUnavailable

SHORTEST_SEGMENT_TERMS = 3
"""A segment of fewer content terms is a heading or a fragment: by words alone it says nothing."""

_STOPS = (".", "!", "…", ";", ":", "。", "！")


@dataclass(frozen=True, slots=True)
class Found:
    """A run of segments (end exclusive) that may answer, the words that do, and what is known of it as figures."""

    first: int
    last: int
    answer: tuple[int, int] | None
    figures: dict[str, float]
    certainty: float


def find(request: ExtractRequest, question: str, reader: Reader | None) -> tuple[str, list[Found]]:
    """Return who looked, ``reader`` or ``words``, and what may answer, the surest first.

    Without a reader, and where it cannot read the question or cannot be loaded, words alone decide.
    """
    near = looked_at(request)
    windows = [w for w in windows_of(request.segments, request.headings, request.title) if w.first in near]
    chosen = best_windows(request.text, windows, question, request.stats)
    known = sought(question, request.stats)
    if reader is not None and reads(question):
        try:
            return "reader", _sorted(_by_reader(request, known, chosen, reader))
        except ReaderUnavailable:
            return "words", _sorted(_by_words(request, known, chosen))
    return "words", _sorted(_by_words(request, known, chosen))


def _sorted(found: Iterator[Found]) -> list[Found]:
    """Return the surest finding of every run of segments, best first."""
    best: dict[tuple[int, int], Found] = {}
    for one in found:
        place = one.first, one.last
        if place not in best or one.certainty > best[place].certainty:
            best[place] = one
    return sorted(best.values(), key=lambda f: (-f.certainty, f.first))


def _by_words(request: ExtractRequest, question: Sought, windows: Sequence[Window]) -> Iterator[Found]:
    heads = {(h.start, h.end) for h in request.headings}
    seen: set[int] = set()
    for window in windows:
        for number in range(window.first, window.last):
            start, end = request.segments[number]
            text = request.text[start:end]
            if number in seen or (start, end) in heads or not _says_something(text):
                continue
            seen.add(number)
            figures = figures_of(_candidate(request, number, window.above), question)
            if figures["own"] > 0:
                yield Found(number, number + 1, None, figures, certainty(figures, WORDS))


def _by_reader(request: ExtractRequest, question: Sought, windows: Sequence[Window], reader: Reader) -> Iterator[Found]:
    pairs = [Pair(question.text, request.text[w.start : w.end], w.above) for w in windows]
    for window, reading in zip(windows, reader.read(pairs), strict=True):
        if reading.end <= reading.start:
            continue
        start, end = window.start + reading.start, window.start + reading.end
        first, last = _holding(request.segments, start, end)
        text = request.text[request.segments[first][0] : request.segments[last - 1][1]]
        if gives_orders(text):
            continue
        figures = figures_of(_candidate(request, first, window.above, last), question)
        figures = with_reading(figures, reading.verdict, reading.margin)
        yield Found(first, last, (start, end), figures, certainty(figures, READER))


def _candidate(request: ExtractRequest, first: int, above: str, last: int | None = None) -> Candidate:
    """Return segments with the one before them, as words are counted."""
    stop = request.segments[(last or first + 1) - 1][1]
    before = request.text[slice(*request.segments[first - 1])] if first else ""
    return Candidate(request.text[request.segments[first][0] : stop], before, above)


def _holding(segments: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """Return the run of segments (end exclusive) that holds a range of the text."""
    first = max(bisect_right(segments, start, key=itemgetter(0)) - 1, 0)
    last = max(bisect_left(segments, end, key=itemgetter(0)), first + 1)
    return first, last


def _says_something(text: str) -> bool:
    """Tell whether a segment states something by itself: a sentence, an item or a row; no title, question or order."""
    states = text.rstrip("\"'”’)]»」』").endswith(_STOPS) or ROW_SEPARATOR in text or text.startswith("- ")
    return states and len(set(content_terms(text))) >= SHORTEST_SEGMENT_TERMS and not gives_orders(text)
