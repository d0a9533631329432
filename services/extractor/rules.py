"""Pure rules of the extractor: from a reading to a snapshot, from picked segments to evidence with its locator."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

from services.extractor.engines.spans import Picked
from services.extractor.reading.result import Reading
from shared.contracts.evidence import Answered, Evidence, Locator, Source, Value
from shared.contracts.snapshot import HeadingMark, PageMark, Parse, PartMark, Snapshot
from shared.domain.dedupe import signature
from shared.domain.evidence import MAX_EXCERPT_CHARS
from shared.domain.excerpts import evidence_sha256
from shared.domain.ids import digest_id, sha256_hex
from shared.domain.maps import Heading, Page, Part, Row, cells_at, nearest_heading, page_at, part_at
from shared.domain.segments import SEGMENTER_VERSION, segment

QUOTE_CONTEXT_CHARS = 60
"""How much text before and after an excerpt its locator repeats."""

READ_S = 20.0
READ_S_PER_MB = 8.0
LONGEST_READ_S = 90.0
"""Processor seconds that reading a file may take: some for any, more for a large one. A reading needs a tenth of that
as a rule; what needs more is made to, and others wait behind it."""

REASONS = {
    "empty": "It holds no text.",
    "unsupported": "Its format is not supported.",
    "encrypted": "It is encrypted.",
    "scanned": "It holds pictures of pages but no text.",
    "broken": "It is damaged.",
    "too_large": "It is too large.",
    "thin_content": "Without its scripts the page holds next to no text.",
    "blocked": "The site answered with a check instead of the page.",
    "not_found": "The site says that the page does not exist.",
}
LOST = {"blocked": "blocked", "not_found": "failed"}
"""What becomes of a source whose page was not there; any other status that gives no text means "unsupported"."""


def parse_cpu_s(size: int) -> float:
    """Return the processor seconds that reading a file of so many bytes may take."""
    return min(READ_S + READ_S_PER_MB * size / 1e6, LONGEST_READ_S)


def snapshot_of(reading: Reading) -> Snapshot:
    """Return the snapshot of a readable text: its address, segments, maps and signature."""
    return Snapshot(
        sha256=sha256_hex(reading.text.encode()),
        text=reading.text,
        segmenter_version=SEGMENTER_VERSION,
        segments=tuple((s.start, s.end) for s in segment(reading.text)),
        headings=tuple(HeadingMark(level=h.level, text=h.text, start=h.start, end=h.end) for h in reading.headings),
        pages=tuple(PageMark(number=p.number, start=p.start, end=p.end) for p in reading.pages),
        parts=tuple(
            PartMark(kind=p.kind, name=p.name, number=p.number, start=p.start, end=p.end) for p in reading.parts
        ),
        rows=tuple((r.start, r.number, r.first, r.last) for r in reading.rows),
        truncated=reading.truncated,
        signature=signature(reading.text),
    )


def parse_of(reading: Reading, content_sha256: str, snapshot: Snapshot | None, version: str) -> Parse:
    """Return what reading some bytes gave."""
    return Parse(
        content_sha256=content_sha256,
        reader_version=version,
        status=reading.status,
        reason=reading.reason or REASONS.get(reading.status),
        mime=reading.mime,
        encoding=reading.encoding,
        title=reading.title,
        author=reading.author,
        publisher=reading.publisher,
        published_at=reading.published_at,
        modified_at=reading.modified_at,
        canonical_url=reading.canonical_url,
        language=reading.language,
        snapshot_sha256=snapshot.sha256 if snapshot is not None else None,
        chars=len(reading.text),
        truncated=reading.truncated,
    )


def source_after_parse(source: Source, parse: Parse) -> Source:
    """Put what the text itself says about its origin into the source; a document keeps its own address."""
    readable = parse.snapshot_sha256 is not None
    changes = {
        "status": source.status if readable else LOST.get(parse.status, "unsupported"),
        "reason": parse.reason,
        "title": parse.title or source.title,
        "author": parse.author,
        "publisher": parse.publisher,
        "published_at": parse.published_at,
        "modified_at": parse.modified_at,
        "mime": parse.mime,
        "language": parse.language,
        "snapshot_sha256": parse.snapshot_sha256,
    }
    return source.model_copy(update=changes)


def headings_of(snapshot: Snapshot) -> tuple[Heading, ...]:
    """Return the snapshot's headings as the rules use them."""
    return tuple(Heading(h.level, h.text, h.start, h.end) for h in snapshot.headings)


