"""Which of several summaries stands: a round of refinement that found more writes the summary anew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.synthesizer.gate.judge import unverified
from services.synthesizer.rules.selection import summary_cards
from services.synthesizer.rules.writing import ROUND_PLACES, SUMMARY, SUMMARY_BLOCK, round_of_draft
from shared.contracts.evidence import Evidence
from shared.contracts.plan import Plan
from shared.contracts.report import Draft, VerdictRow

REPLACED = "a later round has written the summary anew"

Cards = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Standing:
    """The drafts that a report is made of, and the rows of those that a later summary has taken the place of."""

    drafts: tuple[Draft, ...]
    replaced: tuple[VerdictRow, ...]


def standing(drafts: Sequence[Draft], verdicts: Sequence[VerdictRow]) -> Standing:
    """Return the drafts without those of earlier summaries than the last one of which something passed."""
    passed = {row.statement_id for row in verdicts if row.emitted}
    told = [d for d in drafts if d.section_id == SUMMARY]
    rounds = (round_of_draft(d) for d in told if d.statement.id in passed and d.block % ROUND_PLACES == SUMMARY_BLOCK)
    newest = max(rounds, default=0)
    old = {d.statement.id for d in told if round_of_draft(d) < newest}
    return Standing(
        tuple(d for d in drafts if d.statement.id not in old),
        tuple(unverified(d.statement, REPLACED) for d in told if d.statement.id in old),
    )


def new_summary(plan: Plan, outlined: Sequence[Cards], evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return what the summary is to be written from after the last of these outlines; nothing if that is as before.

    ``outlined`` are the cards of every round so far, oldest first; ``evidence`` is all that may be used.
    """
    sections: dict[str, tuple[str, ...]] = {}
    for cards in outlined:
        for section, ids in cards.items():
            if section != SUMMARY:
                sections[section] = (*sections.get(section, ()), *ids)
    chosen = summary_cards(plan, sections, evidence)
    before = next((tuple(cards[SUMMARY]) for cards in reversed(outlined[:-1]) if SUMMARY in cards), ())
    return () if set(chosen) == set(before) else chosen
