"""Putting the report together from what passed the gate."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from services.synthesizer.gate.judge import unverified
from services.synthesizer.gate.support import VERIFIER, VERIFIER_VERSION
from services.synthesizer.rules.answers import (
    Known,
    bears_on,
    best_finding,
    executive_summary,
    first_required,
    looked_through,
    nearest,
    short_answer,
)
from services.synthesizer.rules.chains import weighed
from services.synthesizer.rules.citing import cited_ids, number
from services.synthesizer.rules.confidence import confidence_of, contested_evidence
from services.synthesizer.rules.methodology import Course, methodology
from services.synthesizer.rules.prose import told_answer, told_lead, told_summary
from services.synthesizer.rules.selection import published_after, section_questions
from services.synthesizer.rules.shortfalls import NO_SHORTFALLS, Shortfalls
from services.synthesizer.rules.summaries import standing
from services.synthesizer.rules.writing import round_of_draft
from shared.contracts.evidence import Contradiction, Evidence, Source
from shared.contracts.managed import ToldReport
from shared.contracts.plan import Plan, Question
from shared.contracts.report import (
    Citation,
    ContradictionRow,
    Draft,
    Gap,
    ListBlock,
    Paragraph,
    Report,
    Section,
    Statement,
    Table,
    VerdictRow,
    VerificationSummary,
)
from shared.domain.rank import CorpusStats

TerminalStatus = Literal["completed", "budget_exhausted"]

UNREADABLE_SHOWN = 20
"""Sources that could not be read which a report names one by one."""

UNREAD = "Research ended before it had been read."

_NOT_READ = frozenset({"blocked", "failed", "unsupported"})
_READ = frozenset({"fetched", "duplicate"})


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that a report is made of. ``citable`` is the evidence that conflicts may cite: it stands the gate."""

    run_id: str
    question: str
    language: str
    as_of: str | None
    engine: str
    terminal_status: TerminalStatus
    stop_reason: str | None
    plan: Plan
    stats: CorpusStats | None
    drafts: tuple[Draft, ...]
    verdicts: tuple[VerdictRow, ...]
    evidence: tuple[Evidence, ...]
    citable: frozenset[str]
    sources: tuple[Source, ...]
    contradictions: tuple[Contradiction, ...]
    searches: int
    usage: Mapping[str, Any]
    told: ToldReport | None = None
    """The report of a provider's job, where one has done the research."""
    unread: frozenset[str] = frozenset()
    """Sources whose reading, or the search for evidence in them, was cancelled when research ended."""
    shortfalls: Shortfalls = NO_SHORTFALLS
    unwritten: frozenset[tuple[str, int]] = frozenset()
    """Sections and their rounds where sentences of the sources were drafted in place of what the model wrote."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """The report, its emitted findings counted, one verdict for every draft, and rows that no verifier gave.

    Among the latter are those of a summary that a later one has taken the place of: they are no part of the report.
    """

    report: Report
    findings: int
    verdicts: tuple[VerdictRow, ...]
    unverified: tuple[VerdictRow, ...]


def assemble(material: Material) -> Assembled:
    """Return the report with what passed, and account for what did not."""
    sources = {s.source_id: s for s in material.sources}
    evidence = {e.evidence_id: e for e in weighed(material.plan, material.evidence, sources, material.stats)}
    contradictions = _citable(material.contradictions, material.citable)
    known = Known(evidence, sources, contradictions)
    now = standing(material.drafts, material.verdicts)
    rows, missing = _rows(now.drafts, material.verdicts)
    emitted = tuple(_emitted(now.drafts, rows, known))
    findings = [d.statement for d in emitted if d.statement.kind == "finding"]
    summary = verification_summary(now.drafts, rows)
    told = told_answer(emitted)
    answer = told or short_answer(material.plan, findings, known)
    report = Report(
        run_id=material.run_id,
        title=material.plan.title,
        question=material.question,
        language=material.language,
        as_of=material.as_of,
        status=material.terminal_status if findings else "budget_exhausted",
        engine=material.engine,
        short_answer=answer,
        nearest=() if answer else nearest(first_required(material.plan), findings, known),
        answer_lead=told_lead(emitted) if told else (),
        executive_summary=told_summary(emitted) or executive_summary(material.plan, findings, known, answer),
        sections=tuple(_sections(material.plan, emitted, evidence)),
        contradictions=tuple(_conflict(c) for c in contradictions),
        gaps=tuple(_gaps(material, findings, known)),
        methodology=methodology(_course(material, emitted), summary),
        citations=(),
        verification=summary,
        usage=dict(material.usage),
    )
    citations = number(cited_ids(report), evidence)
    report = report.model_copy(update={"citations": citations, "source_mix": source_mix(citations, sources)})
    return Assembled(report, len(findings), tuple(rows.values()), (*missing, *now.replaced))


def verification_summary(drafts: Sequence[Draft], rows: Mapping[str, VerdictRow]) -> VerificationSummary:
    """Count how the drafts fared; the two rates are over all drafted findings, before anything was dropped."""
    findings = [d.statement for d in drafts if d.statement.kind == "finding"]
    supported = [s for s in findings if rows[s.id].emitted]
    drafted = sum(len(s.evidence_ids) for s in findings)
    kept = sum(len(rows[s.id].evidence_ids) for s in supported)
    emitted = sum(rows[d.statement.id].emitted for d in drafts)
    return VerificationSummary(
        statements=len(drafts),
        emitted=emitted,
        dropped=len(drafts) - emitted,
        sentence_support_rate=rate(len(supported), len(findings)),
        citation_support_rate=rate(kept, drafted),
    )


def source_mix(citations: Sequence[Citation], sources: Mapping[str, Source]) -> dict[str, int]:
    """Count the cited sources by class; a document of the user's whose class is unknown counts as "document"."""
    mix = Counter(_class_of(sources[s]) for s in dict.fromkeys(c.source_id for c in citations))
    return dict(sorted(mix.items()))


