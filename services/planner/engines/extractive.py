"""Planning and deciding without a model: questions split by rule, further queries from gaps and from found names."""

import re
from collections.abc import Iterator, Sequence
from itertools import count, zip_longest
from typing import Any

from services.planner.brief import Brief
from services.planner.engines.bridges import along_bridges
from services.planner.rules import Proposal, endpoints_of, spread
from shared.contracts.evidence import Evidence
from shared.contracts.plan import Endpoint, Plan, PlannedSection, Question, SearchTask
from shared.domain.chains import names_in
from shared.domain.evidence import SURE_BP
from shared.domain.questions import asked, split_question
from shared.domain.text import content_terms, content_words
from shared.ports.materials import RunFacts

MAX_QUESTIONS = 7
MAX_SEARCHES = 7
RESULTS = 10
NAMES_PER_QUESTION = 3
"""Names that are followed for one question after one iteration."""

_TITLE_CHARS = 120


class ExtractivePlanner:
    """See `services.planner.engines.PlannerEngine`."""

    def plan(self, facts: RunFacts) -> Plan:
        """Make one question, one search and one section of each part of the objective."""
        parts = [part[:2000] for part in split_question(facts.request.objective)[:MAX_QUESTIONS]]
        return Plan(
            title=_title(facts.request.objective),
            objective=facts.request.objective,
            completion_criteria=("Every question has at least one supporting span.",),
            **_body([Question(id=f"q{n}", text=part) for n, part in enumerate(parts, start=1)], _places(facts)),
        )

    def revise(self, facts: RunFacts, instruction: str) -> Plan:
        """Add what the instruction asks as further questions; the last ones make room when there are too many."""
        before = facts.plan or self.plan(facts)
        added = split_question(instruction)[:MAX_QUESTIONS]
        texts = [q.text for q in before.questions][: MAX_QUESTIONS - len(added)] + [part[:2000] for part in added]
        return with_questions(before, texts, _places(facts))

    def decide(self, brief: Brief) -> tuple[Proposal, ...]:
        """Propose searches for contradictions, then along the names that the evidence brought up, then for gaps.

        Names that lead into a question which points back to another come before those that only stand near what it
        asks for: in "who built it, and which barge carried them" the builder's yard leads to the barge.
        """
        further = (*_along_names(brief), *along_bridges(brief), *about_gaps(brief))
        sure = _surely_answered(brief)
        wanted = (proposal for proposal in further if not sure.issuperset(proposal.question_ids))
        return spread((*about_contradictions(brief), *wanted), brief.endpoints)


def _surely_answered(brief: Brief) -> frozenset[str]:
    """Return the questions that some evidence answers so surely that nothing more need be searched for them."""
    return frozenset(a.question_id for e in brief.evidence for a in e.answers if a.certainty_bp >= SURE_BP)


def with_questions(plan: Plan, texts: Sequence[str], endpoints: Sequence[Endpoint]) -> Plan:
    """Return the plan with these questions; one that was there keeps its id, a new one gets an id of its own."""
    known = {q.text: q for q in plan.questions}
    last = max(int(q.id[1:]) for q in plan.questions)
    fresh = count(last + 1)
    questions = [known.get(text) or Question(id=f"q{next(fresh)}", text=text) for text in dict.fromkeys(texts)]
    return plan.model_copy(update=_body(questions, endpoints))


def _places(facts: RunFacts) -> tuple[Endpoint, ...]:
    return endpoints_of(facts.request.source_policy)


def _body(questions: Sequence[Question], endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return one section for each question, and one search for each at every place, as many as a plan may hold."""
    searches = tuple(
        SearchTask(question_ids=(q.id,), query=_query(q.text), endpoint=endpoint, result_count=RESULTS)
        for endpoint in endpoints
        for q in questions
    )[:MAX_SEARCHES]
    sections = tuple(
        PlannedSection(id=f"s{n}", title=_title(q.text), question_ids=(q.id,)) for n, q in enumerate(questions, start=1)
    )
    return {"questions": tuple(questions), "search_tasks": searches, "writing_plan": sections}


def about_contradictions(brief: Brief) -> Iterator[Proposal]:
    """Ask for the scope of figures that do not agree."""
    texts = {q.id: q.text for q in brief.plan.questions}
    for contradiction in brief.contradictions:
        for question_id in contradiction.question_ids:
            query = f"{_query(texts[question_id])} total scope period definition correction"
            yield Proposal(query, (question_id,), f"follows up the contradiction {contradiction.claim_key}")


def about_gaps(brief: Brief) -> Iterator[Proposal]:
    """Ask again for what nothing was found about, in fewer words: the thing asked for, then the rest."""
    for question in brief.plan.questions:
        if question.id in brief.covered:
            continue
        own = asked(question.text)
        words = content_words(question.text)
        focused = [w for w in words if set(content_terms(w)) & own.focus]
        plain = [w for w in words if set(content_terms(w)) & own.wanted]
        for chosen in (focused, plain):
            if chosen:
                yield Proposal(" ".join(chosen), (question.id,), "nothing was found for the question yet")


def _along_names(brief: Brief) -> Iterator[Proposal]:
    """Follow names from the evidence of one question into the questions that point back to it, each in its turn."""
    pointing = [q for q in brief.plan.questions if asked(q.text).context]
    lanes = [_named_proposals(question, brief.evidence) for question in pointing]
    for turn in zip_longest(*lanes):
        yield from (proposal for proposal in turn if proposal is not None)


def _named_proposals(question: Question, evidence: tuple[Evidence, ...]) -> list[Proposal]:
    own = asked(question.text)
    words = " ".join(w for w in content_words(question.text) if set(content_terms(w)) & own.wanted)
    others = [e for e in evidence if question.id not in e.question_ids]
    return [
        Proposal(f"{name} {words}", (question.id,), f"the evidence names {name}")
        for name in _names(others, own.context)
        if not set(content_terms(name)) <= own.context | own.wanted
    ][:NAMES_PER_QUESTION]


def _names(evidence: Sequence[Evidence], context: frozenset[str]) -> list[str]:
    """Return the names in the evidence, those beside what the question points back to first, then by relevance."""
    best: dict[str, tuple[int, int]] = {}
    for item in evidence:
        beside = len(context & set(content_terms(item.excerpt)))
        for name in names_in(item.excerpt):
            best[name] = max(best.get(name, (0, 0)), (beside, item.relevance_bp))
    return sorted(best, key=lambda name: (best[name], name), reverse=True)


def _query(question: str) -> str:
    """Return the question as a query: without the frame that says what it is about, but with its words."""
    return (re.sub(r"^About ([^:?]+): ", r"\1 ", question).strip(" ?") or question)[:1000]


def _title(text: str) -> str:
    line = " ".join(text.split()).rstrip("?？ ")
    if len(line) <= _TITLE_CHARS:
        return line
    return line[:_TITLE_CHARS].rpartition(" ")[0] + " …"
