"""Which parts of a long text a model gets to see: runs of neighbouring segments, the best-ranked ones first."""

from collections.abc import Iterator, Sequence

from shared.domain.rank import CorpusStats, bm25, stats_of
from shared.domain.text import content_terms

WINDOW_CHARS = 1_500
"""A window ends with the segment that makes it at least this long."""

SHOWN_CHARS = 24_000
"""Characters of one source that a model gets to see."""

Window = tuple[int, int]
"""A run of segments by number, end exclusive."""


def best_windows(
    text: str, segments: Sequence[tuple[int, int]], queries: Sequence[str], stats: CorpusStats, max_chars: int
) -> tuple[Window, ...]:
    """Return the windows to show, in the order of the text: all of a short text, else the best for the queries.

    Only the first ``max_chars`` characters are looked at. Each query has its best window before any has its second, so
    that a question about one page of a long report is not crowded out by another about many. Neighbours are joined.
    Where ``stats`` knows no text, as in a run that reads the web alone, the windows themselves are the collection.
    """
    windows = tuple(_windows(segments, max_chars))
    sizes = {w: segments[w[1] - 1][1] - segments[w[0]][0] for w in windows}
    if sum(sizes.values()) <= SHOWN_CHARS:
        return _joined(windows)
    terms = {w: content_terms(text[segments[w[0]][0] : segments[w[1] - 1][1]]) for w in windows}
    known = stats if stats.texts else stats_of(list(terms.values()))
    lanes = [_ranked(windows, terms, content_terms(query), known) for query in queries]
    chosen: dict[Window, None] = {}
    room = SHOWN_CHARS
    for place in range(len(windows)):
        for lane in lanes:
            window = lane[place] if place < len(lane) else None
            if window is not None and window not in chosen and sizes[window] <= room:
                chosen[window] = None
                room -= sizes[window]
    return _joined(sorted(chosen))


def _ranked(
    windows: Sequence[Window], terms: dict[Window, list[str]], query: Sequence[str], stats: CorpusStats
) -> list[Window]:
    """Return the windows that hold anything of the query, best first."""
    scores = {w: bm25(query, terms[w], stats) for w in windows}
    return sorted((w for w in windows if scores[w] > 0), key=lambda w: (-scores[w], w))


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
