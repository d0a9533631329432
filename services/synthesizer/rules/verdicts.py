"""What a model's verdict makes of a row that the mechanical gate left open. Where the gate refuses, it is final."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.synthesizer.gate.context import CheckOutcome, GateContext
from services.synthesizer.gate.numbers import check_numbers
from services.synthesizer.prompts.verify import SentenceVerdict
from shared.contracts.report import Statement, VerdictRow

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
    passages = [i for case in batch for i in case.statement.evidence_ids]
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
    return _changed(case.row, "unverified", case.statement.evidence_ids, verifier, (reason,))


def _row(
    case: Case, verdict: SentenceVerdict, passages: Sequence[str], context: GateContext, verifier: Verifier
) -> VerdictRow:
    named = {passages[n - 1] for n in verdict.passages if 1 <= n <= len(passages)}
    kept = tuple(i for i in case.statement.evidence_ids if i in named) if verdict.verdict == "supported" else ()
    if not kept or not check_numbers(case.statement, {i: context.evidence[i].excerpt for i in kept}).passed:
        kept = case.statement.evidence_ids
    return _changed(case.row, verdict.verdict, kept, verifier, _REASONS[verdict.verdict])


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