def rate(part: int, whole: int) -> float:
    """Return part of whole to four decimals; 0 of nothing is 0."""
    return round(part / whole, 4) if whole else 0.0


def _rows(
    drafts: Sequence[Draft], verdicts: Sequence[VerdictRow]
) -> tuple[dict[str, VerdictRow], tuple[VerdictRow, ...]]:
    """Return one verdict for each draft, and those among them for drafts that were never checked."""
    given = {v.statement_id: v for v in verdicts}
    reason = "the run ended before it was checked"
    missing = tuple(unverified(d.statement, reason) for d in drafts if d.statement.id not in given)
    given |= {v.statement_id: v for v in missing}
    return {d.statement.id: given[d.statement.id] for d in drafts}, missing


def _emitted(drafts: Sequence[Draft], rows: Mapping[str, VerdictRow], known: Known) -> Iterator[Draft]:
    """Yield the drafts that passed, with the citations that were kept and their confidence."""
    contested = contested_evidence(known.contradictions)
    for draft in drafts:
        row = rows[draft.statement.id]
        if row.emitted:
            cited = [known.evidence[i] for i in row.evidence_ids]
            sure = confidence_of(cited, known.sources, contested)
            changes = {"evidence_ids": row.evidence_ids, "confidence": sure, "text": row.text}
            yield draft.model_copy(update={"statement": draft.statement.model_copy(update=changes)})


def _sections(plan: Plan, emitted: Sequence[Draft], evidence: Mapping[str, Evidence]) -> Iterator[Section]:
    """Yield the planned sections; one without questions and findings is left out."""
    questions = section_questions(plan)
    for planned in plan.writing_plan:
        drafts = sorted((d for d in emitted if d.section_id == planned.id), key=lambda d: d.ordinal)
        if drafts or questions[planned.id]:
            blocks = tuple(_blocks(drafts, evidence))
            yield Section(id=planned.id, title=planned.title, question_ids=questions[planned.id], blocks=blocks)


def _blocks(drafts: Sequence[Draft], evidence: Mapping[str, Evidence]) -> Iterator[Paragraph | ListBlock | Table]:
    """Yield the blocks; in a list, sentences that follow each other in the source share an item."""
    blocks: dict[int, list[Draft]] = {}
    for draft in drafts:
        blocks.setdefault(draft.block, []).append(draft)
    for _, block in sorted(blocks.items()):
        statements = [draft.statement for draft in block]
        if block[0].form == "paragraph":
            yield Paragraph(statements=tuple(statements))
            continue
        if block[0].form == "table":
            yield _table(block)
            continue
        items: list[list[Statement]] = []
        for statement in statements:
            if items and _follows(items[-1][-1], statement, evidence):
                items[-1].append(statement)
            else:
                items.append([statement])
        yield ListBlock(items=tuple(tuple(item) for item in items))


def _table(block: Sequence[Draft]) -> Table:
    """Return the table of the cells that passed; what was dropped leaves its cell empty, a row without any is gone."""
    cells: dict[int, dict[int, list[Statement]]] = {}
    for draft in block:
        row, column = draft.cell or (0, 0)
        cells.setdefault(row, {}).setdefault(column, []).append(draft.statement)
    columns = block[0].columns
    rows = (tuple(tuple(cells[row].get(n, ())) for n in range(len(columns))) for row in sorted(cells))
    return Table(columns=columns, rows=tuple(rows))


