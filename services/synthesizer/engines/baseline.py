"""Synthesis of the baseline: one prompt with the best passages writes everything; the gate is the same as ever."""

from collections.abc import Sequence

from services.synthesizer.engines.answers import Verification, Writing
from services.synthesizer.engines.llm import LlmSynthesis
from services.synthesizer.gate.context import GateContext
from services.synthesizer.rules.selection import STATEMENTS_PER_SECTION, outline
from services.synthesizer.rules.writing import OutlineTask, SectionTask, WritingBrief
from shared.contracts.report import Draft, Statement
from shared.ports.cpu import Cpu
from shared.ports.model import Model


class BaselineSynthesis:
    """See `services.synthesizer.engines.SynthesisEngine`. It exists to be compared with."""

    def __init__(self, cpu: Cpu, model: Model) -> None:
        self._engine = LlmSynthesis(cpu, model)

    def outline(self, task: OutlineTask) -> dict[str, tuple[str, ...]]:
        """Put the best evidence into the one section that there is; no summary is written by itself."""
        return outline(task.plan, task.evidence, task.sources, STATEMENTS_PER_SECTION[task.depth])

    def write(self, task: SectionTask, brief: WritingBrief) -> Writing:
        """Have the whole written in one call."""
        return self._engine.write(task, brief)

    def instead(self, task: SectionTask, brief: WritingBrief, refused: int) -> tuple[Draft, ...]:
        """Tell the section in the words of its passages, as the engine `llm` does."""
        return self._engine.instead(task, brief, refused)

    def verify(self, statements: Sequence[Statement], context: GateContext, *, last_try: bool) -> Verification:
        """Judge the statements as those of the engine `llm` are."""
        return self._engine.verify(statements, context, last_try=last_try)
