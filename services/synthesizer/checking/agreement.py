"""Second pass over the rows: the gate says the same again, and the report is what follows from its rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from services.synthesizer.checking.contents import Contents
from services.synthesizer.checking.faults import Fault
from services.synthesizer.gate.again import aligns, judge_again, judgement
from services.synthesizer.gate.context import GateContext, gate_context
from services.synthesizer.gate.exists import delivered
from services.synthesizer.gate.judge import VERIFIERS
from services.synthesizer.rendering.bundle import FETCHES, REPORT, REPORT_HTML, REPORT_MD, VERDICTS
from services.synthesizer.rendering.html import render_html
from services.synthesizer.rendering.markdown import render_markdown
from services.synthesizer.rules.assembly import rate, source_mix
from services.synthesizer.rules.citing import all_statements, cited_ids, number
from services.synthesizer.rules.confidence import confidence_of, contested_evidence
from shared.contracts.report import Report, Statement, VerdictRow
from shared.domain.engines import NO_MODEL


@dataclass(frozen=True, slots=True)
class Agreement:
    """What disagrees, and how many verdicts were computed again."""

    faults: tuple[Fault, ...]
    recomputed: int


def check_agreement(contents: Contents) -> Agreement:
    """Compare the rows of a bundle, whose references all resolve, with what follows from them."""
    stands = {s.id: s for s in all_statements(contents.report)}
    context = gate_context(contents.evidence, contents.snapshots, contents.sources, contents.fetches)
    faults = (
        *(fault for row in contents.verdicts for fault in _row_faults(row, contents.report)),
        *_statement_faults(contents, stands),
        *_verdict_faults(contents, stands, context),
        *_fetch_faults(contents),
        *_report_faults(contents, stands),
    )
    return Agreement(faults, sum(row.repeatable for row in contents.verdicts))


def rendering_faults(contents: Contents, files: Mapping[str, bytes]) -> Iterator[Fault]:
    """Yield the renderings that are not what the report renders to; ask for the same renderer version only."""
    rendered = {
        REPORT_MD: render_markdown(contents.report, contents.evidence, contents.sources),
        REPORT_HTML: render_html(contents.report, contents.evidence, contents.sources),
    }
    for path, text in rendered.items():
        if files[path] != text.encode():
            yield Fault(path, "not_the_report", "The file is not what the report renders to.")


def _row_faults(row: VerdictRow, report: Report) -> Iterator[Fault]:
    """Yield what is wrong with a verdict by itself."""
    if row.emitted is not (row.verdict == "supported"):
        yield Fault(VERDICTS, "emitted", f"{row.statement_id} is {row.verdict}, and emitted is {row.emitted}.")
    if row.repeatable and (row.verifier, row.verifier_version) not in VERIFIERS:
        yield Fault(VERDICTS, "unknown_verifier", f"{row.statement_id}: {row.verifier} cannot be repeated here.")
    if row.emitted and not row.repeatable and report.engine in NO_MODEL:
        yield Fault(
            VERDICTS, "not_repeatable", f"{row.statement_id}: the engine asks no model, so this can be repeated."
        )


def _statement_faults(contents: Contents, stands: Mapping[str, Statement]) -> Iterator[Fault]:
    """Yield the statements whose verdict does not let them stand, and the emitted ones that do not."""
    rows = {row.statement_id: row for row in contents.verdicts}
    for statement in stands.values():
        row = rows[statement.id]
        if not row.emitted:
            yield Fault(REPORT, "not_supported", f"{statement.id} stands in the report, but is {row.verdict}.")
        if row.text != statement.text:
            yield Fault(REPORT, "other_text", f"{statement.id} does not have the text that was checked.")
        if row.evidence_ids != statement.evidence_ids:
            yield Fault(REPORT, "other_evidence", f"{statement.id} does not cite the evidence that was checked.")
    for row in contents.verdicts:
        if row.emitted and row.statement_id not in stands:
            yield Fault(VERDICTS, "not_in_report", f"{row.statement_id} is emitted, but nowhere in the report.")


def _verdict_faults(contents: Contents, stands: Mapping[str, Statement], context: GateContext) -> Iterator[Fault]:
    """Yield the verdicts that the gate does not give again, and what a model let pass although a check refuses it."""
    rows, align = contents.verdicts, aligns(contents.report.engine, contents.verdicts)
    for row, again in zip(rows, judge_again(rows, stands, context, align=align), strict=True):
        if judgement(row) != judgement(again):
            why = "; ".join(again.reasons) or "it passes"
            detail = f"{row.statement_id} is recorded as {row.verdict}, but checked again {again.verdict}: {why}."
            yield Fault(VERDICTS, "other_verdict", detail)


def _fetch_faults(contents: Contents) -> Iterator[Fault]:
    """Yield the cited sources that no fetch of the run delivered."""
    sources = {s.source_id: s for s in contents.sources}
    evidence = {e.evidence_id: e for e in contents.evidence}
    for source_id in dict.fromkeys(evidence[i].source_id for i in cited_ids(contents.report)):
        content = sources[source_id].content_sha256
        if content is None or not any(f.source_id == source_id and delivered(f, content) for f in contents.fetches):
            yield Fault(FETCHES, "no_fetch", f"The cited source {source_id} has no fetch that delivered it.")


def _report_faults(contents: Contents, stands: Mapping[str, Statement]) -> Iterator[Fault]:
    """Yield the computed parts of the report that do not follow from the rest."""
    report = contents.report
    evidence = {e.evidence_id: e for e in contents.evidence}
    sources = {s.source_id: s for s in contents.sources}
    if report.citations != number(cited_ids(report), evidence):
        yield Fault(REPORT, "citations", "The citations are not those of the statements and conflicts, in their order.")
    elif report.source_mix != source_mix(report.citations, sources):
        yield Fault(REPORT, "source_mix", "The source mix is not that of the cited sources.")
    findings = [s for s in stands.values() if s.kind == "finding"]
    if report.status == "completed" and not findings:
        yield Fault(REPORT, "status", "A report without a finding cannot be completed.")
    for statement in findings:
        cited = [evidence[i] for i in statement.evidence_ids]
        if statement.confidence != confidence_of(cited, sources, contested_evidence(report.contradictions)):
            yield Fault(REPORT, "confidence", f"The confidence of {statement.id} is not what its sources give it.")
    yield from _figure_faults(report, contents.verdicts)


def _figure_faults(report: Report, rows: Sequence[VerdictRow]) -> Iterator[Fault]:
    """Yield headline figures that the verdicts do not bear out."""
    summary = report.verification
    emitted = sum(row.emitted for row in rows)
    if (summary.statements, summary.emitted, summary.dropped) != (len(rows), emitted, len(rows) - emitted):
        yield Fault(REPORT, "figures", "The counts of statements are not those of the verdicts.")
    if report.engine in NO_MODEL and summary.sentence_support_rate != rate(emitted, len(rows)):
        yield Fault(REPORT, "figures", "The sentence support rate is not that of the verdicts.")
    if not 0 <= summary.citation_support_rate <= 1:
        yield Fault(REPORT, "figures", "The citation support rate does not lie between 0 and 1.")
