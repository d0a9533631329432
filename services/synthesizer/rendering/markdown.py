"""A report as Markdown (CommonMark, safe in GitHub's dialect): numbered citations and one list of sources.

Whatever comes from outside (excerpts, titles, names, the question) is escaped, so that none of it becomes a link, an
image, HTML, a heading or a list.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from services.synthesizer.rendering.parts import (
    EMPTY_SECTION,
    NEAREST,
    NOTHING_FOUND,
    PARTIAL,
    Parts,
    mix_line,
    parts_of,
    sides_of,
    source_line,
    verification_line,
    without_marks,
)
from shared.contracts.evidence import Evidence, Source
from shared.contracts.report import Block, Citation, ListBlock, Paragraph, Report, Section, Statement, Table
from shared.domain.excerpts import one_line

ROW_BREAK = " / "
"""What stands between two rows of a table that one statement quotes."""

_SPECIAL = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|$)"
    r"|`"
    r"|(?<!\s)\*|\*(?!\s)"
    r"|(?<=!)\[|\](?=[(\[:])"
    r"|<(?=[A-Za-z/!?])"
    r"|(?<=\S)~|~(?=~)"
    r"|#(?=\s*$)"
    r"|(?<![^\W_])_|_(?![^\W_])"
)
"""What Markdown reads as a mark where it stands: a star between spaces, a bracket without an address, is none."""

_ENTITY = re.compile(r"&(?=#?\w{1,32};)")
_SLASHES = re.compile(r"(:?)//")
_DOMAIN_DOT = re.compile(
    r"(?<=\w)\.(?=(?:[a-z]{2}|biz|com|edu|gov|net|org|pro|web|xxx|aero|asia|coop|info|museum|name|shop|рф)(?!\w))"
    r"|(?<=www)\.",
    re.IGNORECASE,
)
"""The dot of what renderers take for a bare domain name: before the endings that linkify-it knows, and after www."""

_BLOCK_START = re.compile(r"^(?:([-+*](?=[-+*\s]|$)|[=:>|\[]|#(?=[#\s]|$)|~(?=~))|(\d{1,9})([.)])(?=\s|$))")
_LIST_MARK = re.compile(r"^(?:[-*+•‣◦·–]\s+)+(?=\S)")


def render_markdown(report: Report, evidence: Sequence[Evidence], sources: Sequence[Source]) -> str:
    """Return the report as Markdown; it ends with a newline."""
    parts = parts_of(report, evidence, sources)
    return "\n\n".join(block for block in _blocks(parts) if block) + "\n"


def escape(text: str) -> str:
    """Return text of any origin as inert Markdown on one line; rows of a table are joined by a slash.

    The mark of a list item that it begins with is left out: it stands in a list of ours, or in none.
    """
    line = without_marks(ROW_BREAK.join(filter(None, map(one_line, text.split("\n")))))
    line = _SPECIAL.sub(r"\\\g<0>", _LIST_MARK.sub("", line))
    line = _ENTITY.sub(r"\\&", line)
    line = _SLASHES.sub(lambda m: ("\\:" if m.group(1) else "") + r"\/\/", line)
    line = _DOMAIN_DOT.sub(r"\\.", line.replace("@", r"\@"))
    return _BLOCK_START.sub(lambda m: rf"\{m.group(1)}" if m.group(1) else rf"{m.group(2)}\{m.group(3)}", line)


def _blocks(parts: Parts) -> Iterator[str]:
    """Yield the blocks of the document; a blank line goes between them."""
    report = parts.report
    yield f"# {escape(report.title)}"
    if report.status != "completed":
        yield f"> **{PARTIAL}**"
    yield f"**Question:** {escape(report.question)}"
    yield f"As of {escape(report.as_of)}." if report.as_of else ""
    yield "## Short answer"
    yield from _answer(parts)
    if report.executive_summary:
        yield "## Summary"
        yield _list([_sentence(s, parts) for s in report.executive_summary])
    for section in report.sections:
        yield f"## {escape(section.title)}"
        yield from _section(section, parts)
    yield from _conflicts(parts)
    if report.gaps:
        yield "## What was not found"
        yield _list([escape(gap.description) for gap in report.gaps])
    yield "## How this report was made"
    yield _list([escape(sentence) for sentence in report.methodology])
    yield from _sources(parts)
    yield "---"
    yield f"{verification_line(report)} Run {escape(report.run_id)}, engine {escape(report.engine)}."


def _answer(parts: Parts) -> Iterator[str]:
    """Yield the words that answer and the sentence that holds them, or what comes nearest where nothing answers."""
    answer = parts.report.short_answer
    if answer is not None:
        yield f"**{escape(answer.answer)}**" if answer.answer else ""
        yield _sentences((*parts.report.answer_lead, answer), parts)
    elif parts.report.nearest:
        yield NEAREST
        yield _list([_sentence(statement, parts) for statement in parts.report.nearest])
    else:
        yield NOTHING_FOUND


def _section(section: Section, parts: Parts) -> Iterator[str]:
    """Yield the blocks of a section; lists that follow each other are read as one."""
    for together, blocks in groupby(section.blocks, key=lambda block: isinstance(block, ListBlock)):
        rendered = [_block(block, parts) for block in blocks]
        yield from ["\n".join(rendered)] if together else rendered
    if not section.blocks:
        yield EMPTY_SECTION


def _sentence(statement: Statement, parts: Parts) -> str:
    """Return a statement, its note and its citations: "Words. *(contested)* [1] [3]"."""
    note = parts.note_of(statement)
    return " ".join(
        (escape(statement.text), *([f"*({note})*"] if note else ()), *_marks(statement.evidence_ids, parts))
    )


def _marks(evidence_ids: Sequence[str], parts: Parts) -> list[str]:
    return [f"[{number}]" for number in parts.numbers_of(evidence_ids)]


def _block(block: Block, parts: Parts) -> str:
    if isinstance(block, Paragraph):
        return _sentences(block.statements, parts)
    if isinstance(block, ListBlock):
        return _list([_sentences(item, parts) for item in block.items])
    return _table(block, parts)


def _sentences(statements: Sequence[Statement], parts: Parts) -> str:
    return " ".join(_sentence(s, parts) for s in statements)


def _table(table: Table, parts: Parts) -> str:
    rows = [[_cell(_sentences(cell, parts)) for cell in row] for row in table.rows]
    lines = [[_cell(escape(c)) for c in table.columns], ["---"] * len(table.columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    """Return a cell of a table, in which a bar would end it."""
    return re.sub(r"(?<!\\)\|", r"\|", text)


def _list(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _conflicts(parts: Parts) -> Iterator[str]:
    """Yield the contradictions with the words of every side."""
    if not parts.report.contradictions:
        return
    yield "## Where the sources disagree"
    for row in parts.report.contradictions:
        sides = [
            f"  - “{escape(side.excerpt)}” {' '.join(_marks(side.evidence_ids, parts))}".rstrip()
            for side in sides_of(row, parts)
        ]
        state = "" if row.resolution == "unresolved" else f" ({escape(row.resolution)})"
        yield "\n".join((f"- {escape(row.summary)}{state}", *sides))


def _sources(parts: Parts) -> Iterator[str]:
    yield "## Sources"
    citations = parts.report.citations
    yield _list([_source(c, parts) for c in citations]) if citations else "No source is cited."
    mix = mix_line(parts.report)
    yield f"Cited sources by kind: {escape(mix)}." if mix else ""


def _source(citation: Citation, parts: Parts) -> str:
    """Return a line such as "[1] Title, publisher, date — p. 3, <https://…>"."""
    line = source_line(citation, parts)
    head = ", ".join(escape(part) for part in (line.title, *line.details))
    place = ", ".join(filter(None, (escape(line.where), f"<{line.url}>" if line.url else escape(line.name))))
    copy = " (a copy of another source)" if line.copy else ""
    return f"[{line.number}] {head} — {place}{copy}"
