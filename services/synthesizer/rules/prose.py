"""From what a model wrote to drafts: each sentence a statement, each card number a piece of evidence."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from services.synthesizer.prompts.write import (
    MOST_COLUMNS,
    MOST_INPUTS,
    MOST_ROWS,
    Block,
    Derivation,
    SectionText,
    Sentence,
    SummaryText,
)
from services.synthesizer.rules.writing import (
    ANSWER_BLOCK,
    LEAD_BLOCK,
    ROUND_PLACES,
    SUMMARY,
    SUMMARY_BLOCK,
    SectionTask,
    statement_id,
)
from shared.contracts.evidence import Evidence
from shared.contracts.report import Derived, DerivedInput, Draft, DraftForm, Statement
from shared.domain.excerpts import one_line
from shared.domain.segments import segment
from shared.domain.text import content_terms

LONGEST_SENTENCE = 600
LONGEST_HEADING = 60

_MARKERS = re.compile(r"\s*\[\d+(?:\s*[,;–-]\s*\d+)*\](?=[\s.,;:!?]|$)")
_LINK = re.compile(r"https?://\S+")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a sentence stands: its block and how that is read, and its cell in a table."""

    block: int
    form: DraftForm
    cell: tuple[int, int] | None = None
    columns: tuple[str, ...] = ()


@dataclass(slots=True)
class _Section:
    """The drafts of a section so far, and the ids that each sentence of the model became, by its place from 1."""

    task: SectionTask
    most: int
    drafts: list[Draft] = field(default_factory=list)
    said: set[str] = field(default_factory=set)
    ids: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def take(self, place: _Place, number: int, sentence: Sentence) -> None:
        """Draft every sentence of a text by itself; one text of several gives each of them its cards."""
        texts = list(_texts(sentence.text))
        taken: list[str] = []
        for text in texts:
            if len(self.drafts) < self.most and text not in self.said:
                self.said.add(text)
                alone = sentence if len(texts) == 1 else sentence.model_copy(update={"derived": None})
                draft = _draft(self, place, text, alone)
                self.drafts.append(draft)
                taken.append(draft.statement.id)
        self.ids[number] = tuple(taken)


def section_drafts(task: SectionTask, written: SectionText, most: int, words: Iterable[str] = ()) -> tuple[Draft, ...]:
    """Return the drafts of a section, at most ``most``; ``words`` are the plan's, of which headings may be made."""
    section = _Section(task, most)
    known = frozenset(content_terms(" ".join(words)))
    number = 0
    for block_number, block in enumerate(written.blocks):
        for place, sentence in _places(block_number, block, known):
            number += 1
            section.take(place, number, sentence)
    return tuple(section.drafts)


def summary_drafts(task: SectionTask, written: SummaryText, most: int) -> tuple[Draft, ...]:
    """Return the drafts of the short answer, one sentence, and of the summary."""
    section = _Section(task, most)
    told = [(ANSWER_BLOCK, s) for s in (written.short_answer,) if s] + [(SUMMARY_BLOCK, s) for s in written.summary]
    for number, (block, sentence) in enumerate(told, start=1):
        section.take(_Place(block, "paragraph"), number, sentence)
    first = next((d.ordinal for d in section.drafts if _stands_in(d, ANSWER_BLOCK)), None)
    return tuple(d for d in section.drafts if _stands_in(d, SUMMARY_BLOCK) or d.ordinal == first)


def told_answer(emitted: Iterable[Draft]) -> Statement | None:
    """Return the short answer among the drafts that passed, or None when none was written or it did not pass."""
    return next((d.statement for d in emitted if d.section_id == SUMMARY and _stands_in(d, ANSWER_BLOCK)), None)


def told_lead(emitted: Iterable[Draft]) -> tuple[Statement, ...]:
    """Return what passed of the sentences that lead to the short answer."""
    return tuple(d.statement for d in emitted if d.section_id == SUMMARY and _stands_in(d, LEAD_BLOCK))


def told_summary(emitted: Iterable[Draft]) -> tuple[Statement, ...]:
    """Return what passed of the summary."""
    return tuple(d.statement for d in emitted if d.section_id == SUMMARY and _stands_in(d, SUMMARY_BLOCK))


def _stands_in(draft: Draft, block: int) -> bool:
    """Tell whether a draft of a summary stands in this block of it, whichever round wrote it."""
    return draft.block % ROUND_PLACES == block


def _places(number: int, block: Block, words: frozenset[str]) -> Iterator[tuple[_Place, Sentence]]:
    """Yield the sentences of a block with their places; a table that may not stand is read as a list."""
    if block.form != "table":
        yield from ((_Place(number, block.form), sentence) for sentence in block.sentences)
        return
    columns = tuple(one_line(c) for c in block.columns)
    whole = _is_table(columns, block.rows, words)
    for row, cells in enumerate(block.rows):
        for column, sentence in enumerate(cells):
            yield _Place(number, "table", (row, column), columns) if whole else _Place(number, "list"), sentence


def _is_table(columns: Sequence[str], rows: Sequence[Sequence[Sentence]], words: frozenset[str]) -> bool:
    """Tell whether a table is whole, and its headings, which no gate checks, are made of the plan's own words."""
    shaped = 2 <= len(columns) <= MOST_COLUMNS and len(rows) <= MOST_ROWS
    named = all(0 < len(c) <= LONGEST_HEADING and set(content_terms(c)) <= words for c in columns)
    return shaped and named and all(len(row) == len(columns) for row in rows)


def _texts(written: str) -> Iterator[str]:
    line = one_line(_LINK.sub("", _MARKERS.sub("", written)))
    for span in segment(line):
        if span.end - span.start <= LONGEST_SENTENCE:
            yield line[span.start : span.end]


def _draft(section: _Section, place: _Place, text: str, sentence: Sentence) -> Draft:
    task, ordinal = section.task, section.task.first_ordinal + len(section.drafts)
    cards = {n: item for n, item in enumerate(task.evidence, start=1) if n in sentence.cards}
    known = tuple(dict.fromkeys(cards[n].evidence_id for n in sentence.cards if n in cards))
    rests_on = tuple(dict.fromkeys(i for n in sentence.rests_on for i in section.ids.get(n, ())))
    analysis = sentence.kind == "analysis"
    return Draft(
        section_id=task.section_id,
        ordinal=ordinal,
        block=task.first_ordinal + place.block,
        form=place.form,
        cell=place.cell,
        columns=place.columns,
        statement=Statement(
            id=statement_id(task.run_id, task.epoch, task.section_id, ordinal),
            kind="analysis" if analysis else "finding",
            text=text,
            evidence_ids=() if analysis else known,
            statement_ids=rests_on if analysis else (),
            derived=None if analysis or sentence.derived is None else _derived(sentence.derived, task.evidence),
        ),
    )


def _derived(told: Derivation, evidence: Sequence[Evidence]) -> Derived | None:
    """Return a derivation over pieces of evidence; None when it names a card that there is not."""
    cards: Mapping[int, Evidence] = dict(enumerate(evidence, start=1))
    if not 1 <= len(told.inputs) <= MOST_INPUTS or any(i.card not in cards for i in told.inputs):
        return None
    inputs = tuple(
        DerivedInput(name=i.name, value=i.value, unit=i.unit, evidence_id=cards[i.card].evidence_id)
        for i in told.inputs
    )
    return Derived(value=told.value, unit=told.unit, formula=told.formula, inputs=inputs)
