"""Which of the found sources to read next."""

from collections.abc import Iterable, Sequence

from shared.domain.view import Candidate

GIVEN = "given"
"""The search key of sources that were given with the request and not found."""

READS_PER_ITERATION = 6
FLOOR = 3
"""How many of its best sources every search gets a chance to have read."""


def reads_of_iteration(left: int) -> int:
    """Return how many sources an iteration may read of those ``left``: half, so that what it finds can be followed."""
    return min(READS_PER_ITERATION, (left + 1) // 2)


def given_reads(candidates: Iterable[Candidate], taken: frozenset[str], room: int) -> tuple[Candidate, ...]:
    """Return the given sources that were not read before, in their order, at most ``room``."""
    waiting = (c for c in candidates if c.search_key == GIVEN and c.source_id not in taken)
    return tuple(sorted(waiting, key=lambda c: (c.rank, c.source_id)))[: max(room, 0)]


def choose_reads(
    searches: Sequence[str], candidates: Iterable[Candidate], taken: frozenset[str], room: int
) -> tuple[Candidate, ...]:
    """Return at most ``room`` sources to read, the best of each search first, round-robin in the order of ``searches``.

    ``taken`` are the sources read before. No search gives more than `FLOOR` documents of the library, so that one query
    cannot crowd out the others; pages of the web, whose order is a guess from snippets, fill the room that is left. The
    result depends on ranks alone, never on the order in which searches ended.
    """
    lanes = {key: [] for key in searches}  # type: dict[str, list[Candidate]]
    for candidate in sorted(candidates, key=lambda c: (c.rank, c.source_id)):
        lane = lanes.get(candidate.search_key)
        if lane is None or candidate.source_id in taken or (len(lane) >= FLOOR and candidate.document_id is not None):
            continue
        lane.append(candidate)
    chosen: dict[str, Candidate] = {}
    for place in range(max(map(len, lanes.values()), default=0)):
        for key in searches:
            if place < len(lanes[key]) and len(chosen) < room:
                chosen.setdefault(lanes[key][place].source_id, lanes[key][place])
    return tuple(chosen.values())
