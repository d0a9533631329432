"""The gate as a whole: the checks in their order, mechanical ones first and final where they refuse."""

from collections.abc import Mapping, Sequence

from services.synthesizer.gate.alignment import ALIGNMENT, ALIGNMENT_VERSION, EMIT, HALF, assess
from services.synthesizer.gate.context import Check, CheckOutcome, GateContext
from services.synthesizer.gate.exists import check_exists, sound_snapshots
from services.synthesizer.gate.numbers import check_numbers
from services.synthesizer.gate.support import VERIFIER, VERIFIER_VERSION, check_support
from shared.contracts.report import Statement, Verdict, VerdictRow

_NOT_RUN = Check("not_run")
_OUTCOMES: Mapping[str, CheckOutcome] = {"supported": "pass", "partially_supported": "partial", "unsupported": "fail"}
_SUPPORT: Mapping[str, Check] = {
    "supported": Check("pass"),
    "partially_supported": Check("partial", ("only a part of it stands in the cited excerpts",)),
    "unsupported": Check("fail", ("its words stand in none of the cited excerpts",)),
}
VERIFIERS = frozenset({(VERIFIER, VERIFIER_VERSION), (ALIGNMENT, ALIGNMENT_VERSION)})
"""Name and version of the verifiers that need no model: their verdicts can be repeated."""


def judge(statement: Statement, context: GateContext) -> VerdictRow:
    """Return the gate's answer about one statement."""
    return judge_all((statement,), context)[0]


def judge_aligned(statements: Sequence[Statement], context: GateContext) -> tuple[VerdictRow, ...]:
    """Return the gate's answers where no model is asked: what is not verbatim is aligned with its excerpts."""
    return judge_all(statements, context, align=True)


def judge_all(statements: Sequence[Statement], context: GateContext, *, align: bool = False) -> tuple[VerdictRow, ...]:
    """Return the gate's answers in the order of the statements; without ``align`` only verbatim ones are supported.

    Analyses are judged last: they may rest on any finding that the context names as emitted or that passes here.
    """
    findings = dict(context.findings)
    rows: dict[int, VerdictRow] = {}
    sound = sound_snapshots(context, _all_evidence(statements, findings))
    for analysis in (False, True):
        for index, statement in enumerate(statements):
            if is_analysis(statement) is analysis:
                row, excerpts = _judge(statement, context, findings, sound)
                rows[index] = _aligned(statement, row, excerpts) if align and excerpts else row
                if rows[index].emitted and statement.kind == "finding":
                    findings[statement.id] = rows[index].evidence_ids
    return tuple(rows[index] for index in range(len(statements)))


def is_analysis(statement: Statement) -> bool:
    """Tell whether a statement rests on other statements and not on evidence of its own."""
    return bool(statement.statement_ids) or statement.kind == "analysis"


def unverified(statement: Statement, reason: str) -> VerdictRow:
    """Return the row of a statement that the gate was never asked about."""
    checks = {"exists": _NOT_RUN, "numbers": _NOT_RUN, "support": _NOT_RUN}
    return _row(statement, "unverified", statement.evidence_ids, checks, (reason,), repeatable=False)


def _all_evidence(statements: Sequence[Statement], findings: Mapping[str, tuple[str, ...]]) -> set[str]:
    cited = {i for statement in statements for i in statement.evidence_ids}
    return cited | {i for ids in findings.values() for i in ids}


def _judge(
    statement: Statement, context: GateContext, findings: Mapping[str, tuple[str, ...]], sound: frozenset[str]
) -> tuple[VerdictRow, tuple[str, ...]]:
    """Run the checks until one refuses; return also the excerpts where only the words are not the statement's."""
    checks = {"exists": _NOT_RUN, "numbers": _NOT_RUN, "support": _NOT_RUN}
    cited, faults = _cited(statement, findings)
    checks["exists"] = Check("fail", faults) if faults else check_exists(cited, context, sound)
    if not checks["exists"].passed:
        verdict: Verdict = "unresolvable" if checks["exists"].outcome == "unresolvable" else "unsupported"
        return _row(statement, verdict, statement.evidence_ids, checks), ()
    excerpts = {i: context.evidence[i].excerpt for i in cited}
    checks["numbers"] = check_numbers(statement, excerpts)
    if not checks["numbers"].passed:
        return _row(statement, "unsupported", statement.evidence_ids, checks), ()
    support = check_support(statement.text, excerpts, {i: context.cluster_of(i) for i in cited})
    checks["support"] = _SUPPORT[support.verdict]
    kept = statement.evidence_ids if is_analysis(statement) else support.evidence_ids
    row = _row(statement, support.verdict, kept, checks)
    return row, () if row.emitted else tuple(excerpts.values())


def _aligned(statement: Statement, row: VerdictRow, excerpts: Sequence[str]) -> VerdictRow:
    """Return the row of a statement in other words than its excerpts, by how it aligns with them."""
    seen = assess(statement.text, excerpts)
    verdict: Verdict = "supported" if seen.emitted else "partially_supported" if seen.score >= HALF else "unsupported"
    said = f"it aligns with the cited excerpts by {seen.score:.2f}, and {EMIT} and no turn is needed"
    changes = {
        "verdict": verdict,
        "checks": {**row.checks, "support": _OUTCOMES[verdict]},
        "verifier": ALIGNMENT,
        "verifier_version": ALIGNMENT_VERSION,
        "emitted": seen.emitted,
        "reasons": () if seen.emitted else (said,),
    }
    return row.model_copy(update=changes)


def _cited(statement: Statement, findings: Mapping[str, tuple[str, ...]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the evidence that a statement is checked against, and why it cannot be checked."""
    if not is_analysis(statement):
        ids = tuple(dict.fromkeys(statement.evidence_ids))
        return ids, () if ids else ("it cites nothing",)
    unknown = tuple(
        f"it rests on {i}, which is no emitted finding" for i in statement.statement_ids if i not in findings
    )
    if unknown or not statement.statement_ids:
        return (), unknown or ("it rests on no finding",)
    spans = (*(e for i in statement.statement_ids for e in findings[i]), *statement.evidence_ids)
    return tuple(dict.fromkeys(spans)), ()


def _row(
    statement: Statement,
    verdict: Verdict,
    evidence_ids: tuple[str, ...],
    checks: Mapping[str, Check],
    reasons: tuple[str, ...] = (),
    *,
    repeatable: bool = True,
) -> VerdictRow:
    return VerdictRow(
        statement_id=statement.id,
        verdict=verdict,
        evidence_ids=evidence_ids,
        checks={name: check.outcome for name, check in checks.items()},
        verifier=VERIFIER,
        verifier_version=VERIFIER_VERSION,
        repeatable=repeatable,
        emitted=verdict == "supported",
        text=statement.text,
        reasons=reasons or tuple(r for check in checks.values() for r in check.reasons),
    )