def _follows(before: Statement, after: Statement, evidence: Mapping[str, Evidence]) -> bool:
    """Tell whether two statements stand in the same evidence or in neighbouring segments of one snapshot."""
    if not before.evidence_ids or not after.evidence_ids:
        return False
    one, two = evidence[before.evidence_ids[0]], evidence[after.evidence_ids[0]]
    same_text = one.source_id == two.source_id and one.snapshot_sha256 == two.snapshot_sha256
    return one.evidence_id == two.evidence_id or (same_text and one.segment_end == two.segment_start)


def _citable(contradictions: Sequence[Contradiction], citable: frozenset[str]) -> tuple[Contradiction, ...]:
    """Return the contradictions with the evidence that may be cited; a conflict needs two sides."""
    left = (
        c.model_copy(update={"evidence_ids": tuple(i for i in c.evidence_ids if i in citable)}) for c in contradictions
    )
    return tuple(c for c in left if len(c.evidence_ids) > 1)


def _conflict(contradiction: Contradiction) -> ContradictionRow:
    return ContradictionRow(
        summary=contradiction.summary, evidence_ids=contradiction.evidence_ids, resolution=contradiction.resolution
    )


def _gaps(material: Material, findings: Sequence[Statement], known: Known) -> Iterator[Gap]:
    """Yield what was asked and not found, then what was not read."""
    for question in material.plan.questions:
        if not is_answered(question, findings, known):
            yield Gap(question_id=question.id, description=_unanswered(material, question.text), kind="not_found")
    for told in material.shortfalls.gaps:
        yield Gap(question_id=None, description=told)
    yield from _gaps_of_sources(material)
    for address in (material.told.refused if material.told else ())[:UNREADABLE_SHOWN]:
        yield Gap(question_id=None, description=f"Not read: {address}: the run's rules do not allow this address.")


def is_answered(question: Question, findings: Sequence[Statement], known: Known) -> bool:
    """Tell whether a finding answers a question; where a model chose the evidence, whether one bears on it."""
    if looked_through(question, known.evidence.values()):
        return best_finding(question, findings, known) is not None
    return any(bears_on(s, question.id, known.evidence) for s in findings)


def _gaps_of_sources(material: Material) -> Iterator[Gap]:
    """Yield the sources that could not be read, and those that research ended too soon for."""
    unread = _unread(material)
    left = [s for s in material.sources if s.status in _NOT_READ or s.source_id in unread]
    for source in left[:UNREADABLE_SHOWN]:
        reason = source.reason if source.status in _NOT_READ else UNREAD
        yield Gap(
            question_id=None, description=": ".join(filter(None, ("Not read", source.title or source.url, reason)))
        )
    if len(left) > UNREADABLE_SHOWN:
        yield Gap(question_id=None, description=f"Not read: {len(left) - UNREADABLE_SHOWN} further sources")


def _unread(material: Material) -> frozenset[str]:
    """Return the sources that were not read to their end and gave nothing, though nothing was wrong with them."""
    return material.unread - {e.source_id for e in material.evidence}


def _unanswered(material: Material, question: str) -> str:
    """Say of a question that nothing answers it, or that nothing could be looked for."""
    if material.shortfalls.all_failed and not material.sources:
        return f"Not looked for: no search worked, so nothing could be found on “{question}”"
    return f"Not found: no checked passage answers “{question}”"


def _course(material: Material, emitted: Sequence[Draft]) -> Course:
    unread = _unread(material)
    read = [s for s in material.sources if s.status in _READ and s.source_id not in unread]
    return Course(
        engine=material.engine,
        questions=len(material.plan.questions),
        searches=material.searches,
        failed=material.shortfalls.failed,
        remarks=material.shortfalls.remarks,
        found=len(material.sources),
        read=len(read),
        unread=sum(s.source_id in unread and s.status not in _NOT_READ for s in material.sources),
        copies=sum(s.duplicate_of is not None for s in read),
        evidence=len(material.evidence),
        as_of=material.as_of,
        published_later=sum(published_after(s.published_at, material.as_of) for s in read),
        undated=sum(s.published_at is None for s in read),
        stop_reason=material.stop_reason,
        told=len(material.told.sentences) if material.told else None,
        omitted=material.told.omitted if material.told else 0,
        unwritten=len({d.section_id for d in emitted if (d.section_id, round_of_draft(d)) in material.unwritten}),
        verifier=" or ".join(verifiers(material.verdicts)) or f"{VERIFIER} {VERIFIER_VERSION}",
    )


def verifiers(rows: Sequence[VerdictRow]) -> list[str]:
    """Return who let sentences pass: the program's own check first, then models by name and version."""
    own = f"{VERIFIER} {VERIFIER_VERSION}"
    passed = {f"{row.verifier} {row.verifier_version}" for row in rows if row.emitted}
    return [name for name in (own, *sorted(passed - {own})) if name in passed]


def _class_of(source: Source) -> str:
    return "document" if source.kind == "document" and source.source_class == "unknown" else source.source_class
