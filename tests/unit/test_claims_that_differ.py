"""Contradictions by claim: the same thing told differently, in whatever question it came up."""

from typing import Any

from services.planner.contradictions import find_contradictions
from shared.contracts.evidence import Contradiction, Evidence, Source, Value
from tests.factories.research import make_evidence, make_plan, make_snapshot, make_source

PLAN = make_plan("What is known of the basin?", "Is the quay sound?")


def told(number: float, **changes: Any) -> tuple[Source, Evidence]:
    """Return a source and what it says of the claim "basin depth", or the text given."""
    says = changes.pop("text", f"The depth of the basin is {number:g} metres, says source {chr(65 + int(number))}.")
    snapshot = make_snapshot(says)
    source = make_source(f"src_{number:g}_{changes.get('stance', 's')}", snapshot)
    values: dict[str, Any] = {
        "claim_key": "basin|depth|",
        "value": Value(number=number, unit="m"),
        "question_ids": ("q1",),
    }
    return source, make_evidence(f"ev_{source.source_id}", source, snapshot, **(values | changes))


def conflicts(*pairs: tuple[Source, Evidence]) -> tuple[Contradiction, ...]:
    """Return the contradictions among these."""
    return find_contradictions(PLAN, [e for _, e in pairs], {s.source_id: s for s, _ in pairs})


def test_two_values_of_one_claim_are_a_contradiction() -> None:
    """Both sides are named, with the questions that they bear on."""
    [found] = conflicts(told(14), told(12, question_ids=("q2",)))
    assert found.claim_key == "basin|depth|"
    assert found.question_ids == ("q1", "q2")
    assert len(found.evidence_ids) == 2
    assert "14 m" in found.summary
    assert "12 m" in found.summary
    assert found.central


def test_a_denial_is_a_contradiction_without_values() -> None:
    """One source states what another denies."""
    [found] = conflicts(told(14), told(13, stance="contradicts", value=None))
    assert "stated" in found.summary
    assert "denied" in found.summary


def test_units_of_one_dimension_are_compared() -> None:
    """The same depth in feet agrees but for rounding, another one in centimetres does not; the words stay its own."""
    feet = told(46.6, value=Value(number=46.6, unit="ft"))
    assert conflicts(told(14.2), feet) == ()
    [found] = conflicts(told(14), told(1200, value=Value(number=1200, unit="cm")))
    assert "14 m" in found.summary
    assert "1,200 cm" in found.summary


def test_what_agrees_or_is_about_something_else_is_none() -> None:
    """The same value, another unit, another claim, or mere context."""
    assert conflicts(told(14), told(14.0, stance="supports")) == ()
    assert conflicts(told(14), told(12, value=Value(number=12, unit="km"))) == ()
    assert conflicts(told(14), told(12, claim_key="quay|depth|")) == ()
    assert conflicts(told(14), told(12, stance="context")) == ()


def test_dates_of_what_holds_now_are_compared_as_dates() -> None:
    """Context with part of the words is a side, by its date and not by a name in it; a date without a year is none."""
    plan = make_plan("When was the latest survey of the basin?")
    pairs = [
        told(
            n,
            claim_key=None,
            value=None,
            stance="context",
            relevance_bp=4500,
            text=f"The survey of the basin was {at}.",
        )
        for n, at in enumerate(("in April 2021", "on 2 June 2023", "on 2 June", "on a Sunday"))
    ]
    evidence, sources = [e for _, e in pairs], {s.source_id: s for s, _ in pairs}
    [found] = find_contradictions(plan, evidence, sources)
    assert [i in found.evidence_ids for i in (e.evidence_id for e in evidence)] == [True, True, False, False]
    assert "2023-06-02" in found.summary
    assert len(find_contradictions(make_plan("When was the survey of the basin?"), evidence, sources)) == 1


def test_a_question_and_its_claim_are_told_once() -> None:
    """Evidence that answers a question for a figure is not reported again under its claim."""
    plan = make_plan("How deep is the basin?")
    pairs = (told(14), told(12))
    found = find_contradictions(plan, [e for _, e in pairs], {s.source_id: s for s, _ in pairs})
    assert [c.claim_key for c in found] == ["q1:m"]
