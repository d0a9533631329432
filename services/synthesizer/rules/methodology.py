"""The program's own sentences about how a report came to be."""

from collections.abc import Iterator
from dataclasses import dataclass

from shared.contracts.report import VerificationSummary
from shared.domain import stopping
from shared.domain.engines import MANAGED

_ENGINES = {
    "baseline": "One round of searches was made and one prompt wrote the text; every sentence passed the same check.",
    "extractive": "Every finding is a sentence of a source, word for word; no language model wrote or judged it.",
    **dict.fromkeys(
        MANAGED,
        "A provider's own research job searched and wrote; this run fetched the pages that it cites, and a sentence "
        "stands only where spans of them support it.",
    ),
    "llm": "A language model planned, chose passages and wrote; the figures and names of every sentence stand in them.",
}
_LIMITS = {
    "elapsed_s": "time",
    "iterations": "iterations",
    "searches": "searches",
    "fetches": "sources",
    "run_chars": "text to read",
    "model_calls": "calls to the model",
    "verification_calls": "checks by the model",
    "input_tokens": "text for the model to read",
    "output_tokens": "text for the model to write",
}
_STOPS = {
    stopping.FINISHED: "every required question had evidence",
    stopping.NO_NEW_INFORMATION: "three rounds in a row brought nothing new",
    stopping.ONLY_DUPLICATES: "only searches that repeat earlier ones were left",
    stopping.PROVIDER_FAILURES: "searching failed",
    stopping.UNDECIDED: "the model gave no usable decision on what to search for next",
    stopping.NO_EVIDENCE: "nothing was found that could be reported",
}


@dataclass(frozen=True, slots=True)
class Course:
    """How a run went, in figures."""

    engine: str
    questions: int
    searches: int
    found: int
    read: int
    copies: int
    evidence: int
    as_of: str | None
    published_later: int
    undated: int
    stop_reason: str | None
    verifier: str
    told: int | None = None
    """Sentences of a provider's report, where one has done the research."""
    unread: int = 0
    """Sources that research ended too soon to read."""
    omitted: int = 0
    """What of that report was not taken up: rows of tables and what is past the limits."""
    failed: int = 0
    """Those of the searches that gave no answer."""
    remarks: tuple[str, ...] = ()
    """Sentences about what could be read in part only, or not be asked."""
    unwritten: int = 0
    """Sections in which sentences of the sources stand in place of what the model wrote."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: "1 source", "2 sources"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def methodology(course: Course, summary: VerificationSummary) -> tuple[str, ...]:
    """Return the sentences of the methodology."""
    return tuple(_sentences(course, summary))


def _sentences(course: Course, summary: VerificationSummary) -> Iterator[str]:
    yield _found(course)
    if course.unread:
        were = "was" if course.unread == 1 else "were"
        yield f"{counted(course.unread, 'source')} {were} not read, because research ended first: see the gaps."
    if course.copies:
        one = course.copies == 1
        yield (
            f"{counted(course.copies, 'source')} {'is a copy of another' if one else 'are copies of others'} and "
            f"{'was' if one else 'were'} not counted as confirmation."
        )
    yield from course.remarks
    yield from _about_time(course)
    if course.engine in _ENGINES:
        yield _ENGINES[course.engine]
    if course.unwritten:
        yield (
            f"In {counted(course.unwritten, 'section')} sentences of the sources stand word for word, where nothing "
            "that the model wrote could be used or checked."
        )
    dropped = f"{summary.dropped:,} did not and {'was' if summary.dropped == 1 else 'were'} left out"
    yield (
        f"Of {counted(summary.statements, 'drafted sentence')}, {summary.emitted:,} passed the check: its citations "
        "lead to fetched texts, every figure and name stands there, and they support the sentence "
        f"({course.verifier}); {dropped}."
    )
    stop = stop_in_words(course.stop_reason)
    if course.told is not None and course.stop_reason == stopping.NO_NEW_INFORMATION:
        stop = "the provider's report held no more"
    if stop:
        yield f"Research stopped because {stop}."


def _found(course: Course) -> str:
    read = f"{counted(course.read, 'source')} could be read, and {counted(course.evidence, 'passage')}"
    if course.told is None:
        return f"{_searched(course)}; {read} bore on the questions."
    left_out = f" {counted(course.omitted, 'row or passage', 'rows or passages')} of it could not be taken up."
    told = f"The provider's report has {counted(course.told, 'sentence')} and cites {counted(course.found, 'source')}"
    return f"{told}; {read} bore on the sentences.{left_out if course.omitted else ''}"


def _searched(course: Course) -> str:
    """Say what the searches found; a search that failed has found nothing, and has not looked either."""
    searches, found = counted(course.searches, "search", "searches"), counted(course.found, "source")
    led = f"{counted(course.questions, 'question')} led to {searches}"
    if not course.failed:
        return f"{led}, which found {found}"
    if course.failed < course.searches:
        others = "the other" if course.searches - course.failed == 1 else "the others"
        return f"{led}, of which {course.failed:,} failed; {others} found {found}"
    every = "which failed" if course.searches == 1 else "all of which failed"
    return f"{led}, {every}; {found} came with the request" if course.found else f"{led}, {every}"


def _about_time(course: Course) -> Iterator[str]:
    if course.as_of is None:
        return
    yield f"The report is as of {course.as_of}."
    if course.published_later:
        were = "was" if course.published_later == 1 else "were"
        yield f"{counted(course.published_later, 'source')} published later {were} left out of the findings."
    if course.undated:
        were = "was" if course.undated == 1 else "were"
        yield f"{counted(course.undated, 'source')} without a known date {were} kept."


def stop_in_words(reason: str | None) -> str | None:
    """Return why research stopped as the end of a sentence, or None where nothing is known or worth saying."""
    if reason is None:
        return None
    kind, _, limit = reason.partition(":")
    if kind == "budget":
        return f"its limit on {_LIMITS.get(limit, limit)} was reached"
    return _STOPS.get(reason)
