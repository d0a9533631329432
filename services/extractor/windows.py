"""Which parts of a long text a model gets to see: runs of neighbouring segments, the best-ranked ones first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shared.domain.rank import CorpusStats, bm25, stats_of
from shared.domain.text import content_terms

WINDOW_CHARS = 1_500
"""A window ends with the segment that makes it at least this long."""

SHOWN_CHARS = 24_000
"""Characters of one source that a model gets to see in one call."""

WORTH = 0.5
"""How well a window has to rank, beside the best of its query, for a further call to be made for it."""

Window = tuple[int, int]
"""A run of segments by number, end exclusive."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How much of a source is shown: the calls that may be made to do it."""

    max_calls: int = 1


def window_groups(
    text: str, segments: Sequence[tuple[int, int]], queries: Sequence[str], stats: CorpusStats, reading: Reading
) -> tuple[tuple[Window, ...], ...]:
    """Return the windows to show, one group a call: all of a short text, else the best for the queries.

    The whole text is ranked. Each query has its best window before any has its second, so
    that a question about one page of a long report is not crowded out by another about many. Further groups hold what
    ranks next, as long as it is worth a call. In a group, windows are in the order of the text, neighbours joined.
    Where ``stats`` knows no text, as in a run that reads the web alone, the windows themselves are the collection.
    """
    windows = tuple(_windows(segments))
    sizes = _sizes(windows, segments)
    if sum(sizes.values()) <= SHOWN_CHARS:
        return (_joined(windows),) if windows else ()
    lanes = _lanes(text, segments, windows, queries, stats)
    left = dict.fromkeys(_in_turn(lanes, worth=0.0), True)
    groups = [_filled(left, sizes)]
    worthy = dict.fromkeys((w for w in _in_turn(lanes, worth=WORTH) if w in left), True)
    while worthy and len(groups) < reading.max_calls:
        groups.append(_filled(worthy, sizes))
    return tuple(_joined(sorted(group)) for group in groups if group)


def best_segments(
    text: str, segments: Sequence[tuple[int, int]], queries: Sequence[str], stats: CorpusStats, most_chars: int
) -> range | frozenset[int]:
    """Return the numbers of the segments to look at: all of them, or those of the windows that rank best.

    The whole text is ranked, wherever in it something stands; windows that no query ranks fill what is left, in order.
    """
    if sum(end - start for start, end in segments) <= most_chars:
        return range(len(segments))
    windows = tuple(_windows(segments))
    sizes = _sizes(windows, segments)
    ranked = _in_turn(_lanes(text, segments, windows, queries, stats), worth=0.0)
    taken: set[int] = set()
    room = most_chars
    for window in dict.fromkeys((*ranked, *windows)):
        if sizes[window] <= room:
            taken.update(range(*window))
            room -= sizes[window]
    return frozenset(taken)


def _sizes(windows: Sequence[Window], segments: Sequence[tuple[int, int]]) -> dict[Window, int]:
    return {w: segments[w[1] - 1][1] - segments[w[0]][0] for w in windows}


def _lanes(
    text: str,
    segments: Sequence[tuple[int, int]],
    windows: Sequence[Window],
    queries: Sequence[str],
    stats: CorpusStats,
) -> list[list[tuple[Window, float]]]:
    """Return the windows in the order of each query; without a collection, they are the collection themselves."""
    terms = {w: content_terms(text[segments[w[0]][0] : segments[w[1] - 1][1]]) for w in windows}
    known = stats if stats.texts else stats_of(list(terms.values()))
    return [_ranked(windows, terms, content_terms(query), known) for query in queries]


def _in_turn(lanes: Sequence[Sequence[tuple[Window, float]]], worth: float) -> Iterator[Window]:
    """Yield the best window of each query, then the second of each, as long as they rank well enough in their lane."""
    for place in range(max(map(len, lanes), default=0)):
        for lane in lanes:
            if place < len(lane) and lane[place][1] >= worth * lane[0][1]:
                yield lane[place][0]


def _filled(left: dict[Window, bool], sizes: Mapping[Window, int]) -> list[Window]:
    """Take windows out of what is left until a call is full; one that alone is too long for a call is dropped."""
    room = SHOWN_CHARS
    group = []
    for window in tuple(left):
        if sizes[window] <= room:
            group.append(window)
            room -= sizes[window]
        if sizes[window] > SHOWN_CHARS or (group and group[-1] == window):
            del left[window]
    return group


def _ranked(
    windows: Sequence[Window], terms: dict[Window, list[str]], query: Sequence[str], stats: CorpusStats
) -> list[tuple[Window, float]]:
    """Return the windows that hold anything of the query with their scores, best first."""
    scores = {w: bm25(query, terms[w], stats) for w in windows}
    return [(w, scores[w]) for w in sorted((w for w in windows if scores[w] > 0), key=lambda w: (-scores[w], w))]


def _windows(segments: Sequence[tuple[int, int]]) -> Iterator[Window]:
    first = size = 0
    for number, (start, end) in enumerate(segments):
        size += end - start
        if size >= WINDOW_CHARS:
            yield first, number + 1
            first, size = number + 1, 0
    if first < len(segments):
        yield first, len(segments)


def _joined(windows: Sequence[Window]) -> tuple[Window, ...]:
    joined: list[Window] = []
    for first, last in windows:
        if joined and joined[-1][1] == first:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return tuple(joined)
