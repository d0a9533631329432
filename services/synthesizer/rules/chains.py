"""Weighs evidence for questions that point back to something: what hangs together with it goes before what does not."""

from collections.abc import Mapping, Sequence

from shared.contracts.evidence import Evidence, Source
from shared.contracts.plan import Plan
from shared.domain.chains import linked, linking_names
from shared.domain.questions import asked

UNLINKED_FACTOR = 0.7
"""What the relevance of evidence is multiplied by that nothing links to what its question points back to."""


def weighed(plan: Plan, evidence: Sequence[Evidence], sources: Mapping[str, Source]) -> tuple[Evidence, ...]:
    """Return the evidence with the relevance of what is not linked lowered; excerpts and ids stay as they are.

    Questions are taken in the order of the plan, so that a name found for one leads on to the next.
    """
    known = {q.id: [e.excerpt for e in evidence if q.id in e.question_ids] for q in plan.questions}
    loose: set[str] = set()
    tied: set[str] = set()
    for question in plan.questions:
        context = asked(question.text).context
        mine = [e for e in evidence if question.id in e.question_ids]
        if not context:
            tied |= {e.evidence_id for e in mine}
            continue
        others = [text for other, texts in known.items() if other != question.id for text in texts]
        names = linking_names(others, context)
        kept = [e for e in mine if linked(_told(e, sources), context, names)]
        tied |= {e.evidence_id for e in kept}
        loose |= {e.evidence_id for e in mine} - {e.evidence_id for e in kept}
    return tuple(_lowered(e) if e.evidence_id in loose - tied else e for e in evidence)


def _told(item: Evidence, sources: Mapping[str, Source]) -> str:
    """Return the words of a piece of evidence and of the title and publisher of its source."""
    source = sources.get(item.source_id)
    return " . ".join(part for part in (item.excerpt, source and source.title, source and source.publisher) if part)


def _lowered(item: Evidence) -> Evidence:
    return item.model_copy(update={"relevance_bp": round(item.relevance_bp * UNLINKED_FACTOR)})
