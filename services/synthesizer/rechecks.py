"""Checking a report again against what is kept today: texts that retention removed, rules that have become stricter."""

from services.synthesizer.engines.extractive import VERIFY_LIMITS
from services.synthesizer.gate.again import aligns, judge_again, judgement
from services.synthesizer.gate.context import GateContext
from services.synthesizer.handlers import Deps, context_of
from services.synthesizer.rules.citing import all_statements
from services.synthesizer.rules.methodology import counted
from shared.contracts.report import Recheck, Report, VerdictRow
from shared.domain.errors import NotFound, Permanent
from shared.domain.ids import RunId
from shared.ports.ledger import Lease, Outcome


def reverify(deps: Deps, lease: Lease) -> Outcome:
    """Put every statement of another run's report through the gate again; that run and its report stay as they are."""
    run_id, version = RunId(str(lease.inputs["run_id"])), int(lease.inputs["report_version"])
    report, rows = _report(deps, run_id, version)
    context = context_of(deps, lease, run_id, deps.materials.evidence(run_id))
    now = deps.cpu.run(_again, report, rows, context, limits=VERIFY_LIMITS)
    changed = tuple(a.statement_id for b, a in zip(rows, now, strict=True) if judgement(b) != judgement(a))
    recheck = Recheck(run_id=run_id, report_version=version, changed=changed, verdicts=now)
    return Outcome(
        summary=f"Checked {counted(len(now), 'sentence')} again: {len(changed)} judged otherwise.",
        result=recheck.model_dump(mode="json"),
    )


def _report(deps: Deps, run_id: RunId, version: int) -> tuple[Report, tuple[VerdictRow, ...]]:
    try:
        report, rows = deps.materials.report(run_id, version), deps.materials.verdicts(run_id)
        newest = deps.materials.facts(run_id).report_version
    except NotFound as error:
        raise Permanent("no_report", f"The report to check was deleted: {error}") from error
    if report is None or newest != version:
        raise Permanent("newer_report", "The run has a newer report by now: have that one checked.")
    return report, rows


def _again(report: Report, rows: tuple[VerdictRow, ...], context: GateContext) -> tuple[VerdictRow, ...]:
    stands = {s.id: s for s in all_statements(report)}
    return judge_again(rows, stands, context, align=aligns(report.engine, rows))
