"""The short answer and the summary: the finding that answers a question best."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from services.synthesizer.gate.names import proper_names
from shared.contracts.evidence import Contradiction, Evidence, Source
from shared.contracts.plan import Plan, Question
from shared.contracts.report import Confidence, Statement
from shared.domain.answering import answering
from shared.domain.evidence import ANSWER_BAR_BP, SURE_BP
from shared.domain.excerpts import one_line
from shared.domain.numbers import Quantity, missing_quantities
from shared.domain.questions import AnswerKind, Asked, asked
from shared.domain.text import content_terms

CLOSE_BP = 300
CLOSE_FOR_DATES_BP = 1500
"""Relevances this close, in basis points, do not decide between findings, the dates of their sources do; where a date
is asked for, a newer source may correct an older one, and more counts as close."""

CLOSE_CERTAINTY_BP = 500
"""Certainties this close, in basis points, do not decide between answers."""

NEAREST = 3
"""Findings that are shown as nearest where nothing answers."""


@dataclass(frozen=True, slots=True)
class Known:
    """What findings are weighed with: evidence and sources by id, and the contradictions among the evidence."""

    evidence: Mapping[str, Evidence]
    sources: Mapping[str, Source]
    contradictions: Sequence[Contradiction] = ()


def short_answer(plan: Plan, findings: Sequence[Statement], known: Known) -> Statement | None:
    """Return the best finding of the first required question, or None when it has none."""
    return best_finding(first_required(plan), findings, known)


def first_required(plan: Plan) -> Question:
    """Return the question that the short answer answers."""
    return next((q for q in plan.questions if q.priority == "required"), plan.questions[0])


def executive_summary(
    plan: Plan, findings: Sequence[Statement], known: Known, answer: Statement | None
) -> tuple[Statement, ...]:
    """Return the best finding of each question; nothing when that would only repeat the short answer."""
    best = (best_finding(q, findings, known) for q in plan.questions)
    chosen = {s.id: s for s in best if s is not None}
    return tuple(chosen.values()) if chosen.keys() - ({answer.id} if answer else set()) else ()


def bears_on(statement: Statement, question_id: str, evidence: Mapping[str, Evidence]) -> bool:
    """Tell whether a finding rests on evidence for the question."""
    return any(question_id in evidence[i].question_ids for i in statement.evidence_ids if i in evidence)


def best_finding(question: Question, findings: Sequence[Statement], known: Known) -> Statement | None:
    """Return the finding that answers the question best; None where none does, or is not sure enough."""
    if looked_through(question, known.evidence.values()):
        return surest(question, findings, known)
    return most_relevant(question, findings, known)


def most_relevant(question: Question, findings: Sequence[Statement], known: Known) -> Statement | None:
    """Return the finding that serves a question best where a model has chosen the evidence.

    One that holds the kind of thing asked for comes first, then the more relevant; among nearly equal ones the newer
    source. Where the best takes part in a contradiction, the newest side that holds such a thing answers.
    """
    candidates = [s for s in findings if bears_on(s, question.id, known.evidence)]
    if not candidates:
        return None
    what = asked(question.text)
    top = max(_relevance(s, question.id, known) for s in candidates)
    fit = {s.id: answer_fit(s.text, question.text, what) for s in candidates}
    best = max(candidates, key=lambda s: _weight(s, question, top, fit[s.id], known))
    rivals = [s for s in candidates if _opposed(best, s, known) and fit[s.id] >= fit[best.id]]
    return max((best, *rivals), key=lambda s: _published(s, known)) if rivals else best


def looked_through(question: Question, evidence: Iterable[Evidence]) -> bool:
    """Tell whether the sources of a question's evidence were looked through for answers, each with its certainty."""
    return any(e.read_by is not None for e in evidence if question.id in e.question_ids)


def surest_alone(question: Question, evidence: Iterable[Evidence]) -> int:
    """Return how sure, in basis points, the best answer of a single piece of evidence is; 0 without one."""
    found = (one for e in evidence for one in e.answers)
    return max((one.certainty_bp for one in found if one.question_id == question.id), default=0)


