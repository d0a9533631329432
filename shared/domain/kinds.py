"""The kinds of step: which queue each goes to, how long it may take, what people read of it."""

from dataclasses import dataclass

from shared.domain.states import StepKind


@dataclass(frozen=True, slots=True)
class KindSpec:
    """One kind of step. ``deadline_s`` bounds one try; ``phase`` and ``doing`` are what `progress` events say.

    A step that is ``in_turn`` needs one of its worker's processes before anything else, and is claimed once it has one.
    """

    queue: str
    deadline_s: float
    phase: str
    doing: str
    in_turn: bool = False


KINDS: dict[StepKind, KindSpec] = {
    StepKind.PLAN: KindSpec("planner", 120, "planning", "Planning"),
    StepKind.REVISE_PLAN: KindSpec("planner", 120, "planning", "Revising the plan"),
    StepKind.MANAGED: KindSpec("planner", 120, "searching", "Waiting for the provider's research"),
    StepKind.DECIDE: KindSpec("planner", 120, "comparing_evidence", "Comparing evidence"),
    StepKind.SEARCH: KindSpec("fetcher", 60, "searching", "Searching"),
    StepKind.READ_SOURCE: KindSpec("fetcher", 120, "reading_source", "Reading a source"),
    StepKind.READ_IN_BROWSER: KindSpec("fetcher.browser", 120, "reading_source", "Reading a source in a browser"),
    StepKind.PARSE: KindSpec("extractor", 720, "reading_source", "Parsing a source", in_turn=True),
    StepKind.EXTRACT: KindSpec("extractor", 240, "extracting_evidence", "Extracting evidence", in_turn=True),
    StepKind.OUTLINE: KindSpec("synthesizer", 120, "synthesizing", "Outlining the report"),
    StepKind.WRITE_SECTION: KindSpec("synthesizer", 180, "synthesizing", "Writing a section"),
    StepKind.VERIFY: KindSpec("synthesizer", 300, "verifying", "Verifying statements"),
    StepKind.ASSEMBLE: KindSpec("synthesizer", 180, "synthesizing", "Assembling the report"),
    StepKind.REVERIFY: KindSpec("synthesizer", 180, "verifying", "Checking a report again"),
    StepKind.CANCEL_JOB: KindSpec("planner", 120, "searching", "Cancelling a provider's job"),
}

ASKS_A_MODEL = frozenset(
    {
        StepKind.PLAN,
        StepKind.REVISE_PLAN,
        StepKind.DECIDE,
        StepKind.EXTRACT,
        StepKind.OUTLINE,
        StepKind.WRITE_SECTION,
        StepKind.VERIFY,
    }
)
"""Kinds whose steps may ask a model: where models are slow, their deadlines are further off."""

QUEUES: tuple[str, ...] = tuple(dict.fromkeys(spec.queue for spec in KINDS.values()))


def kinds_of(queue: str) -> frozenset[StepKind]:
    """Return the kinds of step that go to a queue."""
    return frozenset(kind for kind, spec in KINDS.items() if spec.queue == queue)
