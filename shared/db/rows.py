"""Rows of a run as contracts, for handlers and people alike."""

from typing import Any

from sqlalchemy import Subquery, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from shared.contracts.evidence import Contradiction, Evidence, Fetch, Source
from shared.contracts.report import Draft, Report, VerdictRow
from shared.db.tables import (
    CandidacyRow,
    ContradictionRow,
    EvidenceRow,
    FetchRow,
    ReportRow,
    RunRow,
    SourceRow,
    StatementRow,
)


def sources_of(session: Session, run_id: str) -> tuple[Source, ...]:
    """Return the sources of a run in the order of the searches that found them."""
    place, order = _in_order(run_id)
    wanted = (
        select(SourceRow.body)
        .outerjoin(place, place.c.source_id == SourceRow.id)
        .where(SourceRow.run_id == run_id)
        .order_by(*order)
    )
    return tuple(Source.model_validate(body) for body in session.scalars(wanted))


def _in_order(run_id: str) -> tuple[Subquery, list[Any]]:
    """Return the place of each source, and what orders sources by it: by search and by rank there.

    Searches run side by side and end in any order; what the run makes of their sources must not depend on that.
    """
    of_source: tuple[Any, ...] = (CandidacyRow.epoch, CandidacyRow.search_key, CandidacyRow.rank)
    first = (
        select(CandidacyRow.source_id, *of_source)
        .ext(distinct_on(CandidacyRow.source_id))
        .where(CandidacyRow.run_id == run_id)
        .order_by(CandidacyRow.source_id, *of_source)
        .subquery()
    )
    place = [first.c.epoch.nulls_last(), first.c.search_key, first.c.rank]
    return first, [*place, SourceRow.ordinal, SourceRow.id]


def evidence_of(session: Session, run_id: str) -> tuple[Evidence, ...]:
    """Return the evidence of a run, by source and place in it."""
    first, order = _in_order(run_id)
    wanted = (
        select(EvidenceRow.body)
        .join(SourceRow, SourceRow.id == EvidenceRow.source_id)
        .outerjoin(first, first.c.source_id == SourceRow.id)
        .where(EvidenceRow.run_id == run_id)
        .order_by(*order)
    )
    found = [Evidence.model_validate(body) for body in session.scalars(wanted)]
    place = {source_id: n for n, source_id in enumerate(dict.fromkeys(e.source_id for e in found))}
    return tuple(sorted(found, key=lambda e: (place[e.source_id], e.start, e.end)))


def fetches_of(session: Session, run_id: str) -> tuple[Fetch, ...]:
    """Return the fetch log of a run, oldest first."""
    wanted = select(FetchRow.body).where(FetchRow.run_id == run_id).order_by(FetchRow.id)
    return tuple(Fetch.model_validate(body) for body in session.scalars(wanted))


def contradictions_of(session: Session, run_id: str) -> tuple[Contradiction, ...]:
    """Return the contradictions of a run by claim key."""
    wanted = select(ContradictionRow.body).where(ContradictionRow.run_id == run_id)
    return tuple(Contradiction.model_validate(b) for b in session.scalars(wanted.order_by(ContradictionRow.claim_key)))


def drafts_of(session: Session, run: RunRow, section_id: str | None) -> tuple[Draft, ...]:
    """Return the drafted statements of the run's epoch, of one section or of all."""
    wanted = select(StatementRow.draft).where(StatementRow.run_id == run.id, StatementRow.epoch == run.epoch)
    if section_id is not None:
        wanted = wanted.where(StatementRow.section_id == section_id)
    rows = session.scalars(wanted.order_by(StatementRow.section_id, StatementRow.ordinal))
    return tuple(Draft.model_validate(body) for body in rows)


def verdicts_of(session: Session, run: RunRow) -> tuple[VerdictRow, ...]:
    """Return the verdicts of the run's epoch in the order of their drafts."""
    wanted = select(StatementRow.verdict).where(
        StatementRow.run_id == run.id, StatementRow.epoch == run.epoch, StatementRow.verdict.is_not(None)
    )
    rows = session.scalars(wanted.order_by(StatementRow.section_id, StatementRow.ordinal))
    return tuple(VerdictRow.model_validate(body) for body in rows)


def report_of(session: Session, run_id: str, version: int | None = None) -> Report | None:
    """Return a version of the run's report, the newest by default."""
    wanted = select(ReportRow.body).where(ReportRow.run_id == run_id)
    if version is not None:
        wanted = wanted.where(ReportRow.version == version)
    body = session.scalar(wanted.order_by(ReportRow.version.desc()).limit(1))
    return Report.model_validate(body) if body is not None else None
