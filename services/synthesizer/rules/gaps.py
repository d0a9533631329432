"""Searches that writers ask for: only for questions of the plan, never a repeat, an address or more than a few."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from services.synthesizer.prompts.write import SectionText
from shared.contracts.plan import Plan
from shared.domain.questions import fingerprint, holds_address, is_repeat
from shared.domain.refinement_moves import SEARCHES

RESULTS = 10
LONGEST_QUERY = 300


@dataclass(frozen=True, slots=True)
class Wanted:
    """A search that a writer asks for, to close a gap of one question."""

    question_id: str
    query: str


def wanted(written: SectionText, questions: Sequence[str], plan: Plan) -> tuple[Wanted, ...]:
    """Return what a writer asks for, its numbers turned into ids; a number that there is not is left out."""
    ids = {q.text: q.id for q in plan.questions}
    asked = {n: ids[text] for n, text in enumerate(questions, start=1) if text in ids}
    found = ((asked.get(m.question), " ".join(m.query.split())[:LONGEST_QUERY]) for m in written.missing[:SEARCHES])
    return tuple(Wanted(question_id, query) for question_id, query in found if question_id and query)


def allowed(asked: Sequence[Wanted], earlier: Sequence[str], endpoints: Sequence[str]) -> list[dict[str, Any]]:
    """Return the searches that may be made, as the inputs of their steps."""
    before = [fingerprint(query) for query in earlier]
    kept: list[dict[str, Any]] = []
    for item in asked:
        if endpoints and not holds_address(item.query) and not is_repeat(item.query, before):
            before.append(fingerprint(item.query))
            inputs = {"query": item.query, "question_ids": [item.question_id], "results": RESULTS}
            kept.append({**inputs, "endpoint": endpoints[len(kept) % len(endpoints)]})
    return kept[:SEARCHES]
