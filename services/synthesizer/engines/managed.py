"""Synthesis from a provider's report: nothing is written here; its sentences pass the same gate or are dropped."""

from collections.abc import Sequence

from services.synthesizer.engines.answers import Verification, Writing
from services.synthesizer.engines.extractive import ExtractiveSynthesis
from services.synthesizer.engines.llm import LlmSynthesis
from services.synthesizer.gate.context import GateContext
from services.synthesizer.rules.selection import section_questions
from services.synthesizer.rules.told import told_drafts
from services.synthesizer.rules.writing import OutlineTask, SectionTask, WritingBrief
from shared.contracts.report import Draft, Statement
from shared.domain.errors import Permanent
from shared.domain.phases import Phase
from shared.ports.cpu import Cpu
from shared.ports.model import Model


class ManagedSynthesis:
    """See `services.synthesizer.engines.SynthesisEngine`."""

    def __init__(self, cpu: Cpu, model: Model) -> None:
        self._cpu, self._model = cpu, model

    def outline(self, task: OutlineTask) -> dict[str, tuple[str, ...]]:
        """Give every section the evidence of its questions; one without any has sentences all the same."""
        return {
            section: tuple(e.evidence_id for e in task.evidence if set(questions) & set(e.question_ids))
            for section, questions in section_questions(task.plan).items()
        }

    def write(self, task: SectionTask, brief: WritingBrief) -> Writing:
        """Take over the sentences about the section's questions."""
        return Writing(told_drafts(task, brief.told, section_questions(brief.plan)[task.section_id]))

    def instead(self, task: SectionTask, brief: WritingBrief, refused: int) -> tuple[Draft, ...]:
        """Say nothing: what is not the provider's is no part of its report."""
        del task, brief, refused
        return ()

    def verify(self, statements: Sequence[Statement], context: GateContext, *, last_try: bool) -> Verification:
        """Judge by program, and what that leaves open by the model; without one by how words align."""
        if self._has_verifier():
            return LlmSynthesis(self._cpu, self._model).verify(statements, context, last_try=last_try)
        return ExtractiveSynthesis(self._cpu).verify(statements, context, last_try=last_try)

    def _has_verifier(self) -> bool:
        try:
            return bool(self._model.name(Phase.VERIFIER))
        except Permanent:
            return False
