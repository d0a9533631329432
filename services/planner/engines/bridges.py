"""Bridges: names in the evidence that lead from what was found to what a question still lacks.

"What kind of plane bombed the birthplace of X?" A sentence tells that X is from Y; the question then lacks the plane
and the bomb, and Y is what to look for them with.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from math import fsum

from services.planner.brief import Brief
from services.planner.rules import Proposal
from shared.contracts.plan import Question
from shared.domain.chains import Told, question_names, told
from shared.domain.questions import CLASS_TERMS, asked
from shared.domain.text import content_terms, content_words

BRIDGES_PER_QUESTION = 3
"""Names that are followed for one question after one iteration."""

BESIDE_A_NAME = (-1, 1)
"""Places of the words beside a name that was found: they say how what it leads to hangs together with it."""


def along_bridges(brief: Brief) -> Iterator[Proposal]:
    """Propose searches for the names that evidence brought up, with what the question still lacks, in turn."""
    lanes = [_bridges(question, brief) for question in brief.plan.questions]
    for turn in zip_longest(*lanes):
        yield from (proposal for proposal in turn if proposal is not None)


def _bridges(question: Question, brief: Brief) -> list[Proposal]:
    """Return the searches along the names of the best spans, each name once in a run.

    A chain starts at a name that the question gives: spans that hold such names whole come first, by their weight, then
    those that hold most of the question.
    """
    own = asked(question.text)
    wanted = own.wanted | own.context
    starts = question_names(question.text)
    best: dict[str, tuple[tuple[float, float], frozenset[str]]] = {}
    for span in _spans(question, brief):
        everything = span.own | span.title
        held = wanted & everything
        named = fsum(_weight(name, brief) for name in starts if name <= everything)
        found = (named, _weight(held, brief)), held
        for name in _new_names(span, wanted, brief.queries):
            best[name] = max(best.get(name, found), found, key=lambda one: one[0])
    ranked = sorted(best.items(), key=lambda pair: pair[1][0], reverse=True)[:BRIDGES_PER_QUESTION]
    return [
        Proposal(" ".join([name, *words]), (question.id,), f"the evidence names {name}")
        for name, (_, held) in ranked
        if (words := _lacking(question.text, wanted, held))
    ]


def _weight(terms: frozenset[str], brief: Brief) -> float:
    return fsum(map(brief.stats.weight, terms))


def _spans(question: Question, brief: Brief) -> list[Told]:
    found = []
    for item in brief.evidence:
        if question.id in item.question_ids:
            source = brief.sources.get(item.source_id)
            found.append(told(item.evidence_id, item.excerpt, (source.title if source else None) or ""))
    return found


def _new_names(span: Told, wanted: frozenset[str], queries: Sequence[str]) -> Iterator[str]:
    """Yield the names that neither the question nor the title of the source holds, nor any earlier query."""
    asked_for = [frozenset(content_terms(query)) for query in queries]
    for name, terms in span.names.items():
        if not terms <= wanted and not terms <= span.title and not any(terms <= query for query in asked_for):
            yield name


def _lacking(text: str, wanted: frozenset[str], held: frozenset[str]) -> list[str]:
    """Return the words of a question that are still to be found.

    Words for classes of things are left out: the name found is one of them. So are those beside a name that the bridge
    starts at, where others remain: they say how the two hang together ("X's birthplace").
    """
    words = [w for w in content_words(text) if not set(content_terms(w)) <= CLASS_TERMS] or content_words(text)
    names = [i for i, w in enumerate(words) if w[:1].isupper() and held & set(content_terms(w))]
    relation = {i + step for i in names for step in BESIDE_A_NAME}
    missing = [i for i, w in enumerate(words) if (wanted - held) & set(content_terms(w))]
    beyond = [i for i in missing if i not in relation or words[i][:1].isupper()]
    return [words[i] for i in beyond or missing]
