"""The call "plan", version 1: from a request to questions, searches and the sections of the report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field

from shared.contracts.plan import Plan

VERSION = "plan/1"

INSTRUCTIONS = """\
You plan a piece of research. Others carry it out: they search, read sources and write a report in which every sentence
is tied to a passage of a source. You only plan; you know no answers.

Give:
- title: of the report, in the language of the request.
- questions: 1 to 7. Split the request into the questions that have to be answered for it, each complete in itself:
  name the thing it is about, never "it" or "they". Do not ask more than the request does. Mark as required what the
  request asks for, and as not required what only helps to judge the answer. rationale: one short sentence.
- searches: 3 to 7, at least one for each question. A query is a few words that stand in a text which answers, not a
  sentence. Give different words to different searches for one question. where: one of the places named as "Sources".
- sections: of the report, in reading order; each question belongs to at least one. guidance: what the section should
  bring out, in one sentence.
- assumptions: what you took for granted where the request leaves it open (scope, period, unit). None is fine.
- audience: whom the report is for, as far as the request says so; else leave it empty.

Refer to questions by their place in your list: the first is 1. Everything that people will read is in the language of
the request unless the data names another. Judge "now", "recent" and "next" by the date given as "As of".
"""

REVISION = """\
A person wants the plan changed. Give the whole plan again with the change made, and leave the rest as it is: a question
that stays keeps its words.
"""


class QuestionProposal(BaseModel):
    """A question as a model proposes it."""

    text: str
    required: bool = True
    rationale: str = ""


class SearchProposal(BaseModel):
    """A search as a model proposes it; ``questions`` are places in the list of questions, from 1."""

    questions: list[int]
    query: str
    where: Literal["documents", "web", "news", "scholar"] = "documents"


class SectionProposal(BaseModel):
    """A section as a model proposes it."""

    title: str
    questions: list[int] = Field(default_factory=list)
    guidance: str = ""


class PlanProposal(BaseModel):
    """The answer to this call."""

    title: str
    questions: list[QuestionProposal] = Field(min_length=1)
    searches: list[SearchProposal] = Field(default_factory=list)
    sections: list[SectionProposal] = Field(default_factory=list)
    assumptions: list[str] = Field(default_factory=list)
    audience: str = ""


@dataclass(frozen=True, slots=True)
class PlanData:
    """What the planner knows of a request. Dates are ISO 8601; ``language`` None means that of the request."""

    objective: str
    today: str
    as_of: str | None
    language: str | None
    endpoints: Sequence[str]
    effort: str


def plan_input(data: PlanData) -> str:
    """Return the data of the call."""
    return f"{_head(data)}\n\nRequest:\n{data.objective}\n"


def revision_input(data: PlanData, plan: Plan, instruction: str) -> str:
    """Return the data of the call when a plan is to be changed."""
    questions = "\n".join(
        f"{n}. [{'required' if q.priority == 'required' else 'not required'}] {q.text}"
        for n, q in enumerate(plan.questions, start=1)
    )
    sections = "\n".join(f"- {s.title}" for s in plan.writing_plan)
    parts = (
        _head(data),
        f"Request:\n{data.objective}",
        f"Plan so far: {plan.title}\nQuestions:\n{questions}\nSections:\n{sections}",
        f"{REVISION}Change:\n{instruction}",
    )
    return "\n\n".join(parts) + "\n"


def _head(data: PlanData) -> str:
    lines = (
        f"Today: {data.today}",
        f"As of: {data.as_of or data.today}",
        f"Language: {data.language or 'that of the request'}",
        f"Sources: {', '.join(data.endpoints) or 'given addresses alone; nothing is searched'}",
        f"Effort: {data.effort}",
    )
    return "\n".join(lines)
