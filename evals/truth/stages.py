"""Where a run loses the answer to a question: the first stage that it does not pass."""

from collections.abc import Callable, Collection
from enum import StrEnum

from evals.inprocess.world import World


class Stage(StrEnum):
    """How far an answer came."""

    NOWHERE = "in no gold document"
    NOT_FOUND = "not found"
    NOT_READ = "found, not read"
    NOT_KEPT = "read, not kept"
    NOT_CHOSEN = "kept, not written"
    IN_REPORT = "in the report"
    IN_SHORT_ANSWER = "in the short answer"


def stage_of(world: World, holding: Collection[str], report: str, holds: Callable[[str], bool]) -> Stage:
    """Return how far the answer came in a run.

    ``holding`` are the addresses of the gold documents with the answer, ``report`` is the report as it is cut, and
    ``holds`` tells whether a text has the answer in it.
    """
    last = world.reports[-1]
    answer = (*last.answer_lead, last.short_answer) if last.short_answer is not None else ()
    found = {s.url: s.snapshot_sha256 is not None for s in world.sources_.values()}
    passed = (
        (holds(" ".join(s.text for s in answer)), Stage.IN_SHORT_ANSWER),
        (holds(report), Stage.IN_REPORT),
        (any(holds(e.excerpt) for e in world.evidence_.values()), Stage.NOT_CHOSEN),
        (any(found.get(url) for url in holding), Stage.NOT_KEPT),
        (any(url in found for url in holding), Stage.NOT_READ),
        (bool(holding), Stage.NOT_FOUND),
    )
    return next((stage for reached, stage in passed if reached), Stage.NOWHERE)
