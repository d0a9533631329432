"""Builders of contracts with consistent hashes and offsets, for tests of any service.

Each takes what a test cares about and fills in the rest; ids and times are fixed, so results are repeatable.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from shared.contracts.evidence import Contradiction, Evidence, Fetch, Locator, Source
from shared.contracts.plan import Plan, PlannedSection, Question, SearchTask
from shared.contracts.report import Draft, Report, Statement, VerdictRow, VerificationSummary
from shared.contracts.snapshot import HeadingMark, PageMark, Snapshot
from shared.domain.dedupe import signature
from shared.domain.excerpts import evidence_sha256
from shared.domain.ids import sha256_hex
from shared.domain.segments import SEGMENTER_VERSION, segment

RUN_ID = "run_00000000000000000000000001"
MOMENT = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
CONTEXT_CHARS = 32


def make_snapshot(text: str, *, headings: Sequence[HeadingMark] = (), pages: Sequence[PageMark] = ()) -> Snapshot:
    """Return the snapshot of a text, named by its hash, with its sentences and sketch."""
    return Snapshot(
        sha256=sha256_hex(text.encode()),
        text=text,
        segmenter_version=SEGMENTER_VERSION,
        segments=tuple((s.start, s.end) for s in segment(text)),
        headings=tuple(headings),
        pages=tuple(pages),
        signature=signature(text),
    )


def make_source(source_id: str = "src_1", snapshot: Snapshot | None = None, **changes: Any) -> Source:
    """Return a web source that was read as this snapshot; its bytes are taken to be those of the text."""
    values: dict[str, Any] = {
        "source_id": source_id,
        "kind": "web",
        "status": "fetched" if snapshot else "candidate",
        "url": f"https://{source_id.replace('_', '-')}.example/page",
        "canonical_url": f"https://{source_id.replace('_', '-')}.example/page",
        "title": f"Title of {source_id}",
        "mime": "text/html",
        "source_class": "unknown",
        "retrieved_at": MOMENT if snapshot else None,
        "content_sha256": sha256_hex(b"bytes of " + snapshot.text.encode()) if snapshot else None,
        "snapshot_sha256": snapshot.sha256 if snapshot else None,
    }
    return Source(**(values | changes))


def make_document(source_id: str = "src_1", snapshot: Snapshot | None = None, **changes: Any) -> Source:
    """Return a source that is a document of the user."""
    document = {"kind": "document", "document_id": f"doc_{source_id}", "url": f"document:doc_{source_id}"}
    return make_source(source_id, snapshot, **({**document, "canonical_url": f"document:doc_{source_id}"} | changes))


def make_fetch(source: Source, **changes: Any) -> Fetch:
    """Return the fetch that delivered a source."""
    web = source.kind == "web"
    values: dict[str, Any] = {
        "fetch_id": f"fet_{source.source_id}",
        "source_id": source.source_id,
        "requested_url": source.url,
        "final_url": source.final_url or source.url,
        "status": 200 if web else None,
        "mime": source.mime,
        "bytes": 1000,
        "content_sha256": source.content_sha256,
        "tier": "static" if web else "document",
        "at": MOMENT,
    }
    return Fetch(**(values | changes))


def make_evidence(
    evidence_id: str, source: Source, snapshot: Snapshot, excerpt: str | None = None, **changes: Any
) -> Evidence:
    """Return evidence for an excerpt of the snapshot, by default its first sentence, with its offsets and hash."""
    first = snapshot.segments[0]
    excerpt = snapshot.text[first[0] : first[1]] if excerpt is None else excerpt
    start = snapshot.text.index(excerpt)
    end = start + len(excerpt)
    held = [n for n, (a, b) in enumerate(snapshot.segments) if a < end and b > start]
    values: dict[str, Any] = {
        "evidence_id": evidence_id,
        "source_id": source.source_id,
        "step_id": "stp_1",
        "snapshot_sha256": snapshot.sha256,
        "segment_start": held[0],
        "segment_end": held[-1] + 1,
        "start": start,
        "end": end,
        "excerpt": excerpt,
        "question_ids": ("q1",),
        "relevance_bp": 8000,
        "confidence_bp": 8000,
        "locator": make_locator(source, snapshot, start, end),
        "sha256": evidence_sha256(snapshot.sha256, start, end, excerpt),
    }
    return Evidence(**(values | changes))


def make_locator(source: Source, snapshot: Snapshot, start: int, end: int) -> Locator:
    """Return where a span stands: its page, the heading above it, and the words around it."""
    heading = next((h.text for h in reversed(snapshot.headings) if h.start <= start), None)
    page = next((p.number for p in reversed(snapshot.pages) if p.start <= start), None)
    return Locator(
        kind="pdf" if page is not None else source.kind,
        snapshot_sha256=snapshot.sha256,
        start=start,
        end=end,
        heading=heading,
        page=page,
        canonical_url=source.canonical_url if source.kind == "web" else None,
        document_id=source.document_id,
        document_name=f"{source.source_id}.pdf" if source.kind == "document" else None,
        prefix=snapshot.text[max(start - CONTEXT_CHARS, 0) : start],
        suffix=snapshot.text[end : end + CONTEXT_CHARS],
    )


def make_statement(statement_id: str, text: str, evidence_ids: Sequence[str] = (), **changes: Any) -> Statement:
    """Return a finding that cites this evidence."""
    values: dict[str, Any] = {"kind": "finding", "text": text, "evidence_ids": tuple(evidence_ids)}
    return Statement(id=statement_id, **(values | changes))


def make_draft(statement: Statement, ordinal: int = 0, section_id: str = "s1", block: int = 0) -> Draft:
    """Return a draft of the statement at a place of a section."""
    return Draft(section_id=section_id, ordinal=ordinal, block=block, statement=statement)


def make_verdict(statement: Statement, verdict: str = "supported", **changes: Any) -> VerdictRow:
    """Return a verdict of the containment verifier about a statement."""
    passed = verdict == "supported"
    values: dict[str, Any] = {
        "statement_id": statement.id,
        "verdict": verdict,
        "evidence_ids": statement.evidence_ids,
        "checks": {"exists": "pass", "numbers": "pass", "support": "pass" if passed else "fail"},
        "verifier": "containment",
        "verifier_version": "1",
        "repeatable": True,
        "emitted": passed,
        "text": statement.text,
    }
    return VerdictRow(**(values | changes))


def make_contradiction(evidence_ids: Sequence[str], **changes: Any) -> Contradiction:
    """Return an unresolved contradiction between pieces of evidence."""
    values: dict[str, Any] = {
        "claim_key": "q1:m3",
        "evidence_ids": tuple(evidence_ids),
        "question_ids": ("q1",),
        "summary": "The sources do not agree.",
    }
    return Contradiction(**(values | changes))


def make_plan(*questions: str, **changes: Any) -> Plan:
    """Return a plan with one section for each question; q1, q2 … and s1, s2 … in their order."""
    asked = questions or ("How many cubic metres were dredged?",)
    values: dict[str, Any] = {
        "title": asked[0],
        "objective": " ".join(asked),
        "questions": tuple(Question(id=f"q{n}", text=text) for n, text in enumerate(asked, 1)),
        "search_tasks": (SearchTask(question_ids=("q1",), query=asked[0]),),
        "writing_plan": tuple(
            PlannedSection(id=f"s{n}", title=text, question_ids=(f"q{n}",)) for n, text in enumerate(asked, 1)
        ),
    }
    return Plan(**(values | changes))


def make_report(**changes: Any) -> Report:
    """Return a report without a finding."""
    values: dict[str, Any] = {
        "run_id": RUN_ID,
        "title": "A report",
        "question": "What is there to know?",
        "language": "en",
        "as_of": None,
        "status": "budget_exhausted",
        "engine": "extractive",
        "short_answer": None,
        "executive_summary": (),
        "sections": (),
        "contradictions": (),
        "gaps": (),
        "methodology": (),
        "citations": (),
        "verification": VerificationSummary(
            statements=0, emitted=0, dropped=0, sentence_support_rate=0.0, citation_support_rate=0.0
        ),
    }
    return Report(**(values | changes))
