"""What is to be written, and writing without a model: every statement is a sentence of its evidence, word for word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.synthesizer.rules.sentences import sentences_of
from shared.contracts.evidence import Evidence, Source
from shared.contracts.managed import ToldSentence
from shared.contracts.plan import Plan
from shared.contracts.report import Draft, Statement
from shared.domain.budget import Depth
from shared.domain.excerpts import folded
from shared.domain.ids import digest_id
from shared.domain.rank import CorpusStats

SUMMARY = "summary"
"""The section that holds the short answer (its block 0), the summary (1) and what leads to the answer (2)."""

ANSWER_BLOCK, SUMMARY_BLOCK, LEAD_BLOCK = 0, 1, 2


MOST_CITED = 4
"""Pieces of evidence with the very same sentence that one statement cites: more in a row tell a reader nothing."""


@dataclass(frozen=True, slots=True)
class OutlineTask:
    """What an outline is made of: the plan, all evidence that may be used, and how common the terms asked for are.

    ``stats`` None: relevances are those that a model gave.
    """

    plan: Plan
    evidence: Sequence[Evidence]
    sources: Mapping[str, Source]
    stats: CorpusStats | None
    depth: Depth


ROUND_PLACES = 1000
"""Places for the statements and blocks of one round; no section has so many."""


@dataclass(frozen=True, slots=True)
class SectionTask:
    """A section to write and its evidence, in the order in which it is to be told."""

    run_id: str
    epoch: int
    section_id: str
    evidence: tuple[Evidence, ...]
    round: int = 0
    """Which round of refinement adds to the section; 0 writes it."""

    @property
    def first_ordinal(self) -> int:
        """Where the places of this round's statements begin."""
        return self.round * ROUND_PLACES


@dataclass(frozen=True, slots=True)
class WritingBrief:
    """What a writer has to know beside its cards; ``language`` None means that of the questions."""

    plan: Plan
    sources: Mapping[str, Source]
    depth: Depth
    language: str | None
    as_of: str | None
    told: tuple[ToldSentence, ...] = ()
    """The sentences of a provider's report, where one has done the research."""


def round_of_draft(draft: Draft) -> int:
    """Return the round of refinement that a draft comes from; 0 is the first writing."""
    return draft.ordinal // ROUND_PLACES


def statement_id(run_id: str, epoch: int, section_id: str, ordinal: int) -> str:
    """Return the id of the statement at this place; writing the section again gives the same one."""
    return digest_id("stm", run_id, str(epoch), section_id, str(ordinal))


def verbatim_drafts(task: SectionTask, after: int = 0) -> tuple[Draft, ...]:
    """Return one draft for each different sentence of the evidence; its blocks follow the sources.

    A sentence that other pieces of evidence hold too is drafted once and cites the first few. They are placed after
    the first ``after`` drafts of the section's round.
    """
    texts: dict[str, str] = {}
    cited: dict[str, list[Evidence]] = {}
    for evidence in task.evidence:
        for sentence in sentences_of(evidence.excerpt):
            key = folded(sentence)
            texts.setdefault(key, sentence)
            cited.setdefault(key, []).append(evidence)
    blocks = _blocks([items[0] for items in cited.values()])
    return tuple(
        Draft(
            section_id=task.section_id,
            ordinal=ordinal,
            block=task.first_ordinal + block,
            statement=Statement(
                id=statement_id(task.run_id, task.epoch, task.section_id, ordinal),
                kind="finding",
                text=texts[key],
                evidence_ids=tuple(dict.fromkeys(e.evidence_id for e in cited[key]))[:MOST_CITED],
            ),
        )
        for ordinal, (key, block) in enumerate(zip(cited, blocks, strict=True), start=task.first_ordinal + after)
    )


def answer_drafts(task: SectionTask) -> tuple[Draft, ...]:
    """Return what leads to the answer and the answer itself, the last: a statement for what each source says in a row.

    Sentences of two sources are never one statement: together they may say what neither does.
    """
    runs: list[list[Evidence]] = []
    for item in task.evidence:
        if runs and runs[-1][-1].source_id == item.source_id:
            runs[-1].append(item)
        else:
            runs.append([item])
    return tuple(
        _answer_draft(task, ordinal, run, ANSWER_BLOCK if ordinal == len(runs) - 1 else LEAD_BLOCK)
        for ordinal, run in enumerate(runs)
    )


def _answer_draft(task: SectionTask, ordinal: int, evidence: Sequence[Evidence], block: int) -> Draft:
    sentences = dict.fromkeys(sentence for e in evidence for sentence in sentences_of(e.excerpt))
    statement = Statement(
        id=statement_id(task.run_id, task.epoch, task.section_id, ordinal),
        kind="finding",
        text=" ".join(sentences),
        evidence_ids=tuple(e.evidence_id for e in evidence),
    )
    return Draft(section_id=task.section_id, ordinal=ordinal, block=block, form="paragraph", statement=statement)


def _blocks(evidence: Sequence[Evidence]) -> list[int]:
    """Number the runs of evidence from one source."""
    numbers: list[int] = []
    for index, item in enumerate(evidence):
        same = index > 0 and evidence[index - 1].source_id == item.source_id
        numbers.append(numbers[-1] + (not same) if numbers else 0)
    return numbers
