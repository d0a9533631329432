"""The research plan, schema version 1: what is asked, how it is searched for and how the answer is laid out."""

from typing import Literal, Self

from pydantic import Field, model_validator

from shared.contracts.base import Contract

Endpoint = Literal["web", "news", "scholar", "documents"]


class Scope(Contract):
    """What the research takes in and what it leaves out."""

    included: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    timeframe: str | None = None
    geographies: tuple[str, ...] = ()


class Question(Contract):
    """One thing to find out."""

    id: str = Field(pattern=r"^q[1-9][0-9]*$")
    text: str = Field(min_length=1, max_length=2000)
    priority: Literal["required", "supporting"] = "required"
    rationale: str = ""
    preferred_source_classes: tuple[str, ...] = ()
    needs_primary_source: bool = False


class SearchTask(Contract):
    """One search that the first iteration makes."""

    question_ids: tuple[str, ...] = Field(min_length=1)
    query: str = Field(min_length=1, max_length=1000)
    endpoint: Endpoint = "documents"
    result_count: int = Field(default=10, ge=1, le=50)


class PlannedSection(Contract):
    """One section of the report to write."""

    id: str = Field(pattern=r"^s[1-9][0-9]*$")
    title: str = Field(min_length=1, max_length=300)
    question_ids: tuple[str, ...] = ()
    guidance: str = ""


class Plan(Contract):
    """What a run will do; a person approves or changes it before anything is searched."""

    schema_version: Literal[1] = 1
    title: str = Field(min_length=1, max_length=300)
    objective: str = Field(min_length=1, max_length=4000)
    audience: str = ""
    assumptions: tuple[str, ...] = ()
    scope: Scope = Scope()
    questions: tuple[Question, ...] = Field(min_length=1, max_length=7)
    search_tasks: tuple[SearchTask, ...] = Field(max_length=7)
    """None only in a run that reads given addresses alone."""
    writing_plan: tuple[PlannedSection, ...] = Field(min_length=1, max_length=20)
    completion_criteria: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _ids_resolve(self) -> Self:
        """Refuse doubled ids and references to questions that the plan does not hold."""
        ids = [q.id for q in self.questions]
        sections = [s.id for s in self.writing_plan]
        if len(set(ids)) < len(ids) or len(set(sections)) < len(sections):
            raise ValueError("question and section ids must not repeat")
        asked = {i for task in self.search_tasks for i in task.question_ids}
        written = {i for section in self.writing_plan for i in section.question_ids}
        unknown = sorted((asked | written) - set(ids))
        if unknown:
            raise ValueError(f"the plan names questions that it does not hold: {', '.join(unknown)}")
        return self
