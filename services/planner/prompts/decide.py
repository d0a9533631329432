"""The call "decide", version 1: from what an iteration found to the next searches, or the end."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from services.planner.brief import Brief
from shared.contracts.evidence import Evidence
from shared.guards.envelope import RULE, envelope_for

VERSION = "decide/1"

INSTRUCTIONS = f"""\
You steer a piece of research. You see its questions, what was found so far, what does not agree, and which searches
were made. Propose 1 to 3 searches that can close a gap, or finish.

- A gap is: a question without evidence, one whose evidence does not answer it, or a contradiction that nobody has
  looked into. Required questions and contradictions come first.
- Read the evidence for names, terms and places that lead on: a question may be answered under a word that only a found
  passage tells.
- A query is a few words that stand in a text which answers. Never repeat or reword a query that was made or rejected.
- For a contradiction, search for what could explain it: another scope, period, definition, a correction.
- Refer to questions by their numbers. where: one of the places named as "Sources". reason: one short sentence.
- finish is true when every question is answered as well as it can be; then give no searches.

{RULE}
"""

SHOWN_PER_QUESTION = 6
SHOWN_CHARS = 280


class NextSearch(BaseModel):
    """A search as a model proposes it."""

    questions: list[int]
    query: str
    where: Literal["documents", "web", "news", "scholar"] = "documents"
    reason: str = ""


class Decision(BaseModel):
    """The answer to this call."""

    finish: bool
    searches: list[NextSearch] = Field(default_factory=list)


def decision_input(brief: Brief) -> str:
    """Return the data of the call: what the program knows, then what sources say, in an envelope."""
    told = "\n\n".join(_told(brief))
    found = "\n".join(_evidence(brief)) or "nothing"
    conflicts = "\n".join(_conflicts(brief)) or "none"
    envelope = envelope_for(INSTRUCTIONS, told, found, conflicts)
    return f"{told}\n\nEvidence:\n{envelope.wrap(found)}\n\nContradictions:\n{envelope.wrap(conflicts)}\n"


def _told(brief: Brief) -> Sequence[str]:
    questions = "\n".join(
        f"{n}. [{'required' if q.priority == 'required' else 'not required'}, "
        f"{'has evidence' if q.id in brief.covered else 'nothing found yet'}] {q.text}"
        for n, q in enumerate(brief.plan.questions, start=1)
    )
    queries = "\n".join(f"- {query}" for query in brief.queries)
    rejected = "\n".join(f"- {r.query} ({r.rule.replace('_', ' ')})" for r in brief.rejected) or "none"
    return (
        f"As of: {brief.as_of}\nSources: {', '.join(brief.endpoints)}\nSearches left: {brief.searches_left}",
        f"Questions:\n{questions}",
        f"Searches made:\n{queries}",
        f"Proposals that were rejected:\n{rejected}",
    )


def _evidence(brief: Brief) -> list[str]:
    """Return one line for each of the best pieces of evidence of each question."""
    lines: list[str] = []
    for number, question in enumerate(brief.plan.questions, start=1):
        best = sorted((e for e in brief.evidence if question.id in e.question_ids), key=lambda e: -e.relevance_bp)
        shown = best[:SHOWN_PER_QUESTION]
        lines += (f"for {number}: {_short(item.excerpt)} [{_origin(item, brief)}]" for item in shown)
    return lines


def _conflicts(brief: Brief) -> list[str]:
    numbers = {q.id: n for n, q in enumerate(brief.plan.questions, start=1)}
    return [f"for {', '.join(str(numbers[i]) for i in c.question_ids)}: {c.summary}" for c in brief.contradictions]


def _origin(item: Evidence, brief: Brief) -> str:
    source = brief.sources.get(item.source_id)
    if source is None:
        return "unknown source"
    dated = f", {source.published_at[:10]}" if source.published_at else ""
    return f"{_short(source.title or source.canonical_url)}{dated}, {source.source_class}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS].rstrip()} …"
