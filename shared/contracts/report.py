"""The report as data, schema version 1; every rendering is made from it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from shared.contracts.base import Stored
from shared.contracts.evidence import Locator

Verdict = Literal["supported", "partially_supported", "unsupported", "unresolvable", "unverified"]
StatementKind = Literal["finding", "analysis", "caveat"]
DraftForm = Literal["paragraph", "list", "table"]
Confidence = Literal["high", "medium", "low"]
GapKind = Literal["not_found", "in_part", "unconfirmed", "disputed", "unclear"]


class DerivedInput(Stored):
    """One figure that a derived value was computed from."""

    name: str
    value: float
    unit: str | None = None
    evidence_id: str


class Derived(Stored):
    """A value that stands in no source but recomputes from values that do."""

    value: float
    unit: str | None = None
    formula: str
    inputs: tuple[DerivedInput, ...]


class Statement(Stored):
    """One sentence of the report and what it rests on."""

    id: str
    kind: StatementKind
    text: str
    evidence_ids: tuple[str, ...] = ()
    statement_ids: tuple[str, ...] = ()
    confidence: Confidence = "medium"
    derived: Derived | None = None
    answer: str | None = None
    """On a short answer: the words of ``text`` that answer, as they are printed."""


class Paragraph(Stored):
    """Sentences that are read in one go."""

    type: Literal["paragraph"] = "paragraph"
    statements: tuple[Statement, ...]


class ListBlock(Stored):
    """Items of one or more sentences each."""

    type: Literal["list"] = "list"
    items: tuple[tuple[Statement, ...], ...]


class Table(Stored):
    """Rows of cells of sentences."""

    type: Literal["table"] = "table"
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[Statement, ...], ...], ...]


Block = Annotated[Paragraph | ListBlock | Table, Field(discriminator="type")]


class Section(Stored):
    """A section of the report."""

    id: str
    title: str
    question_ids: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()


class Gap(Stored):
    """What was asked and not found."""

    question_id: str | None
    description: str
    kind: GapKind | None = None
    """Why a question is not answered; None where the gap is a source that was not read."""


class ContradictionRow(Stored):
    """Two or more sources that do not agree."""

    summary: str
    evidence_ids: tuple[str, ...]
    resolution: str


class Citation(Stored):
    """A numbered citation."""

    number: int
    source_id: str
    evidence_ids: tuple[str, ...]
    locator: Locator


class VerificationSummary(Stored):
    """How the drafted statements fared; rates over all drafted findings, 0 to 1."""

    statements: int
    emitted: int
    dropped: int
    sentence_support_rate: float
    citation_support_rate: float


class Report(Stored):
    """The whole report."""

    schema_version: Literal[1] = 1
    run_id: str
    title: str
    question: str
    language: str
    as_of: str | None
    status: Literal["completed", "budget_exhausted"]
    engine: str
    short_answer: Statement | None
    nearest: tuple[Statement, ...] = ()
    """Where there is no short answer: what comes closest, and does not answer."""
    answer_lead: tuple[Statement, ...] = ()
    """Sentences of other sources that the short answer follows from, in the order in which they are read before it."""
    executive_summary: tuple[Statement, ...]
    sections: tuple[Section, ...]
    contradictions: tuple[ContradictionRow, ...]
    gaps: tuple[Gap, ...]
    methodology: tuple[str, ...]
    citations: tuple[Citation, ...]
    verification: VerificationSummary
    source_mix: dict[str, int] = Field(default_factory=dict)
    usage: dict[str, Any] = Field(default_factory=dict)


class Draft(Stored):
    """A statement as the writer proposed it, before the gate."""

    section_id: str
    ordinal: int
    statement: Statement
    block: int = 0
    """Which block of the section it stands in."""
    form: DraftForm = "list"
    """How the block is read."""
    cell: tuple[int, int] | None = None
    """Row and column in a table, from 0."""
    columns: tuple[str, ...] = ()
    """The headings of the table that it stands in."""


class VerdictRow(Stored):
    """The gate's answer about one drafted statement."""

    statement_id: str
    verdict: Verdict
    evidence_ids: tuple[str, ...]
    checks: dict[str, str]
    verifier: str
    verifier_version: str
    repeatable: bool
    emitted: bool
    text: str
    reasons: tuple[str, ...] = ()


class Verification(Stored):
    """How the drafted statements of a run's newest report fared, and the runs that checked a report of it again."""

    summary: VerificationSummary
    verdicts: tuple[VerdictRow, ...]
    reverifications: tuple[str, ...] = ()


class Recheck(Stored):
    """A report's verdicts when it was checked again; ``changed`` are the statements that are judged otherwise now."""

    run_id: str
    """The run that the report is of."""
    report_version: int
    changed: tuple[str, ...]
    verdicts: tuple[VerdictRow, ...]
