"""Extraction without a language model: what answers a question, and segments that bear on it, kept by reference.

What answers is found by the reader or by words alone (`answers`), each with its certainty.

A segment's relevance is the share of the question's term weight that it holds with its surroundings (title, heading,
the segment before it; what "it" stands for counts as its own). A segment that lacks the thing asked for is no answer,
nor is one without a figure where one is asked for, nor one that tells its reader what to do.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import fsum

from services.extractor.engines.answers import Found, find
from services.extractor.engines.lists import end_of_list, is_item, leads
from services.extractor.engines.spans import ExtractRequest, Picked, looked_at
from shared.domain.answering import answering, can_answer
from shared.domain.evidence import ANSWER_BAR_BP, RELEVANCE_BAR_BP, gives_orders
from shared.domain.fields import field_of
from shared.domain.maps import nearest_heading
from shared.domain.numbers import Quantity, quantities
from shared.domain.pronouns import points_back
from shared.domain.questions import AnswerKind, Asked, asked
from shared.domain.rank import CorpusStats
from shared.domain.segments import ROW_SEPARATOR
from shared.domain.text import content_terms
from shared.ports.cpu import Cpu, CpuLimits
from shared.ports.reader import Reader

PICKS_PER_QUESTION = 4
"""Spans of one source that are kept for one question."""

FOCUS_NEEDED = 0.6
"""Share of the weight of the thing asked for ("which barge") that the segment and its surroundings must hold."""

EVERY_TERM = 2.0
"""What every term weighs beside its rarity: over a few texts about one thing, how rare a word is says little of it."""

SHORTEST_SEGMENT_TERMS = 4
"""A segment of fewer content terms is a heading or a fragment: it says nothing by itself."""

SHORTEST_FIELD_TERMS = 2
"""A line such as "Author: Orla Vask" says something with less."""

CONTEXT_BAR = 0.25
"""Share of the weight of the question, or of the query that led here, from which a segment is kept as context."""

LINK_NEEDED = 0.6
"""Share of the weight of the name that led to a source which a segment and its surroundings must hold."""

LINKED_FACTOR = 0.9
"""What the relevance of a segment is multiplied by that answers only together with another."""

ANSWERS_PER_QUESTION = 3
"""Answers of one source that are kept for one question."""

LEAST_CERTAINTY = 0.05
"""What is less sure than this is not kept as an answer at all."""

EXTRACT_LIMITS = CpuLimits(wall_s=90, cpu_s=60, memory_bytes=2_000_000_000)

_STOPS = (".", "!", "…", ";", ":", "。", "！")
_BAR = RELEVANCE_BAR_BP / 10_000


@dataclass(frozen=True, slots=True)
class _Segment:
    """A segment with its terms and those of its surroundings."""

    number: int
    text: str
    own: frozenset[str]
    around: frozenset[str]
    end: int
    """The number of the segment after it, or after the list that it leads to."""


class ExtractiveExtraction:
    """See `services.extractor.engines.ExtractEngine`; the ranking runs in a limited subprocess."""

    def __init__(self, cpu: Cpu, reader: Reader | None) -> None:
        self._cpu, self._reader = cpu, reader

    def extract(self, request: ExtractRequest) -> tuple[Picked, ...]:
        """Return the spans that answer each question."""
        return self._cpu.run(extract_spans, request, self._reader, limits=EXTRACT_LIMITS)

    def most_chars(self, request: ExtractRequest) -> int:
        """Return how many characters of a long source are looked at."""
        return request.max_chars


def extract_spans(request: ExtractRequest, reader: Reader | None = None) -> tuple[Picked, ...]:
    """Return the spans that answer each question, the most relevant first, then those that only bear on it."""
    segments = _segments(request)
    query = frozenset(content_terms(request.query))
    picked: list[Picked] = []
    for question_id, text in request.questions:
        question = asked(text)
        near = [(r, s) for s in segments if (r := _answering(s, question, query, request.stats)) >= _BAR]
        answers = _best([(r, s) for r, s in near if can_answer(s.text, text)], _BAR)
        taken = {s.number for _, s in answers}
        others = [s for s in segments if s.number not in taken]
        context = _best([(_bearing(s, question, query, request.stats), s) for s in others], CONTEXT_BAR)
        picked += [_picked(question_id, question, s, r) for r, s in answers]
        room = PICKS_PER_QUESTION - len(answers)
        picked += [replace(_picked(question_id, question, s, r), stance="context") for r, s in context[:room]]
        picked = _with_answers(picked, (question_id, text), request, reader)
    return tuple(picked)


def _with_answers(
    picked: list[Picked], question: tuple[str, str], request: ExtractRequest, reader: Reader | None
) -> list[Picked]:
    """Add to the spans of a question what answers it and how sure that is; a span that only answers is a new one."""
    question_id, text = question
    who, found = find(request, text, reader)
    own = {p.segment_start: replace(p, read_by=who) for p in picked if p.question_id == question_id}
    for one in found[:ANSWERS_PER_QUESTION]:
        sentence = request.text[request.segments[one.first][0] : request.segments[one.last - 1][1]]
        if one.certainty >= LEAST_CERTAINTY and can_answer(sentence, text):
            place = one.first
            known = own.get(place)
            if known is None or known.segment_end < one.last:
                known = _answering_pick(question_id, asked(text), one, request)
            words = one.answer or (request.segments[one.first][0], request.segments[one.last - 1][1])
            own[place] = _answered(replace(known, answer=words, certainty=one.certainty, read_by=who))
    return [p for p in picked if p.question_id != question_id] + list(own.values())


def _answered(pick: Picked) -> Picked:
    """Return a span that is sure enough to answer as one that supports, whatever words alone made of it."""
    if pick.certainty < ANSWER_BAR_BP / 10_000:
        return pick
    return replace(pick, stance="supports", relevance=max(pick.relevance, pick.certainty, _BAR))


def _answering_pick(question_id: str, question: Asked, found: Found, request: ExtractRequest) -> Picked:
    """Return a span that only the search for answers has found."""
    start, end = request.segments[found.first][0], request.segments[found.last - 1][1]
    pick = _picked_text(question_id, question, request.text[start:end], found.certainty)
    return replace(pick, segment_start=found.first, segment_end=found.last, stance="context")


def _best(scored: Iterable[tuple[float, _Segment]], bar: float) -> list[tuple[float, _Segment]]:
    """Return the most relevant segments with their relevance, none below the bar."""
    found = [(relevance, segment) for relevance, segment in scored if relevance >= bar]
    return sorted(found, key=lambda a: (-a[0], a[1].number))[:PICKS_PER_QUESTION]


def _answering(segment: _Segment, question: Asked, query: frozenset[str], stats: CorpusStats) -> float:
    return max(_relevance(segment, question, stats), _linked(segment, question, query, stats))


def _linked(segment: _Segment, question: Asked, query: frozenset[str], stats: CorpusStats) -> float:
    """Return the relevance of a segment that a name led to: what it adds to what stands beside the name.

    The query holds the name and those terms of the question that the sentence with the name lacks. A segment that
    holds the name and some of them answers together with that sentence.
    """
    wanted = question.wanted | question.context
    name, lacking = query - wanted, query & wanted
    everything = segment.own | segment.around
    if not name or not lacking & segment.own or _share(name, everything, stats) < LINK_NEEDED:
        return 0.0
    if _share(question.focus & lacking, everything, stats) < FOCUS_NEEDED:
        return 0.0
    missing = _weight(lacking - everything, stats)
    return LINKED_FACTOR * (1 - missing / (_weight(wanted, stats) or 1.0))


def _bearing(segment: _Segment, question: Asked, query: frozenset[str], stats: CorpusStats) -> float:
    """Return how much a segment that does not answer bears on the question, or on the query that led to its source."""
    everything = segment.own | segment.around
    return max(
        _share(terms, everything, stats) if terms else 0.0 for terms in (question.wanted | question.context, query)
    )


def _segments(request: ExtractRequest) -> tuple[_Segment, ...]:
    title = frozenset(content_terms(request.title))
    found: list[_Segment] = []
    before = lead = frozenset[str]()
    heads = {(h.start, h.end) for h in request.headings}
    chosen = looked_at(request)
    for number, (start, end) in enumerate(request.segments):
        if number not in chosen:
            before = frozenset()
            continue
        text = request.text[start:end]
        own = frozenset(content_terms(text)) | (before if points_back(text) else frozenset())
        heading = nearest_heading(request.headings, start)
        above = frozenset(content_terms(heading.text)) if heading else frozenset()
        if (start, end) not in heads and _says_something(text, own):
            around = title | above | before | (lead if is_item(text) else frozenset())
            found.append(_Segment(number, text, own, around, end_of_list(request.text, request.segments, number)))
        lead = own if leads(text) else lead if is_item(text) else frozenset()
        before = own
    return tuple(found)


def _says_something(text: str, own: frozenset[str]) -> bool:
    least = SHORTEST_FIELD_TERMS if field_of(text) else SHORTEST_SEGMENT_TERMS
    return len(own) >= least and _is_sentence(text)


def _is_sentence(text: str) -> bool:
    """Tell whether a segment states something by itself: a sentence, an item or a row; no title, question or order."""
    states = text.rstrip("\"'”’)]»」』").endswith(_STOPS) or ROW_SEPARATOR in text or text.startswith("- ")
    return (states or field_of(text) is not None) and not gives_orders(text)


def _relevance(segment: _Segment, question: Asked, stats: CorpusStats) -> float:
    """Return the share of the question that a segment with some of its words holds with its surroundings."""
    everything = segment.own | segment.around
    if not question.wanted & segment.own or _share(question.focus, everything, stats) < FOCUS_NEEDED:
        return 0.0
    return _share(question.wanted, everything, stats)


def _weight(terms: Iterable[str], stats: CorpusStats) -> float:
    return fsum(EVERY_TERM + stats.weight(term) for term in terms)


def _share(wanted: frozenset[str], held: frozenset[str], stats: CorpusStats) -> float:
    total = _weight(wanted, stats)
    return _weight(wanted & held, stats) / total if total else 1.0


def _answer_value(text: str, question: Asked) -> Quantity | None:
    """Return the figure or date that answers: in the unit that the question names, else the first."""
    found = answering(quantities(text), question)
    if question.answer is AnswerKind.DATE:
        dates = [q for q in found if q.date is not None]
        return max(dates, key=lambda q: len(q.date or ""), default=None)
    named = [q for q in found if q.unit and set(content_terms(q.text)) & question.wanted]
    return next(iter(named or found), None)


def _picked(question_id: str, question: Asked, segment: _Segment, relevance: float) -> Picked:
    pick = _picked_text(question_id, question, segment.text, relevance)
    return replace(pick, segment_start=segment.number, segment_end=segment.end)


def _picked_text(question_id: str, question: Asked, text: str, relevance: float) -> Picked:
    value = _answer_value(text, question)
    return Picked(
        question_id=question_id,
        segment_start=0,
        segment_end=1,
        relevance=relevance,
        number=float(value.value) if value is not None and value.kind != "date" else None,
        unit=value.unit if value is not None and value.kind != "date" else None,
        date=value.date if value is not None else None,
    )