def evidence_of(
    picks: Sequence[Picked], snapshot: Snapshot, source: Source, step_id: str, document_name: str | None
) -> tuple[Evidence, ...]:
    """Cut the picked spans out of the snapshot: one piece of evidence a span, for all questions that it answers."""
    spans: dict[tuple[int, int], list[Picked]] = {}
    for pick in picks:
        spans.setdefault((pick.segment_start, pick.segment_end), []).append(pick)
    return tuple(
        _evidence(span, group, snapshot, source, (step_id, document_name)) for span, group in sorted(spans.items())
    )


def _evidence(
    span: tuple[int, int],
    picks: Sequence[Picked],
    snapshot: Snapshot,
    source: Source,
    origin: tuple[str, str | None],
) -> Evidence:
    step_id, document_name = origin
    start = snapshot.segments[span[0]][0]
    end = min(snapshot.segments[span[1] - 1][1], start + MAX_EXCERPT_CHARS)
    excerpt = snapshot.text[start:end]
    best = max(picks, key=lambda p: p.relevance)
    sha256 = evidence_sha256(snapshot.sha256, start, end, excerpt)
    has_value = best.number is not None or best.date is not None
    return Evidence(
        evidence_id=digest_id("evd", source.source_id, sha256),
        source_id=source.source_id,
        step_id=step_id,
        snapshot_sha256=snapshot.sha256,
        segment_start=span[0],
        segment_end=span[1],
        start=start,
        end=end,
        excerpt=excerpt,
        question_ids=tuple(sorted({p.question_id for p in picks})),
        claim_key=best.claim_key,
        stance=best.stance,
        value=Value(number=best.number, unit=best.unit, date=best.date) if has_value else None,
        relevance_bp=round(best.relevance * 10_000),
        confidence_bp=round(best.relevance * 10_000),
        locator=locator_of(snapshot, source, start, end, document_name),
        sha256=sha256,
        answers=tuple(_answers(picks, start, end)),
        read_by=best.read_by,
    )


def _answers(picks: Sequence[Picked], start: int, end: int) -> Iterator[Answered]:
    """Yield what answers in an excerpt, the surest words of each question."""
    for pick in {p.question_id: p for p in sorted(picks, key=lambda p: p.certainty)}.values():
        if pick.answer is not None and start <= pick.answer[0] < pick.answer[1] <= end:
            sure = round(pick.certainty * 10_000)
            yield Answered(question_id=pick.question_id, start=pick.answer[0], end=pick.answer[1], certainty_bp=sure)


def _rows_near(snapshot: Snapshot, start: int, end: int) -> tuple[Row, ...]:
    """Return the rows of sheets that a span can touch: a sheet may have a hundred thousand."""
    first = bisect_right(snapshot.rows, start, key=itemgetter(0))
    last = bisect_right(snapshot.rows, end, key=itemgetter(0))
    return tuple(Row(*row) for row in snapshot.rows[max(first - 1, 0) : last])


def locator_of(snapshot: Snapshot, source: Source, start: int, end: int, document_name: str | None) -> Locator:
    """Say where a span stands: page, part and cells, heading, and a little of the text around it."""
    pages = tuple(Page(p.number, p.start, p.end) for p in snapshot.pages)
    page = page_at(pages, start)
    heading = nearest_heading(headings_of(snapshot), start)
    parts = tuple(Part(p.kind, p.name, p.number, p.start, p.end) for p in snapshot.parts)
    part = part_at(parts, start)
    rows = _rows_near(snapshot, start, end)
    return Locator(
        kind="pdf" if page is not None else source.kind,
        snapshot_sha256=snapshot.sha256,
        start=start,
        end=end,
        heading=heading.text if heading is not None else None,
        page=page.number if page is not None else None,
        part_kind=part.kind if part is not None else None,
        part=(part.name or None) if part is not None else None,
        part_number=part.number if part is not None else None,
        cells=cells_at(rows, start, end, part.start if part is not None else 0),
        canonical_url=source.canonical_url,
        document_id=source.document_id,
        document_name=document_name,
        file_sha256=source.content_sha256,
        prefix=snapshot.text[max(start - QUOTE_CONTEXT_CHARS, 0) : start],
        suffix=snapshot.text[end : end + QUOTE_CONTEXT_CHARS],
    )
