"""Which evidence goes into which section: usable, not said twice, the most relevant of each question first."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from services.synthesizer.gate.context import cluster_of
from services.synthesizer.rules.sentences import Gist, gist_of, near_identical, sentences_of
from shared.contracts.evidence import Evidence, Source
from shared.contracts.plan import Plan
from shared.domain.budget import Depth

STATEMENTS_PER_SECTION: Mapping[Depth, int] = {Depth.QUICK: 14, Depth.STANDARD: 18, Depth.THOROUGH: 24}
"""How many statements a section may hold, by depth."""

LEAST_PER_SECTION = 10
"""How many it may hold at least where the sections of a report without a writer share the room of one."""

SUMMARY_CARDS = 4
"""Pieces of evidence of one question that the summary is written from."""

_ISO_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")


@dataclass(slots=True)
class _Card:
    """Evidence to be written, its sentences, and evidence of independent sources with the very same words."""

    evidence: Evidence
    gists: tuple[Gist, ...]
    clusters: set[str]
    companions: list[str] = field(default_factory=list)


def published_after(published_at: str | None, as_of: str | None) -> bool:
    """Tell whether a source is known to be younger than the as-of date, at the precision that both have."""
    if as_of is None or published_at is None:
        return False
    date = _ISO_DATE.match(published_at)
    length = min(len(date.group()), len(as_of)) if date else 0
    return published_at[:length] > as_of[:length]


def usable(evidence: Iterable[Evidence], sources: Mapping[str, Source], as_of: str | None) -> tuple[Evidence, ...]:
    """Return the evidence that findings may rest on: in scope, of a known source, not published after ``as_of``."""
    return tuple(
        e
        for e in evidence
        if e.in_scope and e.source_id in sources and not published_after(sources[e.source_id].published_at, as_of)
    )


def section_questions(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the questions of each section; those that no section names go to the first without any, or to the last."""
    named = {q for section in plan.writing_plan for q in section.question_ids}
    left = tuple(q.id for q in plan.questions if q.id not in named)
    free = next((s.id for s in plan.writing_plan if not s.question_ids), plan.writing_plan[-1].id)
    return {s.id: (*s.question_ids, *(left if s.id == free else ())) for s in plan.writing_plan}


def shared_room(plan: Plan, depth: Depth) -> int:
    """Return how many statements each section may hold where they share the room of one."""
    sections = sum(bool(questions) for questions in section_questions(plan).values())
    return max(LEAST_PER_SECTION, ceil(STATEMENTS_PER_SECTION[depth] / max(sections, 1)))


def outline(
    plan: Plan, evidence: Sequence[Evidence], sources: Mapping[str, Source], room: int
) -> dict[str, tuple[str, ...]]:
    """Return the evidence of each section that has any, in the order in which it is to be written.

    ``evidence`` is usable; ``room`` is that of a section in statements; nothing is said twice in the whole report. Each
    question of a section gets its turn, most relevant first, until the section is full; what comes from one source
    stands together, in the order of its text.
    """
    cards = _without_repeats(evidence, sources)
    taken: set[str] = set()
    sections: dict[str, tuple[str, ...]] = {}
    for section_id, questions in section_questions(plan).items():
        chosen = list(_chosen(questions, cards, taken, room))
        taken |= {c.evidence.evidence_id for c in chosen}
        if chosen:
            ordered = _by_source(chosen)
            sections[section_id] = tuple(i for c in ordered for i in (c.evidence.evidence_id, *c.companions))
    return sections


def summary_cards(plan: Plan, sections: Mapping[str, tuple[str, ...]], evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the evidence that a summary is written from: the best of each question, in the order of the questions."""
    outlined = {i for ids in sections.values() for i in ids}
    ranked = sorted((e for e in evidence if e.evidence_id in outlined), key=_rank)
    chosen = (
        item.evidence_id
        for question in plan.questions
        for item in [e for e in ranked if question.id in e.question_ids][:SUMMARY_CARDS]
    )
    return tuple(dict.fromkeys(chosen))


def _without_repeats(evidence: Sequence[Evidence], sources: Mapping[str, Source]) -> list[_Card]:
    """Return one card for everything that is said, most relevant first.

    What a copy or another source of the same independence cluster repeats is dropped; an independent source with the
    very same words joins the card.
    """
    cards: list[_Card] = []
    for item in sorted(evidence, key=lambda e: _rank(e, alias=sources[e.source_id].duplicate_of is not None)):
        gists = tuple(gist_of(s) for s in sentences_of(item.excerpt))
        cluster = cluster_of(sources[item.source_id])
        twin = next((c for c in cards if _repeats(gists, c.gists)), None)
        if twin is None:
            cards.append(_Card(item, gists, {cluster}))
        elif gists == twin.gists and cluster not in twin.clusters:
            twin.companions.append(item.evidence_id)
            twin.clusters.add(cluster)
    return sorted(cards, key=lambda c: _rank(c.evidence))


def _rank(evidence: Evidence, *, alias: bool = False) -> tuple[bool, bool, int, int]:
    """Return what sorts evidence: originals before copies, answers before context, then by relevance."""
    return alias, evidence.stance == "context", -evidence.relevance_bp, -evidence.confidence_bp


def _repeats(gists: Sequence[Gist], said: Sequence[Gist]) -> bool:
    return all(any(near_identical(gist, other) for other in said) for gist in gists)


def _chosen(questions: Sequence[str], cards: Sequence[_Card], taken: set[str], room: int) -> Iterator[_Card]:
    """Yield cards in turn for each question until the section is full."""
    waiting = {q: [c for c in cards if q in c.evidence.question_ids] for q in questions}
    gone = set(taken)
    full = room
    while any(waiting.values()):
        for queue in waiting.values():
            card = next((c for c in queue if c.evidence.evidence_id not in gone), None)
            if card is None:
                queue.clear()
                continue
            gone.add(card.evidence.evidence_id)
            if len(card.gists) <= room or room == full:
                room -= len(card.gists)
                yield card


def _by_source(chosen: Sequence[_Card]) -> list[_Card]:
    """Group by source, the source of the best card first; within one source in the order of its text."""
    places: dict[str, int] = {}
    for card in sorted(chosen, key=lambda c: _rank(c.evidence)):
        places.setdefault(card.evidence.source_id, len(places))
    return sorted(chosen, key=lambda c: (places[c.evidence.source_id], c.evidence.start))
