"""What a model's verdict makes of a row that the mechanical gate left open. Where the gate refuses, it is final.

What a finding turns, and whether its excerpts hold it at all, is looked at last, in the excerpts that the model named:
no model makes "most" into "all", or something out of nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from services.synthesizer.gate.context import CheckOutcome, GateContext
from services.synthesizer.gate.floor import check_floor
from services.synthesizer.gate.numbers import check_numbers
from services.synthesizer.gate.turns import check_turns
from services.synthesizer.prompts.shorten import Shortened
from services.synthesizer.prompts.verify import SentenceVerdict
from shared.contracts.report import Statement, VerdictRow
from shared.domain.excerpts import one_line
from shared.domain.segments import segment

BATCH = 8
"""Sentences that one call judges."""

_OUTCOMES: dict[str, CheckOutcome] = {"supported": "pass", "partially_supported": "partial", "unsupported": "fail"}
_REASONS = {
    "supported": (),
    "partially_supported": ("the model finds only a part of it in the cited excerpts",),
    "unsupported": ("the model does not find it in the cited excerpts",),
}


@dataclass(frozen=True, slots=True)
class Verifier:
    """Which model judged: its name as it was asked for, and as the provider says it served it."""

    requested: str
    served: str


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence that its words alone do not decide: its statement, and the row of the mechanical gate."""

    statement: Statement
    row: VerdictRow
    evidence_ids: tuple[str, ...] = ()
    """What an analysis is checked against: the evidence of the findings that it rests on."""

    @property
    def spans(self) -> tuple[str, ...]:
        """The evidence that the sentence is checked against."""
        return self.evidence_ids or self.statement.evidence_ids

    @property
    def told(self) -> str:
        """The sentence as a verifier reads it: a derived value with its computation, an analysis as what it is."""
        derived = self.statement.derived
        if derived is not None:
            inputs = ", ".join(f"{i.name} = {i.value:g}{f' {i.unit}' if i.unit else ''}" for i in derived.inputs)
            return f"{self.statement.text} (computed: {derived.formula}; {inputs})"
        return f"{self.statement.text} (conclusion)" if self.statement.kind == "analysis" else self.statement.text


def is_open(row: VerdictRow) -> bool:
    """Tell whether a row passed what a program can check, without its words standing in its excerpts as they are."""
    return not row.emitted and row.checks["exists"] == "pass" and row.checks["numbers"] == "pass"


def batches(cases: Sequence[Case]) -> tuple[tuple[Case, ...], ...]:
    """Return the cases in groups that are judged together."""
    return tuple(tuple(cases[i : i + BATCH]) for i in range(0, len(cases), BATCH))


def judged(
    batch: Sequence[Case], verdicts: Sequence[SentenceVerdict], context: GateContext, verifier: Verifier
) -> tuple[VerdictRow, ...]:
    """Return the rows of a batch; a sentence that the answer leaves out or judges twice stays unverified."""
    passages = [i for case in batch for i in case.spans]
    rows = []
    for place, case in enumerate(batch, start=1):
        given = [v for v in verdicts if v.sentence == place]
        if len(given) == 1:
            rows.append(_row(case, given[0], passages, context, verifier))
        else:
            rows.append(unjudged(case, "the model gave no clear verdict", verifier))
    return tuple(rows)


def unjudged(case: Case, reason: str, verifier: Verifier) -> VerdictRow:
    """Return the row of a sentence that no model judged: it does not stand."""
    return _changed(case.row, "unverified", case.spans, verifier, (reason,))


def shorter(batch: Sequence[Case], told: Sequence[Shortened]) -> Iterator[tuple[str, str]]:
    """Yield id and text of what was shortened to one other sentence; anything else leaves a sentence as it was."""
    for place, case in enumerate(batch, start=1):
        texts = [one_line(s.text) for s in told if s.sentence == place]
        if len(texts) == 1 and 0 < len(texts[0]) < len(case.statement.text) and len(segment(texts[0])) == 1:
            yield case.statement.id, texts[0]


def repaired(row: VerdictRow, before: str) -> VerdictRow:
    """Return the row of a shortened sentence that passed, with what it was before."""
    told = f"shortened to its supported part; it was: “{before}”"
    return row.model_copy(update={"reasons": (*row.reasons, told)})


def _row(
    case: Case, verdict: SentenceVerdict, passages: Sequence[str], context: GateContext, verifier: Verifier
) -> VerdictRow:
    named = {passages[n - 1] for n in verdict.passages if 1 <= n <= len(passages)}
    kept = tuple(i for i in case.spans if i in named) if verdict.verdict == "supported" else ()
    cited = {i: context.evidence[i].excerpt for i in kept}
    whole = bool(case.evidence_ids) or case.statement.derived is not None
    if not kept or whole or not check_numbers(case.statement, cited).passed:
        kept = case.spans
    told, reasons = verdict.verdict, _REASONS[verdict.verdict]
    against = _against(case.statement, kept, context, concludes=whole) if told == "supported" else ()
    if against:
        told, reasons = "unsupported", against
    return _changed(case.row, told, kept, verifier, reasons)


def _against(statement: Statement, cited: Sequence[str], context: GateContext, *, concludes: bool) -> tuple[str, ...]:
    """Return what no model can overrule."""
    excerpts = [context.evidence[i].excerpt for i in cited]
    turned = () if concludes else check_turns(statement.text, excerpts).reasons
    return turned or check_floor(statement.text, excerpts, concludes=concludes).reasons


def _changed(
    row: VerdictRow, verdict: str, evidence_ids: tuple[str, ...], verifier: Verifier, reasons: tuple[str, ...]
) -> VerdictRow:
    return VerdictRow(
        statement_id=row.statement_id,
        verdict=verdict,
        evidence_ids=evidence_ids,
        checks={**row.checks, "support": _OUTCOMES.get(verdict, "not_run")},
        verifier=verifier.requested,
        verifier_version=verifier.served,
        repeatable=False,
        emitted=verdict == "supported",
        text=row.text,
        reasons=reasons,
    )
