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
from shared.domain.chains import Told, told
from shared.domain.questions import asked
from shared.domain.text import content_terms

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
    """Return the searches along the names of the spans that hold most of the question, each name once in a run."""
    own = asked(question.text)
    wanted = own.wanted | own.context
    total = fsum(map(brief.stats.weight, wanted)) or 1.0
    best: dict[str, tuple[float, frozenset[str]]] = {}
    for span in _spans(question, brief):
        held = wanted & (span.own | span.title)
        score = fsum(map(brief.stats.weight, held)) / total
        for name in _new_names(span, wanted, brief.queries):
            best[name] = max(best.get(name, (0.0, held)), (score, held), key=lambda found: found[0])
    ranked = sorted(best.items(), key=lambda pair: -pair[1][0])[:BRIDGES_PER_QUESTION]
    return [
        Proposal(" ".join([name, *words]), (question.id,), f"the evidence names {name}")
        for name, (_, held) in ranked
        if (words := _lacking(question.text, wanted, held))
    ]


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

    Those beside a name that was found say how the bridge hangs together with it ("X's birthplace"); they are left out
    where others remain.
    """
    words = [word.strip(".,;:?!()\"'’") for word in text.split() if content_terms(word)]
    names = [i for i, w in enumerate(words) if w[:1].isupper() and held & set(content_terms(w))]
    relation = {i + step for i in names for step in BESIDE_A_NAME}
    missing = [i for i, w in enumerate(words) if (wanted - held) & set(content_terms(w))]
    beyond = [i for i in missing if i not in relation or words[i][:1].isupper()]
    return [words[i] for i in beyond or missing]
