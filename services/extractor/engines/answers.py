"""Sentences of a source that may answer a question: by words alone in any language, by the reader where it can read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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

NO_SPAN = -10.0
"""The margin of a sentence that holds no span of the reader's."""

_BREAKS = (", ", "; ", ": ", " (", ")", " – ", " — ")
"""Where a clause begins or ends."""

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
    for number, (above, _) in _sentences(request, windows).items():
        figures = figures_of(_candidate(request, number, above), question)
        if figures["own"] > 0:
            yield Found(number, number + 1, None, figures, certainty(figures, WORDS))


def _by_reader(request: ExtractRequest, question: Sought, windows: Sequence[Window], reader: Reader) -> Iterator[Found]:
    """Yield every sentence of the windows with what words say of it, and what the reader says of its windows."""
    pairs = [Pair(question.text, request.text[w.start : w.end], w.above) for w in windows]
    readings = dict(zip(windows, reader.read(pairs), strict=True))
    for number, (above, held) in _sentences(request, windows).items():
        start, end = request.segments[number]
        best = max((readings[window] for window in held), key=lambda r: r.margin)
        inside = [
            (readings[w].margin, w.start + readings[w].start, w.start + readings[w].end)
            for w in held
            if start <= w.start + readings[w].start < w.start + readings[w].end <= end
        ]
        margin, first, last = max(inside, default=(NO_SPAN, start, end))
        words = clause_around(request.text, (start, end), (first, last)) if inside else None
        figures = figures_of(_candidate(request, number, above), question)
        figures = with_reading(figures, best.verdict, best.margin, margin)
        yield Found(number, number + 1, words, figures, certainty(figures, READER))


def clause_around(text: str, sentence: tuple[int, int], words: tuple[int, int]) -> tuple[int, int]:
    """Return the clause of a sentence that holds some words of it, all as code points of the text.

    The reader's words alone are often a part of what answers ("Brand" of "the Brand Works").
    """
    before, after = text[sentence[0] : words[0]], text[words[1] : sentence[1]].rstrip(".!?。！？ ")
    start = max((before.rfind(mark) + len(mark) for mark in _BREAKS if mark in before), default=0)
    end = min((after.find(mark) for mark in _BREAKS if mark in after), default=len(after))
    low, high = sentence[0] + start, words[1] + end
    low += len(text[low:high]) - len(text[low:high].lstrip(" -*•"))
    return low, high


def _sentences(request: ExtractRequest, windows: Sequence[Window]) -> dict[int, tuple[str, list[Window]]]:
    """Return the segments of the windows that say something, each with what stands above it and its windows."""
    heads = {(h.start, h.end) for h in request.headings}
    found: dict[int, tuple[str, list[Window]]] = {}
    for window in windows:
        for number in range(window.first, window.last):
            start, end = request.segments[number]
            if number in found:
                found[number][1].append(window)
            elif (start, end) not in heads and _says_something(request.text[start:end]):
                found[number] = (window.above, [window])
    return found


def _candidate(request: ExtractRequest, number: int, above: str) -> Candidate:
    """Return a segment with the one before it, as words are counted."""
    before = request.text[slice(*request.segments[number - 1])] if number else ""
    return Candidate(request.text[slice(*request.segments[number])], before, above)


def _says_something(text: str) -> bool:
    """Tell whether a segment states something by itself: a sentence, an item or a row; no title, question or order."""
    states = text.rstrip("\"'”’)]»」』").endswith(_STOPS) or ROW_SEPARATOR in text or text.startswith("- ")
    return states and len(set(content_terms(text))) >= SHORTEST_SEGMENT_TERMS and not gives_orders(text)
