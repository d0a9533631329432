"""Synthesis without a model: sections by question, verbatim sentences, support by containment, else by alignment."""

from collections.abc import Mapping, Sequence

from services.synthesizer.engines.answers import Verification, Writing
from services.synthesizer.gate.context import GateContext
from services.synthesizer.gate.judge import judge_aligned
from services.synthesizer.rules.selection import outline
from services.synthesizer.rules.writing import SectionTask, WritingBrief, verbatim_drafts
from shared.contracts.evidence import Evidence, Source
from shared.contracts.plan import Plan
from shared.contracts.report import Statement
from shared.domain.budget import Depth
from shared.ports.cpu import Cpu, CpuLimits

VERIFY_LIMITS = CpuLimits(wall_s=90, cpu_s=60, memory_bytes=2_000_000_000)


class ExtractiveSynthesis:
    """See `services.synthesizer.engines.SynthesisEngine`."""

    def __init__(self, cpu: Cpu) -> None:
        self._cpu = cpu

    def outline(
        self, plan: Plan, evidence: Sequence[Evidence], sources: Mapping[str, Source], depth: Depth
    ) -> dict[str, tuple[str, ...]]:
        """Share the evidence out by the questions of the sections, the most relevant first."""
        return outline(plan, evidence, sources, depth)

    def write(self, task: SectionTask, _: WritingBrief) -> Writing:
        """Draft the sentences of the section's evidence, word for word."""
        return Writing(verbatim_drafts(task))

    def verify(self, statements: Sequence[Statement], context: GateContext, *, last_try: bool) -> Verification:
        """Judge the statements in a limited subprocess; ``last_try`` makes no difference to a rule."""
        del last_try
        return Verification(self._cpu.run(judge_aligned, tuple(statements), context, limits=VERIFY_LIMITS))
