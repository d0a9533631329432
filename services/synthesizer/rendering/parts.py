"""What every rendering needs: citation numbers, sources as people read them, and text in which no marker is ours."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from services.synthesizer.rules.confidence import contested_evidence
from shared.contracts.evidence import Evidence, Locator, Source
from shared.contracts.report import Citation, ContradictionRow, Report, Statement
from shared.domain.excerpts import folded, one_line

PARTIAL = (
    "This report is partial: research ended before everything that was asked could be covered. "
    "Every sentence in it has passed the same check as in a complete one."
)
NOTHING_FOUND = "Nothing was found that passed the check."
NEAREST = "Nothing that was read answers the question. What comes nearest, and does not answer it:"
EMPTY_SECTION = "Nothing further was found for this section."

_FOREIGN_MARK = re.compile(r"\[(\^?\d[\d,;–\- ]{0,12}|\^\w{1,12})\]")
_URL_SAFE = "%/:?&=#~+!$,;@"
_QUOTED_WORDS = 8


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of the list of sources; ``url`` only where it may be a link, ``where`` the page or heading."""

    number: int
    title: str
    details: tuple[str, ...]
    where: str
    url: str | None
    name: str
    copy: bool


@dataclass(frozen=True, slots=True)
class ExcerptCard:
    """An excerpt within its surroundings, as a citation number leads to it."""

    evidence_id: str
    before: str
    excerpt: str
    after: str
    link: str | None


@dataclass(frozen=True, slots=True)
class Parts:
    """A report with its rows, indexed for rendering."""

    report: Report
    evidence: Mapping[str, Evidence]
    sources: Mapping[str, Source]
    numbers: Mapping[str, int]
    contested: frozenset[str]

    def numbers_of(self, evidence_ids: Sequence[str]) -> tuple[int, ...]:
        """Return the citation numbers of some evidence, ascending, each once."""
        return tuple(sorted({self.numbers[i] for i in evidence_ids if i in self.numbers}))

    def note_of(self, statement: Statement) -> str:
        """Return what a reader has to know of a statement beside its words; empty where that is nothing."""
        kind = () if statement.kind == "finding" else (statement.kind,)
        contested = ("contested",) if self.contested & set(statement.evidence_ids) else ()
        return ", ".join((*kind, *contested, *(("low confidence",) if statement.confidence == "low" else ())))


@dataclass(frozen=True, slots=True)
class Side:
    """What one side of a contradiction says; copies say it together."""

    excerpt: str
    evidence_ids: tuple[str, ...]


def sides_of(row: ContradictionRow, parts: Parts) -> tuple[Side, ...]:
    """Return the different excerpts of a contradiction in their order."""
    sides: dict[str, list[Evidence]] = {}
    for item in (parts.evidence[i] for i in row.evidence_ids if i in parts.evidence):
        sides.setdefault(folded(item.excerpt), []).append(item)
    return tuple(Side(same[0].excerpt, tuple(e.evidence_id for e in same)) for same in sides.values())


def parts_of(report: Report, evidence: Sequence[Evidence], sources: Sequence[Source]) -> Parts:
    """Index a report and its rows."""
    numbers = {i: c.number for c in report.citations for i in c.evidence_ids}
    return Parts(
        report,
        {e.evidence_id: e for e in evidence},
        {s.source_id: s for s in sources},
        numbers,
        contested_evidence(report.contradictions),
    )


def without_marks(text: str) -> str:
    """Return the text with the note markers of its own source, such as [12], in angle quotes: ‹12›.

    Only the program's citations stand in square brackets, so that none can be taken for another.
    """
    return _FOREIGN_MARK.sub(r"‹\1›", text)


def safe_url(url: str | None) -> str | None:
    """Return a web address in a form that may stand in a link, or None for anything but http and https."""
    if url is None:
        return None
    try:
        split = urlsplit(url.strip())
    except ValueError:
        return None
    if split.scheme.casefold() not in ("http", "https") or not split.netloc:
        return None
    return quote(url.strip(), safe=_URL_SAFE, errors="replace")


