"""The synthesizer's part of each engine: what goes where, what the sentences say, whether they are supported."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from services.synthesizer.engines.extractive import ExtractiveSynthesis
from services.synthesizer.gate.context import GateContext
from services.synthesizer.rules.writing import SectionTask
from shared.contracts.evidence import Evidence, Source
from shared.contracts.plan import Plan
from shared.contracts.report import Draft, Statement, VerdictRow
from shared.domain.budget import Depth
from shared.domain.errors import Permanent
from shared.ports.cpu import Cpu


class SynthesisEngine(Protocol):
    """Answers the questions "outline", "write" and "verify" on plain values."""

    def outline(
        self, plan: Plan, evidence: Sequence[Evidence], sources: Mapping[str, Source], depth: Depth
    ) -> dict[str, tuple[str, ...]]:
        """Return the ids of the evidence of each section that has any, in order; ``evidence`` may all be used."""
        ...

    def write(self, task: SectionTask) -> tuple[Draft, ...]:
        """Return the drafted statements of a section."""
        ...

    def verify(self, statements: Sequence[Statement], context: GateContext, cpu: Cpu) -> tuple[VerdictRow, ...]:
        """Return one verdict for each statement, in their order."""
        ...


ENGINES: Mapping[str, SynthesisEngine] = {"extractive": ExtractiveSynthesis()}
"""The engines that there are, by name."""


def engine_of(name: str) -> SynthesisEngine:
    """Return the engine of this name; raise `Permanent` with the known names."""
    try:
        return ENGINES[name]
    except KeyError:
        known = ", ".join(sorted(ENGINES))
        raise Permanent("unknown_engine", f"There is no engine {name}; this worker has: {known}.") from None
