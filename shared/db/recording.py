"""Writes what a step's work gave: each kind of row in its table, each thing a watcher cares about as an event."""

from collections import Counter
from collections.abc import Iterable

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from shared.contracts.evidence import Contradiction, Evidence, Fetch, Source
from shared.db.outbox import Outbox
from shared.db.tables import (
    CandidacyRow,
    ContradictionRow,
    DocumentRow,
    EvidenceRow,
    FetchRow,
    PlanRow,
    ReportFileRow,
    ReportRow,
    RunRow,
    SourceRow,
    StatementRow,
)
from shared.domain.ids import sha256_hex
from shared.ports.ledger import DocumentUpdate, FoundSource, Lease, Outcome


def record(session: Session, run: RunRow, lease: Lease, outcome: Outcome, outbox: Outbox) -> None:
    """Write every row of the outcome; the caller holds the run's row lock and has checked the lease."""
    for event in outcome.events:
        outbox.event(event.type, **event.payload)
    _plan(session, run, outcome, outbox)
    record_fetches(session, lease, outcome.fetches)
    record_found(session, run, outcome.found, outbox)
    for source in outcome.sources:
        _replace_source(session, run, source, outbox)
    if outcome.document is not None:
        _document(session, outcome.document)
    _evidence(session, run, outcome.evidence, outbox)
    for contradiction in outcome.contradictions:
        _contradiction(session, run, lease, contradiction, outbox)
    _statements(session, run, outcome)
    _report(session, run, outcome)


def _plan(session: Session, run: RunRow, outcome: Outcome, outbox: Outbox) -> None:
    if outcome.plan is None:
        return
    run.plan_version += 1
    body = outcome.plan.model_dump(mode="json")
    session.add(PlanRow(run_id=run.id, version=run.plan_version, body=body, by="planner", created_at=outbox.now))
    if run.plan_version > 1:
        _mark_scope(session, run, [q.id for q in outcome.plan.questions])
    outbox.event("plan_ready", plan_version=run.plan_version, by="planner")


def _mark_scope(session: Session, run: RunRow, question_ids: list[str]) -> None:
    """Mark earlier evidence as in or out of the new plan's scope; ids of questions are never used again for others."""
    inside = EvidenceRow.question_ids.overlap(question_ids)
    body = func.jsonb_set(EvidenceRow.body, ["in_scope"], func.to_jsonb(inside))
    session.execute(update(EvidenceRow).where(EvidenceRow.run_id == run.id).values(body=body))


def record_fetches(session: Session, lease: Lease, fetches: Iterable[Fetch]) -> None:
    """Insert rows of the fetch log; those that a failed try of the step has left already stay as they are."""
    for fetch in fetches:
        session.execute(
            insert(FetchRow)
            .values(
                id=fetch.fetch_id,
                run_id=lease.run_id,
                step_id=lease.step_id,
                source_id=fetch.source_id,
                refusal=fetch.refusal,
                body=fetch.model_dump(mode="json"),
            )
            .on_conflict_do_nothing(index_elements=["id"])
        )


def record_found(session: Session, run: RunRow, found: tuple[FoundSource, ...], outbox: Outbox) -> None:
    """Insert sources that are new to the run, and note for each which search found it at what rank."""
    if not found:
        return
    ordinal = session.scalar(select(func.count()).where(SourceRow.run_id == run.id)) or 0
    for item in found:
        url_sha256 = sha256_hex(item.source.canonical_url.encode())
        inserted = session.scalar(
            insert(SourceRow)
            .values(_source_values(item.source) | {"run_id": run.id, "url_sha256": url_sha256, "ordinal": ordinal})
            .on_conflict_do_nothing(index_elements=["run_id", "url_sha256"])
            .returning(SourceRow.id)
        )
        if inserted is None:
            known = select(SourceRow.id).where(SourceRow.run_id == run.id, SourceRow.url_sha256 == url_sha256)
            source_id = session.execute(known).scalar_one()
        else:
            source_id, ordinal = inserted, ordinal + 1
            outbox.event("source_updated", **_source_event(item.source))
        session.execute(
            insert(CandidacyRow)
            .values(run_id=run.id, search_key=item.search_key, source_id=source_id, epoch=run.epoch, rank=item.rank)
            .on_conflict_do_nothing()
        )


def _replace_source(session: Session, run: RunRow, source: Source, outbox: Outbox) -> None:
    session.execute(
        update(SourceRow)
        .where(SourceRow.id == source.source_id, SourceRow.run_id == run.id)
        .values(_source_values(source))
    )
    outbox.event("source_updated", **_source_event(source))


def _source_values(source: Source) -> dict[str, object]:
    return {
        "id": source.source_id,
        "status": source.status,
        "source_class": source.source_class,
        "snapshot_sha256": source.snapshot_sha256,
        "body": source.model_dump(mode="json"),
    }


