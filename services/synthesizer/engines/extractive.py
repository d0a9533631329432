"""Synthesis without a model: sections by question, verbatim sentences, support by containment, else by alignment."""

from collections.abc import Sequence

from services.synthesizer.engines.answers import Verification, Writing
from services.synthesizer.engines.pairs import PAIR_LIMITS, read_pair
from services.synthesizer.gate.context import GateContext
from services.synthesizer.gate.judge import judge_aligned
from services.synthesizer.rules.answers import first_required, looked_through, surest_alone
from services.synthesizer.rules.chains import answering_pair, each_where_it_serves_best, without_the_unasked
from services.synthesizer.rules.selection import outline, shared_room
from services.synthesizer.rules.writing import (
    SUMMARY,
    OutlineTask,
    SectionTask,
    WritingBrief,
    answer_drafts,
    verbatim_drafts,
)
from shared.contracts.evidence import Evidence
from shared.contracts.report import Draft, Statement
from shared.domain.evidence import ANSWER_BAR_BP
from shared.ports.cpu import Cpu, CpuLimits
from shared.ports.reader import Reader

VERIFY_LIMITS = CpuLimits(wall_s=90, cpu_s=60, memory_bytes=2_000_000_000)


class ExtractiveSynthesis:
    """See `services.synthesizer.engines.SynthesisEngine`."""

    def __init__(self, cpu: Cpu, reader: Reader | None = None) -> None:
        self._cpu, self._reader = cpu, reader

    def outline(self, task: OutlineTask) -> dict[str, tuple[str, ...]]:
        """Share the evidence out by the questions of the sections, the most relevant first.

        Where the first question takes two sentences, one leads to the short answer and one is it.
        """
        room = shared_room(task.plan, task.depth)
        if task.stats is None:
            return outline(task.plan, task.evidence, task.sources, room)
        evidence = without_the_unasked(task.plan, task.evidence, task.sources, task.stats)
        evidence = tuple(e.model_copy(update={"stance": "supports"}) for e in evidence)
        told = each_where_it_serves_best(task.plan, evidence, task.sources, task.stats)
        sections = outline(task.plan, told, task.sources, room)
        chain = self._chain(task, evidence)
        return {SUMMARY: chain, **sections} if chain else sections

    def _chain(self, task: OutlineTask, evidence: Sequence[Evidence]) -> tuple[str, ...]:
        """Return two pieces of evidence that answer the first question together, and more surely than one alone."""
        question = first_required(task.plan)
        if task.stats is None:
            return ()
        chain = answering_pair(question, evidence, task.sources, task.stats)
        if not chain or not looked_through(question, evidence):
            return chain
        texts = {e.evidence_id: e for e in evidence}
        one, other = (texts[i] for i in chain)
        title = (source.title if (source := task.sources.get(other.source_id)) else None) or ""
        read = self._cpu.run(
            read_pair, question.text, (one.excerpt, other.excerpt), title, task.stats, self._reader, limits=PAIR_LIMITS
        )
        alone = surest_alone(question, evidence)
        return chain if 10_000 * read.certainty >= max(alone, ANSWER_BAR_BP) else ()

    def write(self, task: SectionTask, _: WritingBrief) -> Writing:
        """Draft the sentences of the section's evidence, word for word."""
        return Writing(answer_drafts(task) if task.section_id == SUMMARY else verbatim_drafts(task))

    def instead(self, task: SectionTask, brief: WritingBrief, refused: int) -> tuple[Draft, ...]:
        """Say nothing: every sentence of the evidence was drafted."""
        del task, brief, refused
        return ()

    def verify(self, statements: Sequence[Statement], context: GateContext, *, last_try: bool) -> Verification:
        """Judge the statements in a limited subprocess; ``last_try`` makes no difference to a rule."""
        del last_try
        return Verification(self._cpu.run(judge_aligned, tuple(statements), context, limits=VERIFY_LIMITS))
