"""First pass over the rows: every id leads somewhere, and every piece of evidence stands where it says."""

from collections.abc import Iterator, Mapping

from services.synthesizer.checking.contents import Contents
from services.synthesizer.checking.faults import Fault
from services.synthesizer.gate.exists import span_faults
from services.synthesizer.gate.judge import is_analysis
from services.synthesizer.rendering.bundle import EVIDENCE, REPORT, VERDICTS, snapshot_path
from services.synthesizer.rules.citing import all_statements, cited_ids
from shared.contracts.report import Statement
from shared.domain.evidence import MAX_EXCERPT_CHARS

MAX_STATEMENT_CHARS = 20_000


def reference_faults(contents: Contents, run_id: str) -> Iterator[Fault]:
    """Yield what does not lead anywhere; without any, the second pass may look everything up."""
    if contents.report.run_id != run_id:
        yield Fault(REPORT, "other_run", "The report belongs to another run than the manifest names.")
    yield from _evidence(contents)
    yield from _report(contents)
    known = {e.evidence_id for e in contents.evidence}
    for row in contents.verdicts:
        if row.emitted and not set(row.evidence_ids) <= known:
            yield Fault(VERDICTS, "unknown_evidence", f"{row.statement_id} rests on evidence that is not there.")
        if len(row.text) > MAX_STATEMENT_CHARS:
            yield Fault(VERDICTS, "too_long", f"{row.statement_id} is longer than any sentence.")


def _evidence(contents: Contents) -> Iterator[Fault]:
    sources = {s.source_id for s in contents.sources}
    cited = set(cited_ids(contents.report))
    for item in contents.evidence:
        text = contents.snapshots.get(item.snapshot_sha256)
        if item.source_id not in sources:
            yield Fault(EVIDENCE, "unknown_source", f"{item.evidence_id} comes from a source that is not there.")
        if len(item.excerpt) > MAX_EXCERPT_CHARS:
            yield Fault(EVIDENCE, "too_long", f"{item.evidence_id} has more than {MAX_EXCERPT_CHARS:,} characters.")
        if text is not None:
            yield from (Fault(EVIDENCE, "moved", f"{item.evidence_id}: {f}.") for f in span_faults(item, text))
        elif item.evidence_id in cited:
            path = snapshot_path(item.snapshot_sha256)
            yield Fault(path, "missing", f"{item.evidence_id} is cited, but its snapshot is not in the bundle.")


def _report(contents: Contents) -> Iterator[Fault]:
    report = contents.report
    known = {e.evidence_id for e in contents.evidence}
    yield from (
        Fault(REPORT, "unknown_evidence", f"The report cites {i}, which is no evidence of the bundle.")
        for i in dict.fromkeys(cited_ids(report))
        if i not in known
    )
    verdicts = {row.statement_id for row in contents.verdicts}
    seen: dict[str, Statement] = {}
    for statement in all_statements(report):
        if statement.answer is not None and statement.answer not in statement.text:
            yield Fault(REPORT, "foreign_answer", f"The answer of {statement.id} does not stand in its sentence.")
        plain = statement.model_copy(update={"answer": None, "confidence": "medium"})  # how it is told as an answer
        if seen.setdefault(statement.id, plain) != plain:
            yield Fault(REPORT, "doubled_id", f"{statement.id} stands in the report with two different contents.")
        if statement.id not in verdicts:
            yield Fault(REPORT, "no_verdict", f"{statement.id} stands in the report without a verdict.")
    for statement in seen.values():
        yield from _statement(statement, seen)


def _statement(statement: Statement, report: Mapping[str, Statement]) -> Iterator[Fault]:
    if statement.kind == "finding" and not statement.evidence_ids:
        yield Fault(REPORT, "no_evidence", f"The finding {statement.id} cites nothing.")
    if len(statement.text) > MAX_STATEMENT_CHARS:
        yield Fault(REPORT, "too_long", f"{statement.id} is longer than any sentence.")
    if is_analysis(statement):
        for other in statement.statement_ids:
            if other not in report or report[other].kind != "finding":
                yield Fault(REPORT, "unknown_statement", f"{statement.id} rests on {other}, which is no finding here.")