def _source_event(source: Source) -> dict[str, object]:
    return {
        "source_id": source.source_id,
        "status": source.status,
        "title": source.title,
        "domain": source.domain,
        "reason": source.reason,
        "duplicate_of": source.duplicate_of,
    }


def _document(session: Session, document: DocumentUpdate) -> None:
    parse = document.parse
    readable = parse.snapshot_sha256 is not None
    session.execute(
        update(DocumentRow)
        .where(DocumentRow.id == document.document_id)
        .values(
            status="ready" if readable else "failed",
            reason=parse.reason,
            mime=parse.mime,
            title=parse.title,
            snapshot_sha256=parse.snapshot_sha256,
        )
    )


def lose_document(session: Session, document_id: str, reason: str) -> None:
    """Say of a document that is being taken in that it could not be, so that nobody waits for it."""
    session.execute(
        update(DocumentRow)
        .where(DocumentRow.id == document_id, DocumentRow.status == "pending")
        .values(status="failed", reason=reason)
    )


def lose_source(session: Session, run: RunRow, source_id: str, reason: str, outbox: Outbox) -> None:
    """Say of a source that the step failed which was to read it, so that the report tells that it was not read."""
    found = session.scalar(select(SourceRow.body).where(SourceRow.id == source_id, SourceRow.run_id == run.id))
    source = Source.model_validate(found) if found is not None else None
    if source is not None and source.snapshot_sha256 is None and source.status in ("candidate", "fetched"):
        _replace_source(session, run, source.model_copy(update={"status": "failed", "reason": reason}), outbox)


def lose_documents(session: Session, run_id: str, reason: str) -> None:
    """Say the same of every document that an ingest run has still to read."""
    session.execute(
        update(DocumentRow)
        .where(DocumentRow.ingest_run_id == run_id, DocumentRow.status == "pending")
        .values(status="failed", reason=reason)
    )


def _evidence(session: Session, run: RunRow, evidence: tuple[Evidence, ...], outbox: Outbox) -> None:
    """Insert evidence that is new to the run; the same span found again changes nothing."""
    added: Counter[str] = Counter()
    questions: dict[str, set[str]] = {}
    for item in evidence:
        inserted = session.scalar(
            insert(EvidenceRow)
            .values(
                id=item.evidence_id,
                run_id=run.id,
                source_id=item.source_id,
                step_id=item.step_id,
                sha256=item.sha256,
                question_ids=list(item.question_ids),
                stance=item.stance,
                relevance_bp=item.relevance_bp,
                body=item.model_dump(mode="json"),
            )
            .on_conflict_do_nothing(index_elements=["run_id", "sha256"])
            .returning(EvidenceRow.id)
        )
        if inserted is not None:
            added[item.source_id] += 1
            questions.setdefault(item.source_id, set()).update(item.question_ids)
    for source_id, count in added.items():
        ids = sorted(questions[source_id])
        outbox.event("evidence_added", source_id=source_id, count=count, question_ids=ids)


def _contradiction(session: Session, run: RunRow, lease: Lease, item: Contradiction, outbox: Outbox) -> None:
    statement = insert(ContradictionRow).values(
        run_id=run.id, claim_key=item.claim_key, body=item.model_dump(mode="json"), found_in=lease.iteration
    )
    known = session.scalar(
        select(ContradictionRow.claim_key).where(
            ContradictionRow.run_id == run.id, ContradictionRow.claim_key == item.claim_key
        )
    )
    session.execute(
        statement.on_conflict_do_update(index_elements=["run_id", "claim_key"], set_={"body": statement.excluded.body})
    )
    if known is None:
        outbox.event(
            "contradiction_found",
            claim_key=item.claim_key,
            evidence_ids=list(item.evidence_ids),
            resolution=item.resolution,
        )


def _statements(session: Session, run: RunRow, outcome: Outcome) -> None:
    for draft in outcome.drafts:
        session.add(
            StatementRow(
                run_id=run.id,
                epoch=run.epoch,
                id=draft.statement.id,
                section_id=draft.section_id,
                ordinal=draft.ordinal,
                draft=draft.model_dump(mode="json"),
            )
        )
    for verdict in outcome.verdicts:
        session.execute(
            update(StatementRow)
            .where(
                StatementRow.run_id == run.id,
                StatementRow.epoch == run.epoch,
                StatementRow.id == verdict.statement_id,
            )
            .values(verdict=verdict.model_dump(mode="json"))
        )


def _report(session: Session, run: RunRow, outcome: Outcome) -> None:
    if outcome.report is None:
        return
    run.report_version += 1
    body = outcome.report.model_dump(mode="json")
    session.add(ReportRow(run_id=run.id, version=run.report_version, status=outcome.report.status, body=body))
    for file in outcome.files:
        session.add(
            ReportFileRow(run_id=run.id, version=run.report_version, fmt=file.fmt, mime=file.mime, data=file.data)
        )
