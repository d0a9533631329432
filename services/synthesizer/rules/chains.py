"""Weighs evidence by what it holds of the questions, and finds two sentences that answer a question together."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from math import fsum

from services.synthesizer.rules.answers import answer_fit
from shared.contracts.evidence import Evidence, Source
from shared.contracts.plan import Plan, Question
from shared.domain.chains import Told, compared, link_weight, question_names, told
from shared.domain.pronouns import leans_on_its_text, names_its_text, points_back
from shared.domain.questions import asked
from shared.domain.rank import CorpusStats
from shared.domain.text import content_terms

FOCUS_NEEDED = 0.75
"""Share of the weight of the thing asked for that one piece of evidence and its title must hold."""


def weighed(
    plan: Plan, evidence: Sequence[Evidence], sources: Mapping[str, Source], stats: CorpusStats | None
) -> tuple[Evidence, ...]:
    """Return the evidence with its relevance as it is ranked; all else stays as it is.

    Without ``stats`` the relevances are kept as they were given.
    """
    if stats is None:
        return tuple(evidence)
    scores = _scores(plan, evidence, sources, stats)
    return tuple(_weighed(e, max(own.values())) if (own := scores.get(e.evidence_id)) else e for e in evidence)


def _weighed(item: Evidence, score: float) -> Evidence:
    """Return evidence as it is ranked: by what it holds of the question; an answer by its relevance just as much."""
    relevance = (score + item.relevance_bp / 10_000) / 2 if item.stance == "supports" else score
    return item.model_copy(update={"relevance_bp": round(10_000 * relevance)})


def each_where_it_serves_best(
    plan: Plan, evidence: Sequence[Evidence], sources: Mapping[str, Source], stats: CorpusStats
) -> tuple[Evidence, ...]:
    """Return the evidence, each piece under those of its questions alone of which it holds most.

    The sentence that says where blocks were cast bears on who built the pier, too; it is told where it answers. A
    question that nothing serves best keeps what there is for it.
    """
    scores = _scores(plan, evidence, sources, stats)
    placed = [_at_its_best(e, own) if (own := scores.get(e.evidence_id)) else e for e in evidence]
    served = {question_id for e in placed for question_id in e.question_ids}
    return tuple(e if set(e.question_ids) - served else best for e, best in zip(evidence, placed, strict=True))


def _at_its_best(item: Evidence, scores: Mapping[str, float]) -> Evidence:
    best = max(scores.values())
    return item.model_copy(update={"question_ids": tuple(q for q in item.question_ids if scores.get(q) == best)})


def without_the_unasked(
    plan: Plan, evidence: Sequence[Evidence], sources: Mapping[str, Source], stats: CorpusStats
) -> tuple[Evidence, ...]:
    """Return the evidence without context to questions whose thing asked for no evidence names.

    What surrounds an insurance premium that nobody mentions is no answer to a question for it.
    """
    named = {q.id for q in plan.questions if _is_named(q, evidence, sources, stats)}
    return tuple(e for e in evidence if e.stance != "context" or named & set(e.question_ids))


def answering_pair(
    question: Question, evidence: Sequence[Evidence], sources: Mapping[str, Source], stats: CorpusStats
) -> tuple[str, ...]:
    """Return the ids of two pieces of evidence that together hold more of the question than any one; else none.

    The one whose name leads to the other comes first. Of all such pairs the best is the one that holds most, the name
    that links it counted as one more word of the question; the second is to hold the kind of thing asked for.
    """
    own = asked(question.text)
    wanted = own.wanted | own.context
    texts = {e.evidence_id: e.excerpt for e in evidence}
    spans = _told(question, evidence, sources)
    names = question_names(question.text)
    answers = {s.key for s in spans if answer_fit(texts[s.key], question.text, own)}

    def held(*told: Told) -> float:
        terms = frozenset[str]().union(*(s.own | s.title for s in told))
        return fsum(map(stats.weight, terms & wanted))

    by_id = {e.evidence_id: e for e in evidence}

    def joinable(pair: tuple[Told, Told]) -> bool:
        one, other = (by_id[s.key] for s in pair)
        known = frozenset(content_terms(f"{question.text} {one.excerpt}"))
        return one.source_id == other.source_id or (
            _stands_alone(one, _title(one, sources), wanted) and _stands_alone(other, _title(other, sources), known)
        )

    def score(pair: tuple[Told, Told]) -> tuple[bool, bool, float]:
        one, other = pair
        link = link_weight(one, other, wanted, stats)
        return bool(link) or compared(one, other, names), other.key in answers, held(one, other) + link

    alone = max(map(held, spans), default=0.0)
    pair = max(filter(joinable, permutations(spans, 2)), key=score, default=None)
    if pair is None or not score(pair)[0] or held(*pair) <= alone:
        return ()
    return tuple(s.key for s in pair)


def _stands_alone(item: Evidence, title: str, known: frozenset[str]) -> bool:
    """Tell whether a sentence says the same beside one of another source.

    What it begins with "it" or "he" for is what its title names, where the question or the sentence before names that
    too; what "this" or "the proposal" is, only its own text tells.
    """
    if not leans_on_its_text(item.excerpt):
        return True
    thing = frozenset(content_terms(title.partition("(")[0]))
    return points_back(item.excerpt) and not names_its_text(item.excerpt) and bool(thing) and thing <= known


def _scores(
    plan: Plan, evidence: Sequence[Evidence], sources: Mapping[str, Source], stats: CorpusStats
) -> dict[str, dict[str, float]]:
    """Return by evidence, and by question that it is for, how much of the question it holds, 0 to 1."""
    scores: dict[str, dict[str, float]] = {}
    for question in plan.questions:
        own = asked(question.text)
        wanted = own.wanted | own.context
        total = fsum(map(stats.weight, wanted)) or 1.0
        for span in _told(question, evidence, sources):
            held = fsum(map(stats.weight, (span.own | span.title) & wanted)) / total
            scores.setdefault(span.key, {})[question.id] = held
    return scores


def _told(question: Question, evidence: Sequence[Evidence], sources: Mapping[str, Source]) -> list[Told]:
    return [told(e.evidence_id, e.excerpt, _title(e, sources)) for e in evidence if question.id in e.question_ids]


def _title(item: Evidence, sources: Mapping[str, Source]) -> str:
    source = sources.get(item.source_id)
    return (source.title if source else None) or ""


def _is_named(
    question: Question, evidence: Sequence[Evidence], sources: Mapping[str, Source], stats: CorpusStats
) -> bool:
    focus = asked(question.text).focus
    needed = FOCUS_NEEDED * fsum(map(stats.weight, focus))
    spans = _told(question, evidence, sources)
    return any(fsum(map(stats.weight, focus & (span.own | span.title))) >= needed for span in spans)