def surest(question: Question, findings: Sequence[Statement], known: Known) -> Statement | None:
    """Return the finding that answers a question most surely, with the words that do.

    Among answers that are nearly as sure the newest source comes first; where the best takes part in a contradiction,
    the newest of its sides.
    """
    rated = [found for s in findings for found in _answers_in(s, question, known)]
    rated = [(sure, told) for sure, told in rated if sure >= ANSWER_BAR_BP]
    if not rated:
        return None
    top = max(sure for sure, _ in rated)
    near = [(sure, told) for sure, told in rated if sure >= top - CLOSE_CERTAINTY_BP]
    sure, best = max(near, key=lambda found: (_published(found[1], known), found[0]))
    rivals = [told for _, told in rated if _opposed(best, told, known)]
    best = max((best, *rivals), key=lambda told: _published(told, known)) if rivals else best
    contested = any(set(best.evidence_ids) & set(c.evidence_ids) for c in known.contradictions)
    return best.model_copy(update={"confidence": confidence_from(sure, contested=contested)})


def confidence_from(certainty_bp: int, *, contested: bool) -> Confidence:
    """Return the confidence of an answer: by its certainty, and never high where sources do not agree."""
    return "high" if certainty_bp >= SURE_BP and not contested else "medium"


def _answers_in(statement: Statement, question: Question, known: Known) -> Iterable[tuple[int, Statement]]:
    """Yield a finding with what answers in it, and how sure that is."""
    for item in _cited(statement, known):
        for one in item.answers:
            words = one_line(item.excerpt[one.start - item.start : one.end - item.start])
            if one.question_id != question.id or not words or words not in statement.text:
                continue
            whole = one.end - one.start == item.end - item.start
            yield one.certainty_bp, statement.model_copy(update={"answer": None if whole else words})


def nearest(question: Question, findings: Sequence[Statement], known: Known) -> tuple[Statement, ...]:
    """Return what comes closest to an answer, and does not answer."""
    candidates = [s for s in findings if bears_on(s, question.id, known.evidence)]
    rated = {s.id: max((sure for sure, _ in _answers_in(s, question, known)), default=0) for s in candidates}
    ranked = sorted(candidates, key=lambda s: (-rated[s.id], -_relevance(s, question.id, known), s.id))
    return tuple(ranked[:NEAREST])


def answer_fit(text: str, question: str, what: Asked) -> int:
    """Return how well a sentence holds the kind of thing asked for: 0 not, 1 yes, 2 also in the unit asked for.

    What the question already says is no answer.
    """
    found = answering(missing_quantities(text, (question,)), what)
    if what.answer is AnswerKind.QUANTITY:
        return 2 if any(_in_unit_asked(q, what) for q in found) else int(bool(found))
    if what.answer is AnswerKind.DATE:
        return 2 if any(len(q.date or "") > len("2024") for q in found) else int(bool(found))
    if what.answer is AnswerKind.NAME:
        return int(any(not set(content_terms(name)) <= what.wanted | what.context for name in proper_names(text)))
    return 1


def _in_unit_asked(quantity: Quantity, what: Asked) -> bool:
    return quantity.unit is not None and bool(set(content_terms(quantity.text)) & what.wanted)


def _weight(
    statement: Statement, question: Question, top: int, fit: int, known: Known
) -> tuple[int, bool, str, int, float]:
    relevance = _relevance(statement, question.id, known)
    what = asked(question.text)
    close = CLOSE_FOR_DATES_BP if what.answer is AnswerKind.DATE else CLOSE_BP
    overlap = len(what.wanted & set(content_terms(statement.text))) / (len(what.wanted) or 1)
    if relevance < top - close:
        return fit, False, "", relevance, overlap
    return fit, True, _published(statement, known), relevance, overlap


def _cited(statement: Statement, known: Known) -> Iterable[Evidence]:
    return (known.evidence[i] for i in statement.evidence_ids if i in known.evidence)


def _relevance(statement: Statement, question_id: str, known: Known) -> int:
    """Return the relevance of the statement's best evidence for the question."""
    return max((e.relevance_bp for e in _cited(statement, known) if question_id in e.question_ids), default=0)


def _published(statement: Statement, known: Known) -> str:
    """Return the date of the newest source of a statement; an unknown one is the oldest."""
    sources = (known.sources.get(e.source_id) for e in _cited(statement, known))
    return max((s.published_at or "" for s in sources if s is not None), default="")


def _opposed(one: Statement, other: Statement, known: Known) -> bool:
    """Tell whether two statements stand on two pieces of evidence of one contradiction."""
    mine, theirs = set(one.evidence_ids), set(other.evidence_ids)
    return one.id != other.id and any(
        mine & set(c.evidence_ids) and theirs & set(c.evidence_ids) for c in known.contradictions
    )
