"""Synthesis with a model: it writes from cards and judges what a program cannot; the mechanical gate comes first."""

from collections.abc import Sequence

from services.synthesizer.engines.answers import Verification
from services.synthesizer.gate.context import GateContext
from services.synthesizer.gate.judge import judge_all
from services.synthesizer.prompts import verify as verifying
from services.synthesizer.prompts import write as writing
from services.synthesizer.rules.prose import section_drafts, summary_drafts
from services.synthesizer.rules.selection import STATEMENTS_PER_SECTION, outline, summary_cards
from services.synthesizer.rules.verdicts import Case, Verifier, batches, is_open, judged, unjudged
from services.synthesizer.rules.writing import SUMMARY, OutlineTask, SectionTask, WritingBrief
from shared.contracts.report import Draft, Statement, VerdictRow
from shared.domain.errors import BudgetExhausted, InvalidAnswer, Transient
from shared.domain.phases import Phase
from shared.ports.cpu import Cpu, CpuLimits
from shared.ports.model import Answer, Model, ModelRequest

WRITE_TOKENS = 4000
VERIFY_TOKENS = 3000
WRITE_DEADLINE_S = 150.0
VERIFY_DEADLINE_S = 45.0
"""A section is checked in at most three calls, one after the other, within the time of its step."""

SUMMARY_SENTENCES = 7
GATE_LIMITS = CpuLimits(wall_s=20, cpu_s=15, memory_bytes=2_000_000_000)


class LlmSynthesis:
    """See `services.synthesizer.engines.SynthesisEngine`."""

    def __init__(self, cpu: Cpu, model: Model) -> None:
        self._cpu, self._model = cpu, model

    def outline(self, task: OutlineTask) -> dict[str, tuple[str, ...]]:
        """Share the evidence out by the questions of the sections; the summary has the best of all of them."""
        sections = outline(task.plan, task.evidence, task.sources, task.depth)
        return {**sections, SUMMARY: summary_cards(task.plan, sections, task.evidence)} if sections else {}

    def write(self, task: SectionTask, brief: WritingBrief) -> tuple[Draft, ...]:
        """Have the sentences of a section written from its cards."""
        if task.section_id == SUMMARY:
            return summary_drafts(task, self._summary(task, brief), SUMMARY_SENTENCES)
        return section_drafts(task, self._section(task, brief), STATEMENTS_PER_SECTION[brief.depth])

    def verify(self, statements: Sequence[Statement], context: GateContext, *, last_try: bool) -> Verification:
        """Judge the statements: first by program, then what that leaves open by the model.

        A batch that the model cannot judge stays unverified; a failure that may pass is raised unless this is the
        last try.
        """
        rows = self._cpu.run(judge_all, tuple(statements), context, limits=GATE_LIMITS)
        cases = [Case(s, row) for s, row in zip(statements, rows, strict=True) if is_open(row)]
        given: dict[str, VerdictRow] = {}
        stopped: str | None = None
        for batch in batches(cases):
            try:
                found = self._judge(batch, context)
            except BudgetExhausted as error:
                found, stopped = self._unjudged(batch, error.detail), error.code
            except InvalidAnswer as error:
                found = self._unjudged(batch, error.detail)
            except Transient as error:
                if not last_try:
                    raise
                found = self._unjudged(batch, error.detail)
            given |= {row.statement_id: row for row in found}
        return Verification(tuple(given.get(row.statement_id, row) for row in rows), stopped)

    def _judge(self, batch: Sequence[Case], context: GateContext) -> tuple[VerdictRow, ...]:
        shown = [(c.statement.text, [context.evidence[i] for i in c.statement.evidence_ids]) for c in batch]
        request = ModelRequest(
            phase=Phase.VERIFIER,
            instructions=verifying.INSTRUCTIONS,
            input=verifying.verify_input(shown, context.sources),
            output=verifying.Verdicts,
            max_output_tokens=VERIFY_TOKENS,
            deadline_s=VERIFY_DEADLINE_S,
        )
        answer = self._model.ask(request)
        verifier = Verifier(answer.requested_model, answer.served_model)
        return judged(batch, answer.value.verdicts, context, verifier)

    def _unjudged(self, batch: Sequence[Case], reason: str) -> tuple[VerdictRow, ...]:
        name = self._model.name(Phase.VERIFIER)
        return tuple(unjudged(case, reason, Verifier(name, "none")) for case in batch)

    def _section(self, task: SectionTask, brief: WritingBrief) -> writing.SectionText:
        planned = next(s for s in brief.plan.writing_plan if s.id == task.section_id)
        asked = {q for item in task.evidence for q in item.question_ids} | set(planned.question_ids)
        data = writing.WriteData(
            report=brief.plan.title,
            heading=planned.title,
            guidance=planned.guidance,
            questions=[q.text for q in brief.plan.questions if q.id in asked],
            language=brief.language,
            as_of=brief.as_of,
            sentences=STATEMENTS_PER_SECTION[brief.depth],
        )
        told = writing.write_input(writing.INSTRUCTIONS, data, task.evidence, brief.sources)
        return self._model.ask(_writing(writing.INSTRUCTIONS, told, writing.SectionText)).value

    def _summary(self, task: SectionTask, brief: WritingBrief) -> writing.SummaryText:
        data = writing.WriteData(
            report=brief.plan.title,
            heading="Short answer and summary",
            guidance=brief.plan.objective,
            questions=[q.text for q in brief.plan.questions],
            language=brief.language,
            as_of=brief.as_of,
            sentences=SUMMARY_SENTENCES,
        )
        told = writing.write_input(writing.SUMMARY_INSTRUCTIONS, data, task.evidence, brief.sources)
        return self._model.ask(_writing(writing.SUMMARY_INSTRUCTIONS, told, writing.SummaryText)).value


def _writing(instructions: str, told: str, output: type[Answer]) -> ModelRequest[Answer]:
    return ModelRequest(Phase.WRITER, instructions, told, output, WRITE_TOKENS, WRITE_DEADLINE_S)
