"""From a model's proposal to a plan: clamped, numbered, complete. Places in its lists become the program's ids."""

from collections.abc import Sequence
from itertools import count
from typing import Literal

from services.planner.prompts.plan import PlanProposal, QuestionProposal, SearchProposal, SectionProposal
from shared.contracts.plan import Endpoint, Plan, PlannedSection, Question, SearchTask
from shared.domain.questions import fingerprint, is_repeat

MAX_QUESTIONS = 7
MAX_SEARCHES = 7
MAX_SECTIONS = 20
RESULTS = 10


def plan_of(
    proposal: PlanProposal, objective: str, endpoints: Sequence[Endpoint], before: Sequence[Question] = ()
) -> Plan:
    """Return the plan that a proposal makes; a question that the plan ``before`` had keeps its id.

    Whatever a proposal leaves out is filled in: each question has a search and a section, at least one is required.
    """
    questions = _questions(proposal, objective, before)
    ids = {place: q.id for place, q in questions.items()}
    kept = list(dict.fromkeys(questions.values()))
    return Plan(
        title=_line(proposal.title, 300) or _line(objective, 300),
        objective=objective,
        audience=_line(proposal.audience, 300),
        assumptions=tuple(text for a in proposal.assumptions[:10] if (text := _line(a, 500))),
        questions=tuple(kept),
        search_tasks=tuple(_searches(proposal.searches, ids, kept, endpoints)),
        writing_plan=tuple(_sections(proposal.sections, ids, kept)),
        completion_criteria=("Every required question has at least one supporting passage.",),
    )


def ids_at(places: Sequence[int], ids: dict[int, str]) -> tuple[str, ...]:
    """Return the ids at these places, each once; a place that there is not gives nothing."""
    return tuple(dict.fromkeys(ids[place] for place in places if place in ids))


def _questions(proposal: PlanProposal, objective: str, before: Sequence[Question]) -> dict[int, Question]:
    """Return the questions by their places in the proposal; a repeated one stands for the first of its words."""
    texts = {place: _line(item.text, 2000) for place, item in enumerate(proposal.questions, start=1)}
    kept = list(dict.fromkeys(text for text in texts.values() if text))[:MAX_QUESTIONS] or [objective[:2000]]
    ids = _ids(kept, before)
    first = {text: proposal.questions[place - 1] for place, text in reversed(texts.items())}
    made = {text: _question(ids[text], text, first.get(text)) for text in kept}
    if all(q.priority == "supporting" for q in made.values()):
        made = {text: q.model_copy(update={"priority": "required"}) for text, q in made.items()}
    return {place: made[text] for place, text in texts.items() if text in made} or {1: made[kept[0]]}


def _ids(texts: Sequence[str], before: Sequence[Question]) -> dict[str, str]:
    """Return an id for each text: that of the question that had these words, else the next number."""
    known = {q.text: q.id for q in before}
    fresh = count(max((int(q.id[1:]) for q in before), default=0) + 1)
    return {text: known.get(text) or f"q{next(fresh)}" for text in texts}


def _question(question_id: str, text: str, item: QuestionProposal | None) -> Question:
    if item is None:
        return Question(id=question_id, text=text)
    priority: Literal["required", "supporting"] = "required" if item.required else "supporting"
    return Question(id=question_id, text=text, priority=priority, rationale=_line(item.rationale, 500))


def _own_search(question: Question, endpoint: Endpoint) -> SearchTask:
    """Return the search for a question that no proposed one is about: its own words."""
    query = (question.text.strip(" ?？") or question.text)[:1000]
    return SearchTask(question_ids=(question.id,), query=query, endpoint=endpoint, result_count=RESULTS)


def _searches(
    proposed: Sequence[SearchProposal],
    ids: dict[int, str],
    questions: Sequence[Question],
    endpoints: Sequence[Endpoint],
) -> list[SearchTask]:
    """Return the searches that ask something new, the first of each question before further ones."""
    if not endpoints:
        return []
    tasks: list[SearchTask] = []
    seen: list[frozenset[str]] = []
    for item in proposed:
        asked, query = ids_at(item.questions, ids), _line(item.query, 1000)
        if asked and query and not is_repeat(query, seen):
            seen.append(fingerprint(query))
            where = item.where if item.where in endpoints else endpoints[0]
            tasks.append(SearchTask(question_ids=asked, query=query, endpoint=where, result_count=RESULTS))
    searched = {i for task in tasks for i in task.question_ids}
    tasks += (_own_search(q, endpoints[0]) for q in questions if q.id not in searched)
    first: dict[str, SearchTask] = {}
    for task in tasks:
        for question_id in task.question_ids:
            first.setdefault(question_id, task)
    ordered = [*dict.fromkeys(first.values()), *tasks]
    return list(dict.fromkeys(ordered))[:MAX_SEARCHES]


def _sections(
    proposed: Sequence[SectionProposal], ids: dict[int, str], questions: Sequence[Question]
) -> list[PlannedSection]:
    """Return the sections that name questions, and one for each question that none names."""
    found = [
        (title, ids_at(item.questions, ids), _line(item.guidance, 500))
        for item in proposed
        if (title := _line(item.title, 300)) and ids_at(item.questions, ids)
    ]
    named = {i for _, asked, _ in found for i in asked}
    found += ((_line(q.text, 300), (q.id,), "") for q in questions if q.id not in named)
    return [
        PlannedSection(id=f"s{n}", title=title, question_ids=asked, guidance=guidance)
        for n, (title, asked, guidance) in enumerate(found[:MAX_SECTIONS], start=1)
    ]


def _line(text: str, longest: int) -> str:
    return " ".join(text.split())[:longest].strip()
