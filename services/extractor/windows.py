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
    """How much of a source is read: characters that are looked at, and calls that may be made to show them."""

    max_chars: int
    max_calls: int = 1


def window_groups(
    text: str, segments: Sequence[tuple[int, int]], queries: Sequence[str], stats: CorpusStats, reading: Reading
) -> tuple[tuple[Window, ...], ...]:
    """Return the windows to show, one group a call: all of a short text, else the best for the queries.

    Only the first ``max_chars`` characters are looked at. Each query has its best window before any has its second, so
    that a question about one page of a long report is not crowded out by another about many. Further groups hold what
    ranks next, as long as it is worth a call. In a group, windows are in the order of the text, neighbours joined.
    Where ``stats`` knows no text, as in a run that reads the web alone, the windows themselves are the collection.
    """
    windows = tuple(_windows(segments, reading.max_chars))
    sizes = {w: segments[w[1] - 1][1] - segments[w[0]][0] for w in windows}
    if sum(sizes.values()) <= SHOWN_CHARS:
        return (_joined(windows),) if windows else ()
    terms = {w: content_terms(text[segments[w[0]][0] : segments[w[1] - 1][1]]) for w in windows}
    known = stats if stats.texts else stats_of(list(terms.values()))
    lanes = [_ranked(windows, terms, content_terms(query), known) for query in queries]
    left = dict.fromkeys(_in_turn(lanes, worth=0.0), True)
    groups = [_filled(left, sizes)]
    worthy = dict.fromkeys((w for w in _in_turn(lanes, worth=WORTH) if w in left), True)
    while worthy and len(groups) < reading.max_calls:
        groups.append(_filled(worthy, sizes))
    return tuple(_joined(sorted(group)) for group in groups if group)


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


def _windows(segments: Sequence[tuple[int, int]], max_chars: int) -> Iterator[Window]:
    first = read = size = 0
    for number, (start, end) in enumerate(segments):
        read += end - start
        if read > max_chars:
            break
        size += end - start
        if size >= WINDOW_CHARS:
            yield first, number + 1
            first, size = number + 1, 0
    else:
        number = len(segments)
    if first < number:
        yield first, number


def _joined(windows: Sequence[Window]) -> tuple[Window, ...]:
    joined: list[Window] = []
    for first, last in windows:
        if joined and joined[-1][1] == first:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return tuple(joined)
