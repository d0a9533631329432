"""Which evidence shares a citation number."""

from collections.abc import Iterable, Mapping

from shared.contracts.evidence import Evidence, Locator
from shared.contracts.report import Block, Citation, ListBlock, Paragraph, Report, Statement
from shared.domain.citations import Cited, number_citations


def place_of(locator: Locator) -> str:
    """Return what tells two places of one source apart: the page, else part and cells, else the heading."""
    if locator.page is not None:
        return f"page {locator.page}"
    if locator.part_kind is not None or locator.cells is not None:
        return f"{locator.part_kind} {locator.part_number} {locator.cells}"
    return locator.heading or ""


def number(evidence_ids: Iterable[str], evidence: Mapping[str, Evidence]) -> tuple[Citation, ...]:
    """Number evidence in the order of its first use; the first piece of each number lends its locator."""
    used = [evidence[i] for i in evidence_ids]
    cited = (Cited(e.evidence_id, e.source_id, place_of(e.locator)) for e in used)
    return tuple(
        Citation(
            number=n.number,
            source_id=n.source_id,
            evidence_ids=n.evidence_ids,
            locator=evidence[n.evidence_ids[0]].locator,
        )
        for n in number_citations(cited)
    )


def statements_of(block: Block) -> tuple[Statement, ...]:
    """Return the statements of a block in reading order."""
    if isinstance(block, Paragraph):
        return block.statements
    if isinstance(block, ListBlock):
        return tuple(s for item in block.items for s in item)
    return tuple(s for row in block.rows for cell in row for s in cell)


def all_statements(report: Report) -> tuple[Statement, ...]:
    """Return every statement of a report in reading order, one that is repeated as often as it stands there."""
    answer = (*report.answer_lead, report.short_answer) if report.short_answer else ()
    in_sections = (s for section in report.sections for block in section.blocks for s in statements_of(block))
    return (*answer, *report.executive_summary, *in_sections)


def cited_ids(report: Report) -> tuple[str, ...]:
    """Return every evidence id of a report in the order of its use: statements, then contradictions."""
    in_text = (i for statement in all_statements(report) for i in statement.evidence_ids)
    in_conflicts = (i for row in report.contradictions for i in row.evidence_ids)
    return (*in_text, *in_conflicts)
