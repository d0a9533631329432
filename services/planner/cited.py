"""From a provider's report to sentences with sources: what can be checked of it, and which pages have to be read."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shared.contracts.candidates import page_candidate
from shared.contracts.evidence import Source
from shared.contracts.managed import ToldReport, ToldSentence
from shared.contracts.plan import Question
from shared.contracts.runs import SourcePolicy
from shared.domain.errors import NotAllowed
from shared.domain.evidence import gives_orders
from shared.domain.questions import asked
from shared.domain.segments import segment
from shared.domain.text import clean, content_terms
from shared.domain.urls import Url, parse_url
from shared.ports.managed import Mark

MAX_TEXT = 400_000
MAX_MARKS = 2000
MAX_SENTENCES = 200
MAX_CHARS = 1000
"""What is taken up of a report: characters, citations, sentences, and characters of a sentence."""

SHORTEST_TERMS = 2
SHORTEST_UNENDED_TERMS = 4
"""A sentence of fewer content terms says nothing by itself; one without its end is a title or a fragment."""

_LINE = re.compile(r"[^\n]+|\n(?=[^\S\n]*\n)")
_LEAD = re.compile(r"[^\S\n]*(?:>[^\S\n]*)*(?:(?:[-*+•–]|\d{1,3}[.)])[^\S\n]+)?")
_HEADING = re.compile(r"[^\S\n]*#{1,6}[^\S\n]")
_ROW = re.compile(r"[^\S\n]*\|")
_REFERENCE = re.compile(r"\[\s*(?:cite:\s*)?\^?\d+(?:\s*[,–-]\s*\d+)*\s*\]|【[^】]*】|\[cite:[^\]]*\]")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*(?:\s+\"[^\"]*\")?\)")
_EMPHASIS = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_SPACE_BEFORE = re.compile(r"\s+(?=[.,;:!?])")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence where it stands in the report: from ``start`` to ``end``, under a heading, in a block."""

    text: str
    start: int
    end: int
    heading: str
    block: int


@dataclass(frozen=True, slots=True)
class Read:
    """A report in sentences, and the sources that it cites, the most cited first."""

    report: ToldReport
    sources: tuple[Source, ...]


def read_report(
    text: str, marks: Sequence[Mark], questions: Sequence[Question], run_id: str, policy: SourcePolicy
) -> Read:
    """Return what a provider's report says in sentences that can be checked, and the pages that it cites."""
    found = list(_sentences(text[:MAX_TEXT]))
    kept = [s for s in found if s.text and len(s.text) <= MAX_CHARS][:MAX_SENTENCES]
    marks = marks[:MAX_MARKS]
    sources, refused = _sources(marks, run_id, policy)
    cited = _cited(kept, marks, sources)
    count = Counter(source_id for ids in cited for source_id in ids)
    told = tuple(
        ToldSentence(text=s.text, question_id=_question(s, questions), source_ids=ids, block=s.block)
        for s, ids in zip(kept, cited, strict=True)
    )
    report = ToldReport(sentences=told, omitted=len(found) - len(kept) + (len(text) > MAX_TEXT), refused=refused)
    known = {s.source_id: s for s in sources.values()}
    order = {source_id: place for place, source_id in enumerate(known)}
    ranked = sorted((i for i in known if count[i]), key=lambda i: (-count[i], order[i]))
    return Read(report, tuple(known[i] for i in ranked))


def _sentences(text: str) -> Iterator[_Sentence]:
    """Yield the sentences of a text in Markdown.

    A row of a table is one without words, for it cannot be checked, and so is one that gives its reader orders.
    """
    heading, block = "", 0
    for line in _LINE.finditer(text):
        if line.group() == "\n" or _HEADING.match(line.group()):
            heading, block = plain(line.group().strip("# \t")) or heading, block + 1
            continue
        if _ROW.match(line.group()):
            yield _Sentence("", line.start(), line.end(), heading, block)
            continue
        lead = _LEAD.match(line.group())
        first = line.start() + (lead.end() if lead else 0)
        for span in segment(text[first : line.end()]):
            said = plain(text[first + span.start : first + span.end])
            if _says_something(said):
                said = "" if gives_orders(said) else said
                yield _Sentence(said, first + span.start, first + span.end, heading, block)


def _says_something(sentence: str) -> bool:
    ended = sentence.rstrip("\"'”’»)]").endswith((".", "!", "?", "。", "！", "？", "…"))
    return len(content_terms(sentence)) >= (SHORTEST_TERMS if ended else SHORTEST_UNENDED_TERMS)


def plain(text: str) -> str:
    """Return a sentence without its marks of Markdown and numbers of references, on one line."""
    told = _REFERENCE.sub("", _IMAGE.sub("", clean(text)))
    told = _EMPHASIS.sub("", _LINK.sub(r"\1", told))
    return _SPACE_BEFORE.sub("", " ".join(told.split())).strip()


def _sources(marks: Sequence[Mark], run_id: str, policy: SourcePolicy) -> tuple[Mapping[str, Source], tuple[str, ...]]:
    """Return the sources by the address that cites them, and the addresses that the policy does not let be read."""
    sources: dict[str, Source] = {}
    refused: dict[str, None] = {}
    for mark in marks:
        url = _allowed(mark.url, policy)
        if url is None:
            refused[clean(mark.url)[:300]] = None
        elif mark.url not in sources:
            sources[mark.url] = page_candidate(run_id, url, clean(mark.title or "")[:300] or None)
    return sources, tuple(refused)


def _allowed(address: str, policy: SourcePolicy) -> Url | None:
    try:
        url = parse_url(address)
    except NotAllowed:
        return None
    return url if policy.allows_host(url.host) else None


def _cited(
    sentences: Sequence[_Sentence], marks: Sequence[Mark], sources: Mapping[str, Source]
) -> list[tuple[str, ...]]:
    """Return for each sentence the sources of the marks that touch it, or that stand right after it."""
    starts, ends = [s.start for s in sentences], [s.end for s in sentences]
    cited: list[dict[str, None]] = [{} for _ in sentences]
    for mark in marks:
        if mark.url in sources:
            first, after = bisect_right(ends, mark.start), bisect_left(starts, mark.end)
            if mark.end <= mark.start:
                first = max(after - 1, 0)
            for place in range(first, after):
                cited[place][sources[mark.url].source_id] = None
    return [tuple(ids) for ids in cited]


def _question(sentence: _Sentence, questions: Sequence[Question]) -> str:
    """Return the question that has most words in common with a sentence and its heading, the first of equal ones."""
    words = frozenset(content_terms(f"{sentence.heading} {sentence.text}"))

    def shared(question: Question) -> int:
        own = asked(question.text)
        return len(words & (own.wanted | own.context))

    return max(questions, key=shared).id