def deep_link(url: str | None, excerpt: str) -> str | None:
    """Return a link that opens a page at the excerpt (WICG text fragment: ``#:~:text=first words,last words``)."""
    page = safe_url(url)
    words = one_line(excerpt).split(" ")
    if page is None or not words[0]:
        return None
    encoded = [quote(w, safe="", errors="replace").replace("-", "%2D") for w in words]
    head = "%20".join(encoded[:_QUOTED_WORDS])
    tail = "%20".join(encoded[-_QUOTED_WORDS:])
    text = head if len(words) <= _QUOTED_WORDS else f"{head},{tail}" if len(words) >= 2 * _QUOTED_WORDS else head
    return f"{page.partition('#')[0]}#:~:text={text}"


def source_line(citation: Citation, parts: Parts) -> SourceLine:
    """Return the line of a numbered citation."""
    source = parts.sources.get(citation.source_id)
    locator = citation.locator
    url = safe_url((source.final_url or source.url) if source else None) or safe_url(locator.canonical_url)
    name = locator.document_name or (source.url if source else citation.source_id)
    title = (source.title if source else None) or name
    return SourceLine(
        number=citation.number,
        title=one_line(title),
        details=tuple(one_line(d) for d in _details(source)),
        where=where(locator),
        url=url,
        name=one_line(name),
        copy=source is not None and source.duplicate_of is not None,
    )


def _details(source: Source | None) -> tuple[str, ...]:
    if source is None:
        return ()
    date = source.published_at[:10] if source.published_at else None
    return tuple(d for d in (source.publisher or source.domain, date) if d)


def where(locator: Locator) -> str:
    """Return where in its source an excerpt stands, in words; empty where nothing is known."""
    if locator.page is not None:
        return f"p. {locator.page}"
    if locator.part_kind is not None or locator.cells is not None:
        return _part(locator)
    return f"section “{one_line(locator.heading)}”" if locator.heading else ""


def _part(locator: Locator) -> str:
    """Return the slide by its number, or the sheet or chapter by its name, and the cells."""
    words = []
    if locator.part_kind is not None:
        name = f" “{one_line(locator.part)}”" if locator.part else ""
        number = f" {locator.part_number}" if locator.part_kind == "slide" or not name else ""
        words.append(f"{locator.part_kind}{number}{name}")
    if locator.cells is not None:
        words.append(f"cells {locator.cells}")
    return ", ".join(words)


def excerpt_cards(citation: Citation, parts: Parts) -> tuple[ExcerptCard, ...]:
    """Return the excerpts that a citation number stands for, in the order of their text."""
    cited = sorted((parts.evidence[i] for i in citation.evidence_ids if i in parts.evidence), key=lambda e: e.start)
    source = parts.sources.get(citation.source_id)
    url = (source.final_url or source.url) if source and source.kind == "web" else None
    return tuple(
        ExcerptCard(e.evidence_id, e.locator.prefix, e.excerpt, e.locator.suffix, deep_link(url, e.excerpt))
        for e in cited
    )


def percent(rate: float) -> str:
    """Return a rate from 0 to 1 as a percentage: "97.5 %"."""
    return f"{rate * 100:.1f}".rstrip("0").rstrip(".") + " %"


def verification_line(report: Report) -> str:
    """Return the two headline figures, and what they are of."""
    checked = report.verification
    return (
        f"Of {checked.statements} drafted statements {checked.emitted} passed the check and {checked.dropped} were "
        f"dropped. Sentence support rate {percent(checked.sentence_support_rate)}, "
        f"citation support rate {percent(checked.citation_support_rate)}."
    )


def mix_line(report: Report) -> str:
    """Return how many sources of each class are cited; empty where none is."""
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in report.source_mix.items())
