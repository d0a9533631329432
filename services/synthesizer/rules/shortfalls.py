"""What a run tried and did not get: searches that failed, texts that were not looked through, or in part only."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.contracts.evidence import Source
from shared.domain.search import PROVIDERS
from shared.domain.states import StepKind, StepStatus
from shared.domain.view import RunView, StepView

MOST_TOLD = 10
"""Things of one kind that are told one by one."""


@dataclass(frozen=True, slots=True)
class Shortfalls:
    """Sentences for the gaps, and for the methodology; how many searches failed, and whether all of them did."""

    failed: int = 0
    all_failed: bool = False
    gaps: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


NO_SHORTFALLS = Shortfalls()


def shortfalls_of(view: RunView, sources: Sequence[Source], cut_prompts: Mapping[str, int]) -> Shortfalls:
    """Return what the steps of the run's epoch did not get."""
    titles = {s.source_id: s.title or s.url for s in sources}
    searches = view.of_kind(StepKind.SEARCH)
    failed = [s for s in searches if s.status is StepStatus.FAILED]
    gaps = (*_told("further searches failed", _searches(failed)), *_told("further sources", _unread(view, titles)))
    remarks = (*_silent(searches), *_told("further texts were long", _partly_read(view, titles)), *_cut(cut_prompts))
    return Shortfalls(len(failed), bool(failed) and len(failed) == len(searches), tuple(gaps), tuple(remarks))


def _told(others: str, sentences: Iterator[str]) -> Iterator[str]:
    """Yield the first sentences, and how many more there are."""
    found = list(sentences)
    yield from found[:MOST_TOLD]
    if len(found) > MOST_TOLD:
        yield f"{len(found) - MOST_TOLD} {others}."


def _searches(failed: Sequence[StepView]) -> Iterator[str]:
    for step in failed:
        yield f"Search failed: “{step.subject}”: {step.error or step.code}"


def _unread(view: RunView, titles: Mapping[str, str]) -> Iterator[str]:
    for step in view.of_kind(StepKind.EXTRACT):
        if step.status is StepStatus.FAILED:
            yield f"Not looked through: {titles.get(step.subject, step.subject)}: {step.error or step.code}"


def _silent(searches: Sequence[StepView]) -> Iterator[str]:
    """Yield the providers that gave no answer where another one did."""
    told: Counter[tuple[str, str]] = Counter()
    for step in searches:
        failed: Mapping[str, Mapping[str, Any]] = step.result.get("failed") or {}
        told.update((name, str(error.get("detail") or error.get("code"))) for name, error in failed.items())
    for (name, detail), times in sorted(told.items()):
        label = PROVIDERS[name].label if name in PROVIDERS else name
        yield f"{label} gave no answer to {times} of {len(searches)} searches: {detail}"


def _partly_read(view: RunView, titles: Mapping[str, str]) -> Iterator[str]:
    for step in view.of_kind(StepKind.EXTRACT):
        chars, looked_at = int(step.result.get("chars", 0)), int(step.result.get("looked_at", 0))
        title = titles.get(step.subject, step.subject)
        if looked_at < chars:
            yield f"Of “{title}” the {looked_at:,} of {chars:,} characters that rank best for the questions were read."
        if step.result.get("truncated"):
            yield f"“{title}” is longer than what is taken up of one text; its end was not read."


def _cut(cut_prompts: Mapping[str, int]) -> Iterator[str]:
    for model, calls in sorted(cut_prompts.items()):
        yield (
            f"The server of {model} counted fewer tokens than it was sent in {calls} call{'s' * (calls != 1)}, so it "
            "read only a part of the text: give it a longer context."
        )
