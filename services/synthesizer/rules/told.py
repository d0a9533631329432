"""Writing from a provider's report: its sentences as they stand, each with the evidence that may bear it out."""

from collections.abc import Collection, Sequence

from services.synthesizer.rules.writing import SectionTask, statement_id
from shared.contracts.evidence import Evidence
from shared.contracts.managed import ToldSentence
from shared.contracts.report import Draft, Statement
from shared.domain.text import content_terms

MOST_CITED = 3
"""Pieces of evidence that one sentence cites."""


def told_drafts(task: SectionTask, sentences: Sequence[ToldSentence], questions: Collection[str]) -> tuple[Draft, ...]:
    """Return a draft for each sentence about these questions; one whose pages hold nothing of it cites nothing."""
    own = [s for s in sentences if s.question_id in questions]
    return tuple(_draft(task, ordinal, sentence) for ordinal, sentence in enumerate(own))


def _draft(task: SectionTask, ordinal: int, sentence: ToldSentence) -> Draft:
    statement = Statement(
        id=statement_id(task.run_id, task.epoch, task.section_id, ordinal),
        kind="finding",
        text=sentence.text,
        evidence_ids=cited_for(sentence, task.evidence),
    )
    return Draft(
        section_id=task.section_id, ordinal=ordinal, block=sentence.block, form="paragraph", statement=statement
    )


def cited_for(sentence: ToldSentence, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the evidence from a sentence's own pages that holds most of its words, then what adds more of them."""
    waiting = [(e, frozenset(content_terms(e.excerpt))) for e in evidence if e.source_id in sentence.source_ids]
    left = frozenset(content_terms(sentence.text))
    chosen: list[str] = []
    while waiting and len(chosen) < MOST_CITED:
        best = max(waiting, key=lambda pair: (len(left & pair[1]), -len(pair[1]), pair[0].sha256))
        if not left & best[1]:
            break
        chosen.append(best[0].evidence_id)
        left -= best[1]
        waiting.remove(best)
    return tuple(chosen)
