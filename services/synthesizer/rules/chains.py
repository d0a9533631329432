"""Weighs evidence for questions that point back to something: what hangs together with it goes before what does not."""

from collections.abc import Iterator, Mapping, Sequence

from shared.contracts.evidence import Evidence, Source
from shared.contracts.plan import Plan, Question
from shared.domain.chains import linked, linking_names
from shared.domain.questions import asked

UNLINKED_FACTOR = 0.7
"""What the relevance of evidence is multiplied by that nothing links to what its question points back to."""


def weighed(plan: Plan, evidence: Sequence[Evidence], sources: Mapping[str, Source]) -> tuple[Evidence, ...]:
    """Return the evidence with the relevance of what is not linked lowered; excerpts and ids stay as they are."""
    loose: set[str] = set()
    tied: set[str] = set()
    for question in plan.questions:
        for item, fits in _fits(question, evidence, sources):
            (tied if fits else loose).add(item.evidence_id)
    return tuple(_lowered(e) if e.evidence_id in loose - tied else e for e in evidence)


def _fits(
    question: Question, evidence: Sequence[Evidence], sources: Mapping[str, Source]
) -> Iterator[tuple[Evidence, bool]]:
    """Yield the evidence for a question, and whether it hangs together with what the question points back to."""
    context = asked(question.text).context
    others = [e.excerpt for e in evidence if question.id not in e.question_ids or len(e.question_ids) > 1]
    names = linking_names(others, context) if context else frozenset()
    for item in evidence:
        if question.id in item.question_ids:
            yield item, not context or linked(_told(item, sources), context, names)


def _told(item: Evidence, sources: Mapping[str, Source]) -> str:
    """Return the words of a piece of evidence and of the title and publisher of its source."""
    source = sources.get(item.source_id)
    return " . ".join(part for part in (item.excerpt, source and source.title, source and source.publisher) if part)


def _lowered(item: Evidence) -> Evidence:
    return item.model_copy(update={"relevance_bp": round(item.relevance_bp * UNLINKED_FACTOR)})
