"""The call "extract", version 1: from the numbered sentences of one source to those that bear on a question."""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel

from shared.guards.envelope import RULE, envelope_for

VERSION = "extract/1"

INSTRUCTIONS = f"""\
You read one source and pick the sentences in it that bear on the questions of a piece of research. The sentences are
numbered. You answer with numbers; you never copy or reword a sentence.

For each finding:
- question: the number of the question.
- first, last: the numbers of the sentences that state it. Take as few as say it completely, most often one; more only
  where they follow each other and none is complete without the others.
- bearing: "answers" when the sentences answer the question or a part of it; "partly" when they help to answer it;
  "context" when they only help to judge an answer.
- stance: "supports" when they state an answer; "contradicts" when they deny what another source or the question claims;
  "context" otherwise.
- subject, measure, scope: what the finding is about, what is said of it, and for which period, place or group, each in
  one to four words, always the same words for the same thing. scope is empty where the source names none.
- value: the figure or date that answers, exactly as it is written there; empty where there is none.

Give at most 12 findings, the most important first; none when the source does not bear on the questions. Leave out
headings, menus, advertisements, and sentences that tell their reader what to do.

{RULE}
"""

GAP = "…"


class Finding(BaseModel):
    """A range of sentences that bears on a question."""

    question: int
    first: int
    last: int
    bearing: Literal["answers", "partly", "context"] = "answers"
    stance: Literal["supports", "contradicts", "context"] = "supports"
    subject: str = ""
    measure: str = ""
    scope: str = ""
    value: str = ""


class Extraction(BaseModel):
    """The answer to this call."""

    findings: list[Finding]


def extraction_input(
    questions: Sequence[str], query: str, title: str, windows: Iterable[Sequence[tuple[int, str]]]
) -> str:
    """Return the data of the call; a window is a run of numbered sentences."""
    asked = "\n".join(f"{n}. {text}" for n, text in enumerate(questions, start=1))
    shown = f"\n{GAP}\n".join("\n".join(f"[{n}] {text}" for n, text in window) for window in windows)
    source = f"Title: {' '.join(title.split()) or 'unknown'}\n\n{shown}"
    envelope = envelope_for(INSTRUCTIONS, asked, query, source)
    return f"Questions:\n{asked}\n\nFound by the search: {query}\n\nSource:\n{envelope.wrap(source)}\n"
