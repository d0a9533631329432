"""From what a model wrote to drafts: each sentence a statement, each card number a piece of evidence."""

import re
from collections.abc import Iterable, Iterator, Sequence

from services.synthesizer.prompts.write import Block, SectionText, Sentence, SummaryText
from services.synthesizer.rules.writing import ANSWER_BLOCK, SUMMARY, SUMMARY_BLOCK, SectionTask, statement_id
from shared.contracts.report import Draft, DraftForm, Statement
from shared.domain.excerpts import one_line
from shared.domain.segments import segment

LONGEST_SENTENCE = 600

_MARKERS = re.compile(r"\s*\[\d+(?:\s*[,;–-]\s*\d+)*\](?=[\s.,;:!?]|$)")
_LINK = re.compile(r"https?://\S+")


def section_drafts(task: SectionTask, written: SectionText, most: int) -> tuple[Draft, ...]:
    """Return the drafts of a section, at most ``most``."""
    return _drafts(task, enumerate(written.blocks), most)


def summary_drafts(task: SectionTask, written: SummaryText, most: int) -> tuple[Draft, ...]:
    """Return the drafts of the short answer, one sentence, and of the summary."""
    answer = [written.short_answer] if written.short_answer else []
    blocks = ((ANSWER_BLOCK, Block(sentences=answer)), (SUMMARY_BLOCK, Block(sentences=written.summary)))
    drafts = _drafts(task, blocks, most)
    first = next((d.ordinal for d in drafts if d.block == ANSWER_BLOCK), None)
    return tuple(d for d in drafts if d.block == SUMMARY_BLOCK or d.ordinal == first)


def told_answer(emitted: Iterable[Draft]) -> Statement | None:
    """Return the short answer among the drafts that passed, or None when none was written or it did not pass."""
    return next((d.statement for d in emitted if d.section_id == SUMMARY and d.block == ANSWER_BLOCK), None)


def told_summary(emitted: Iterable[Draft]) -> tuple[Statement, ...]:
    """Return what passed of the summary."""
    return tuple(d.statement for d in emitted if d.section_id == SUMMARY and d.block == SUMMARY_BLOCK)


def _drafts(task: SectionTask, blocks: Iterable[tuple[int, Block]], most: int) -> tuple[Draft, ...]:
    found: list[Draft] = []
    said: set[str] = set()
    for number, block in blocks:
        for text, cards in _sentences(block.sentences):
            if len(found) < most and text not in said:
                said.add(text)
                found.append(_draft(task, len(found), (number, block.form), text, cards))
    return tuple(found)


def _sentences(written: Sequence[Sentence]) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield every sentence by itself; one text of several gives each of them its cards."""
    for item in written:
        line = one_line(_LINK.sub("", _MARKERS.sub("", item.text)))
        for span in segment(line):
            text = line[span.start : span.end]
            if len(text) <= LONGEST_SENTENCE:
                yield text, item.cards


def _draft(task: SectionTask, ordinal: int, place: tuple[int, DraftForm], text: str, cards: Sequence[int]) -> Draft:
    block, form = place
    known = (task.evidence[n - 1].evidence_id for n in cards if 1 <= n <= len(task.evidence))
    return Draft(
        section_id=task.section_id,
        ordinal=ordinal,
        block=block,
        form=form,
        statement=Statement(
            id=statement_id(task.run_id, task.epoch, task.section_id, ordinal),
            kind="finding",
            text=text,
            evidence_ids=tuple(dict.fromkeys(known)),
        ),
    )
