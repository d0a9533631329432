"""Synthesis with a model: it writes from cards and judges what a program cannot; the mechanical gate comes first."""

from collections.abc import Sequence
from dataclasses import replace

from services.synthesizer.engines.answers import Verification, Writing
from services.synthesizer.engines.verifying import ModelVerifier
from services.synthesizer.gate.context import GateContext
from services.synthesizer.prompts import write as writing
from services.synthesizer.rules.cards import fitted
from services.synthesizer.rules.gaps import wanted
from services.synthesizer.rules.prose import section_drafts, summary_drafts
from services.synthesizer.rules.selection import STATEMENTS_PER_SECTION, outline, summary_cards
from services.synthesizer.rules.writing import SUMMARY, OutlineTask, SectionTask, WritingBrief, verbatim_drafts
from shared.contracts.report import Draft, Statement
from shared.domain.errors import InvalidAnswer, TextRefused
from shared.domain.phases import Phase
from shared.ports.cpu import Cpu
from shared.ports.model import Answer, Model, ModelRequest

WRITE_TOKENS = 4000
WRITE_DEADLINE_S = 150.0
SUMMARY_SENTENCES = 7


class LlmSynthesis:
    """See `services.synthesizer.engines.SynthesisEngine`."""

    def __init__(self, cpu: Cpu, model: Model) -> None:
        self._cpu, self._model = cpu, model

    def outline(self, task: OutlineTask) -> dict[str, tuple[str, ...]]:
        """Share the evidence out by the questions of the sections; the summary has the best of all of them."""
        sections = outline(task.plan, task.evidence, task.sources, STATEMENTS_PER_SECTION[task.depth])
        return {**sections, SUMMARY: summary_cards(task.plan, sections, task.evidence)} if sections else {}

    def write(self, task: SectionTask, brief: WritingBrief) -> Writing:
        """Have the sentences of a section written from its cards, as many as there is room for.

        Where what comes back cannot be used, the section is told in the cards' own words.
        """
        fit = fitted(task.evidence, brief.sources)
        task = replace(task, evidence=fit.evidence)
        try:
            return replace(self._written(task, brief), cut=fit.cut)
        except (InvalidAnswer, TextRefused) as error:
            return Writing(self.instead(task, brief, 0), fit.cut, unwritten=error.detail)

    def instead(self, task: SectionTask, brief: WritingBrief, refused: int) -> tuple[Draft, ...]:
        """Tell a section in its cards' own words; a summary is made of the findings anyway."""
        if task.section_id == SUMMARY:
            return ()
        return verbatim_drafts(task, refused)[: STATEMENTS_PER_SECTION[brief.depth]]

    def _written(self, task: SectionTask, brief: WritingBrief) -> Writing:
        if task.section_id == SUMMARY:
            return Writing(summary_drafts(task, self._summary(task, brief), SUMMARY_SENTENCES))
        data = _section_data(task, brief)
        told = writing.write_input(writing.INSTRUCTIONS, data, task.evidence, brief.sources)
        written = self._model.ask(_writing(writing.INSTRUCTIONS, told, writing.SectionText)).value
        words = (data.report, data.heading, *data.questions)
        drafts = section_drafts(task, written, STATEMENTS_PER_SECTION[brief.depth], words)
        return Writing(drafts, wanted=wanted(written, data.questions, brief.plan))

    def verify(self, statements: Sequence[Statement], context: GateContext, *, last_try: bool) -> Verification:
        """Judge the statements: first by program, then what that leaves open by the model.

        A batch that the model cannot judge stays unverified; a failure that may pass is raised unless this is the
        last try.
        """
        return ModelVerifier(self._cpu, self._model, context, last_try).verify(statements)

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


def _section_data(task: SectionTask, brief: WritingBrief) -> writing.WriteData:
    planned = next(s for s in brief.plan.writing_plan if s.id == task.section_id)
    asked = {q for item in task.evidence for q in item.question_ids} | set(planned.question_ids)
    return writing.WriteData(
        report=brief.plan.title,
        heading=planned.title,
        guidance=planned.guidance,
        questions=[q.text for q in brief.plan.questions if q.id in asked],
        language=brief.language,
        as_of=brief.as_of,
        sentences=STATEMENTS_PER_SECTION[brief.depth],
    )


def _writing(instructions: str, told: str, output: type[Answer]) -> ModelRequest[Answer]:
    return ModelRequest(Phase.WRITER, instructions, told, output, WRITE_TOKENS, WRITE_DEADLINE_S)
