"""Verdicts a second time: computed anew where no model was asked, else only as far as the mechanical checks go."""

from collections.abc import Iterator, Mapping, Sequence

from services.synthesizer.gate.alignment import ALIGNMENT
from services.synthesizer.gate.context import Check, GateContext
from services.synthesizer.gate.exists import check_exists, sound_snapshots
from services.synthesizer.gate.floor import check_floor
from services.synthesizer.gate.judge import is_analysis, judge_all
from services.synthesizer.gate.numbers import check_numbers
from services.synthesizer.gate.turns import check_turns
from shared.contracts.report import Statement, Verdict, VerdictRow
from shared.domain.engines import NO_MODEL


def judge_again(
    rows: Sequence[VerdictRow], stands: Mapping[str, Statement], context: GateContext, *, align: bool
) -> tuple[VerdictRow, ...]:
    """Return the verdicts as they are now, in the same order; a model's verdict stays unless a check refuses.

    ``stands`` are the statements of the report by id; one that was dropped is judged by the words in its row.
    """
    repeatable = [row for row in rows if row.repeatable]
    statements = [stands.get(row.statement_id) or _dropped(row) for row in repeatable]
    anew = {row.statement_id: row for row in judge_all(statements, context, align=align)}
    sound = sound_snapshots(context, context.evidence)
    return tuple(anew.get(row.statement_id) or _mechanical(row, stands, context, sound) for row in rows)


def aligns(engine: str, rows: Sequence[VerdictRow]) -> bool:
    """Tell whether verdicts come from aligning words: always without a model, else where a row says so."""
    return engine in NO_MODEL or any(row.verifier == ALIGNMENT for row in rows)


def judgement(row: VerdictRow) -> tuple[Verdict, tuple[str, ...], dict[str, str], bool]:
    """Return what two verdicts on a statement have to share to be the same."""
    return row.verdict, row.evidence_ids, row.checks, row.emitted


def _dropped(row: VerdictRow) -> Statement:
    """Return a statement that is not in the report, as its verdict keeps it."""
    return Statement(id=row.statement_id, kind="finding", text=row.text, evidence_ids=row.evidence_ids)


def _mechanical(
    row: VerdictRow, stands: Mapping[str, Statement], context: GateContext, sound: frozenset[str]
) -> VerdictRow:
    """Return a model's verdict, or the refusal of the checks that need none; what was dropped stays dropped."""
    statement = stands.get(row.statement_id)
    if statement is None:
        return row
    refused = next(_refusals(statement, stands, context, sound), None)
    if refused is None:
        return row
    name, check = refused
    verdict: Verdict = "unresolvable" if check.outcome == "unresolvable" else "unsupported"
    checks = {**row.checks, name: check.outcome}
    return row.model_copy(update={"verdict": verdict, "emitted": False, "reasons": check.reasons, "checks": checks})


def _refusals(
    statement: Statement, stands: Mapping[str, Statement], context: GateContext, sound: frozenset[str]
) -> Iterator[tuple[str, Check]]:
    """Yield the checks that refuse a statement, each with the name that it has in a verdict."""
    rests_on = (stands[i] for i in statement.statement_ids) if is_analysis(statement) else (statement,)
    cited = tuple(dict.fromkeys(i for s in (*rests_on, statement) for i in s.evidence_ids))
    exists = check_exists(cited, context, sound)
    if not exists.passed:
        yield "exists", exists
        return
    excerpts = {i: context.evidence[i].excerpt for i in cited}
    numbers = check_numbers(statement, excerpts)
    if not numbers.passed:
        yield "numbers", numbers
    concludes = statement.derived is not None or is_analysis(statement)
    floor = check_floor(statement.text, excerpts.values(), concludes=concludes)
    if not floor.passed:
        yield "support", floor
    if not concludes:
        turned = check_turns(statement.text, excerpts.values())
        if not turned.passed:
            yield "support", turned
