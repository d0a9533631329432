"""Which parts of a source the reader is shown for a question: short overlapping windows, the best by their words."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.domain.maps import Heading, nearest_heading
from shared.domain.rank import CorpusStats
from shared.domain.text import content_terms

WINDOW_CHARS = 340
"""A window ends with the segment that makes it at least this long."""

LONGEST_WINDOW = 1_000
"""No segment is added to a window that it would make longer than this."""

WINDOWS_PER_QUESTION = 10
"""Windows of one source that are read for one question."""

ABOVE = 0.5
"""What a word of the question weighs that stands only in the title or heading above a window."""


@dataclass(frozen=True, slots=True)
class Window:
    """A run of segments (end exclusive) with its bounds in the text, what stands above it, and its words' score.

    `held` is the share of the question's weight that it holds, 0 to 1; `held_with` counts title and heading in full.
    """

    first: int
    last: int
    start: int
    end: int
    above: str
    held: float = 0.0
    held_with: float = 0.0
    score: float = 0.0


def windows_of(segments: Sequence[tuple[int, int]], headings: Sequence[Heading], title: str) -> list[Window]:
    """Cut a text, given by its segments, into overlapping windows; headings stand above windows, not in them."""
    heads = {(h.start, h.end) for h in headings}
    found: list[Window] = []
    place = 0
    while place < len(segments):
        if segments[place] in heads:
            place += 1
            continue
        last = _window_end(segments, heads, place)
        start, end = segments[place][0], min(segments[last - 1][1], segments[place][0] + LONGEST_WINDOW)
        heading = nearest_heading(headings, start)
        above = (
            title if heading is None or heading.text == title else f"{title}, {heading.text}" if title else heading.text
        )
        found.append(Window(place, last, start, end, above))
        whole = last == len(segments) or segments[last] in heads
        place = last if whole else max(place + 1, (place + last + 1) // 2)
    return found


def _window_end(segments: Sequence[tuple[int, int]], heads: set[tuple[int, int]], first: int) -> int:
    start = segments[first][0]
    last = first + 1
    while last < len(segments) and segments[last] not in heads:
        if segments[last - 1][1] - start >= WINDOW_CHARS or segments[last][1] - start > LONGEST_WINDOW:
            break
        last += 1
    return last


def best_windows(
    text: str, windows: Sequence[Window], question: str, stats: CorpusStats, most: int = WINDOWS_PER_QUESTION
) -> list[Window]:
    """Return the windows that hold most of the question, best first; none that holds nothing of it."""
    wanted = {term: stats.weight(term) for term in set(content_terms(question))}
    total = sum(wanted.values()) or 1.0
    scored = []
    for window in windows:
        own = set(content_terms(text[window.start : window.end]))
        over = set(content_terms(window.above)) - own
        held = sum(weight for term, weight in wanted.items() if term in own) / total
        beside = sum(weight for term, weight in wanted.items() if term in over) / total
        if held > 0:
            scored.append(
                Window(
                    window.first,
                    window.last,
                    window.start,
                    window.end,
                    window.above,
                    held,
                    held + beside,
                    held + ABOVE * beside,
                )
            )
    return sorted(scored, key=lambda w: (-w.score, w.start))[:most]
