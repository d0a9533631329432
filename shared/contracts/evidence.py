"""Sources, fetches and evidence: what a run acquired and which spans of it bear on a question."""

from datetime import datetime
from typing import Any, Literal

from shared.contracts.base import Stored
from shared.domain.maps import PartKind

SourceStatus = Literal["candidate", "fetched", "blocked", "failed", "unsupported", "duplicate"]
SourceClass = Literal[
    "own", "primary", "official", "academic", "reputable_secondary", "aggregator", "user_generated", "unknown"
]
Stance = Literal["supports", "contradicts", "context"]


class Source(Stored):
    """A page or file that a run acquired or knows of."""

    source_id: str
    kind: Literal["document", "web"]
    status: SourceStatus
    url: str
    final_url: str | None = None
    canonical_url: str
    title: str | None = None
    publisher: str | None = None
    domain: str | None = None
    author: str | None = None
    published_at: str | None = None
    modified_at: str | None = None
    retrieved_at: datetime | None = None
    mime: str | None = None
    language: str | None = None
    source_class: SourceClass = "unknown"
    content_sha256: str | None = None
    snapshot_sha256: str | None = None
    document_id: str | None = None
    independence_cluster: str | None = None
    duplicate_of: str | None = None
    reason: str | None = None


class Fetch(Stored):
    """One attempt to get something: the ground truth of the citation gate."""

    fetch_id: str
    source_id: str | None
    requested_url: str
    redirects: tuple[str, ...] = ()
    final_url: str | None = None
    status: int | None = None
    mime: str | None = None
    bytes: int | None = None
    content_sha256: str | None = None
    tier: Literal["static", "browser", "document", "mcp", "api", "carried"]
    robots: str | None = None
    refusal: str | None = None
    detail: str | None = None
    elapsed_ms: int | None = None
    at: datetime


class Locator(Stored):
    """Where an excerpt stands. Offsets count code points of the snapshot's text, end exclusive.

    ``part`` names the sheet, slide or chapter and ``cells`` the range of cells, as in "B7" or "A7:F9".
    """

    kind: Literal["document", "web", "pdf"]
    snapshot_sha256: str
    start: int
    end: int
    heading: str | None = None
    page: int | None = None
    part_kind: PartKind | None = None
    part: str | None = None
    part_number: int | None = None
    cells: str | None = None
    canonical_url: str | None = None
    document_id: str | None = None
    document_name: str | None = None
    file_sha256: str | None = None
    prefix: str = ""
    suffix: str = ""


class Value(Stored):
    """A figure as a value: ``number`` in ``unit``; a date as ISO 8601 in ``date``."""

    number: float | None = None
    unit: str | None = None
    date: str | None = None


class EvidenceScope(Stored):
    """What a piece of evidence speaks about, where the text says so."""

    as_of: str | None = None
    geography: str | None = None
    population: str | None = None
    definition: str | None = None
    methodology: str | None = None


class Answered(Stored):
    """Words inside a span that answer a question: their place in the snapshot's text, and how sure that is."""

    question_id: str
    start: int
    end: int
    certainty_bp: int
    """Calibrated probability, in basis points, that these words answer the question."""


class Evidence(Stored):
    """A span that bears on a question: ``excerpt`` is the snapshot's text from ``start`` to ``end``."""

    evidence_id: str
    source_id: str
    step_id: str
    snapshot_sha256: str
    segment_start: int
    segment_end: int
    start: int
    end: int
    excerpt: str
    question_ids: tuple[str, ...]
    claim_key: str | None = None
    stance: Stance = "supports"
    value: Value | None = None
    scope: EvidenceScope = EvidenceScope()
    relevance_bp: int
    confidence_bp: int
    locator: Locator
    sha256: str
    in_scope: bool = True
    answers: tuple[Answered, ...] = ()
    """What answers in it, by question."""
    read_by: str | None = None
    """Who looked for answers in its source: the reader, or the rules on words alone; None where a model did."""


class SourceDetail(Source):
    """A source with what was found in it, in the order of its text."""

    evidence: tuple[Evidence, ...]


class Contradiction(Stored):
    """Evidence that does not agree: same subject and measure, incompatible values."""

    claim_key: str
    evidence_ids: tuple[str, ...]
    question_ids: tuple[str, ...]
    summary: str
    resolution: str = "unresolved"
    central: bool = True
    followed_up: bool = False

    def as_report_row(self) -> dict[str, Any]:
        """Return the row that a report shows."""
        return {"summary": self.summary, "evidence_ids": list(self.evidence_ids), "resolution": self.resolution}
