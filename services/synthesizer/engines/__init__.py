"""The synthesizer's part of each engine: what goes where, what the sentences say, whether they are supported."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from services.synthesizer.engines.answers import Verification, Writing
from services.synthesizer.engines.baseline import BaselineSynthesis
from services.synthesizer.engines.extractive import ExtractiveSynthesis
from services.synthesizer.engines.llm import LlmSynthesis
from services.synthesizer.engines.managed import ManagedSynthesis
from services.synthesizer.gate.context import GateContext
from services.synthesizer.rules.writing import OutlineTask, SectionTask, WritingBrief
from shared.contracts.report import Draft, Statement
from shared.domain.engines import MANAGED
from shared.domain.errors import Permanent
from shared.ports.cpu import Cpu
from shared.ports.model import Model
from shared.ports.reader import Reader


class SynthesisEngine(Protocol):
    """Answers the questions "outline", "write" and "verify" on plain values."""

    def outline(self, task: OutlineTask) -> dict[str, tuple[str, ...]]:
        """Return the ids of the evidence of each section that has any, in order."""
        ...

    def write(self, task: SectionTask, brief: WritingBrief) -> Writing:
        """Return the drafted statements of a section."""
        ...

    def instead(self, task: SectionTask, brief: WritingBrief, refused: int) -> tuple[Draft, ...]:
        """Return other drafts for a section of which the gate let nothing pass, placed after the ``refused`` ones.

        There are none where the engine has nothing else to say.
        """
        ...

    def verify(self, statements: Sequence[Statement], context: GateContext, *, last_try: bool) -> Verification:
        """Return one verdict for each statement, in their order.

        ``last_try`` asks to mark what cannot be judged now as unverified instead of raising that it may be later.
        """
        ...


ENGINES: Mapping[str, Callable[[Cpu, Model, Reader | None], SynthesisEngine]] = {
    "baseline": lambda cpu, model, _: BaselineSynthesis(cpu, model),
    "extractive": lambda cpu, _, reader: ExtractiveSynthesis(cpu, reader),
    "llm": lambda cpu, model, _: LlmSynthesis(cpu, model),
    **dict.fromkeys(MANAGED, lambda cpu, model, _: ManagedSynthesis(cpu, model)),
}
"""The engines that there are, by name; each is made with the processes, the model and the reader that it may use."""


def engine_of(name: str, cpu: Cpu, model: Model, reader: Reader | None = None) -> SynthesisEngine:
    """Return the engine of this name; raise `Permanent` with the known names."""
    try:
        return ENGINES[name](cpu, model, reader)
    except KeyError:
        known = ", ".join(sorted(ENGINES))
        raise Permanent("unknown_engine", f"There is no engine {name}; this worker has: {known}.") from None
