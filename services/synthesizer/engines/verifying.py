"""Checking with a model: the mechanical gate first and final where it refuses, then the model, then one repair."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

from services.synthesizer.engines.answers import Verification
from services.synthesizer.gate.context import GateContext
from services.synthesizer.gate.judge import is_analysis, judge_all
from services.synthesizer.prompts import shorten as shortening
from services.synthesizer.prompts import verify as verifying
from services.synthesizer.rules.verdicts import Case, Verifier, batches, is_open, judged, repaired, shorter, unjudged
from shared.contracts.report import Statement, VerdictRow
from shared.domain.errors import BudgetExhausted, InvalidAnswer, TextRefused, Transient
from shared.domain.phases import Phase
from shared.ports.cpu import Cpu, CpuLimits
from shared.ports.model import Model, ModelRequest

VERIFY_TOKENS = 3000
VERIFY_DEADLINE_S = 60.0
"""A section is checked in at most four rounds of calls (findings, repair, repaired ones, analyses) in its step's time;
the calls of one round are made at once."""

GATE_LIMITS = CpuLimits(wall_s=20, cpu_s=15, memory_bytes=2_000_000_000)

Rows = Mapping[str, VerdictRow]
Given = TypeVar("Given")


@dataclass(slots=True)
class ModelVerifier:
    """Judges the statements of one section; ``stopped`` names the limit that left some of them unverified."""

    cpu: Cpu
    model: Model
    context: GateContext
    last_try: bool
    stopped: str | None = field(default=None, init=False)

    def verify(self, statements: Sequence[Statement]) -> Verification:
        """Return one verdict for each statement: of findings first, then of the analyses that rest on them."""
        findings = [s for s in statements if not is_analysis(s)]
        rows = self._rows(findings, self.context)
        rows |= self._repaired({s.id: s for s in findings}, rows)
        passed = {i: row.evidence_ids for i, row in rows.items() if row.emitted}
        rows |= self._analyses([s for s in statements if is_analysis(s)], passed)
        return Verification(tuple(rows[s.id] for s in statements), self.stopped)

    def _rows(self, statements: Sequence[Statement], context: GateContext) -> dict[str, VerdictRow]:
        """Judge by program, and have the model judge what that leaves open."""
        rows = self._mechanical(statements, context)
        cases = [Case(s, rows[s.id]) for s in statements if is_open(rows[s.id])]
        return rows | self._judged(cases, context)

    def _mechanical(self, statements: Sequence[Statement], context: GateContext) -> dict[str, VerdictRow]:
        if not statements:
            return {}
        rows = self.cpu.run(judge_all, tuple(statements), context, limits=GATE_LIMITS)
        return {row.statement_id: row for row in rows}

    def _analyses(
        self, statements: Sequence[Statement], passed: Mapping[str, tuple[str, ...]]
    ) -> dict[str, VerdictRow]:
        """Judge conclusions against the evidence of the findings that they rest on; all of those must have passed."""
        context = replace(self.context, findings={**self.context.findings, **passed})
        rows = self._mechanical(statements, context)
        cases = []
        for statement in statements:
            spans = dict.fromkeys(i for f in statement.statement_ids for i in context.findings.get(f, ()))
            row = rows[statement.id].model_copy(update={"repeatable": False})
            if row.emitted:  # its words stand in the evidence: it is told as a conclusion all the same
                row = row.model_copy(update={"evidence_ids": tuple(spans)})
            rows[statement.id] = row
            if is_open(row):
                cases.append(Case(statement, row, tuple(spans)))
        return rows | self._judged(cases, context)

    def _judged(self, cases: Sequence[Case], context: GateContext) -> dict[str, VerdictRow]:
        """Have batches of cases judged at once; a batch that the model cannot judge stays unverified."""

        def judge(batch: Sequence[Case]) -> tuple[VerdictRow, ...]:
            shown = [(c.told, [context.evidence[i] for i in c.spans]) for c in batch]
            request = ModelRequest(
                phase=Phase.VERIFIER,
                instructions=verifying.INSTRUCTIONS,
                input=verifying.verify_input(shown, context.sources),
                output=verifying.Verdicts,
                max_output_tokens=VERIFY_TOKENS,
                deadline_s=VERIFY_DEADLINE_S,
            )
            answer = self.model.ask(request)
            verifier = Verifier(answer.requested_model, answer.served_model)
            return judged(batch, answer.value.verdicts, context, verifier)

        rows = self._at_once(batches(cases), judge, self._unjudged)
        return {row.statement_id: row for group in rows for row in group}

    def _repaired(self, statements: Mapping[str, Statement], rows: Rows) -> dict[str, VerdictRow]:
        """Have what is supported in part shortened once, and judge what is left like anything else."""
        partial = [Case(statements[i], row) for i, row in rows.items() if _is_partial(statements[i], row)]
        told = self._at_once(batches(partial), self._shortened, lambda _, __: {})
        texts = {i: text for group in told for i, text in group.items()}
        again = [statements[i].model_copy(update={"text": text}) for i, text in texts.items()]
        found = self._rows(again, self.context)
        return {i: repaired(row, rows[i].text) for i, row in found.items() if row.emitted}

    def _shortened(self, batch: Sequence[Case]) -> dict[str, str]:
        shown = [(c.statement.text, [self.context.evidence[i] for i in c.spans]) for c in batch]
        request = ModelRequest(
            phase=Phase.VERIFIER,
            instructions=shortening.INSTRUCTIONS,
            input=shortening.shorten_input(shown, self.context.sources),
            output=shortening.Shortening,
            max_output_tokens=VERIFY_TOKENS,
            deadline_s=VERIFY_DEADLINE_S,
        )
        found = self.model.ask(request).value.sentences
        return dict(shorter(batch, found))

    def _unjudged(self, batch: Sequence[Case], reason: str) -> tuple[VerdictRow, ...]:
        name = self.model.name(Phase.VERIFIER)
        return tuple(unjudged(case, reason, Verifier(name, "none")) for case in batch)

    def _at_once(
        self,
        groups: Sequence[Sequence[Case]],
        work: Callable[[Sequence[Case]], Given],
        otherwise: Callable[[Sequence[Case], str], Given],
    ) -> list[Given]:
        """Do the work of all groups at once; what cannot be done is given ``otherwise``, with the reason.

        A failure that may pass is raised unless this is the last try.
        """
        if not groups:
            return []
        with ThreadPoolExecutor(len(groups), thread_name_prefix="verify") as pool:
            asked = [pool.submit(work, group) for group in groups]
        found = []
        for group, answer in zip(groups, asked, strict=True):
            try:
                found.append(answer.result())
            except BudgetExhausted as error:
                self.stopped = error.code
                found.append(otherwise(group, error.detail))
            except (InvalidAnswer, TextRefused) as error:
                found.append(otherwise(group, error.detail))
            except Transient as error:
                if not self.last_try:
                    raise
                found.append(otherwise(group, error.detail))
        return found


def _is_partial(statement: Statement, row: VerdictRow) -> bool:
    return row.verdict == "partially_supported" and not row.repeatable and statement.derived is None
