"""Rounds of refinement: what writers ask for is searched, read and written up, twice at most, and never for worse."""

from dataclasses import replace
from typing import Any

import pytest

from services.synthesizer import handlers
from services.synthesizer.prompts.write import SectionText
from services.synthesizer.rules.gaps import Wanted, allowed, wanted
from services.synthesizer.rules.summaries import REPLACED, new_summary, standing
from services.synthesizer.rules.writing import ANSWER_BLOCK, ROUND_PLACES, SUMMARY, SUMMARY_BLOCK
from services.synthesizer.verify import verify_bundle
from shared.domain.budget import TIERS, Depth
from shared.domain.states import RunStatus, StepKind
from tests.factories.research import (
    make_draft,
    make_evidence,
    make_plan,
    make_snapshot,
    make_source,
    make_statement,
    make_verdict,
)
from tests.fakes.materials import make_lease
from tests.fakes.model import RuleModel, ToldModel
from tests.support.harbour_run import harbour_run, synthesize
from tests.support.simulation import Simulation, World

ALWAYS = {"wants": lambda _: True}


def keys(run: Simulation, ending: str) -> list[str]:
    """Return the keys of a run that end so, or begin so."""
    return [key for key in run.seen_keys if key.endswith(ending) or key.startswith(ending)]


def test_two_rounds_at_most() -> None:
    """Writers that never have enough get two rounds; the run stays in synthesis and completes."""
    run = Simulation(World(**ALWAYS))
    assert run.play() is RunStatus.COMPLETED
    assert [len(keys(run, f"r{n}:")) for n in (1, 2, 3)] == [2, 2, 0]
    assert "outline:r2" in run.seen_keys
    assert keys(run, ":r1") == ["outline:r1", "write:s1:r1", "write:s2:r1", "verify:s1:r1", "verify:s2:r1"]
    assert not any(s.open for s in run.view.steps)


def test_nobody_asks_nothing_happens() -> None:
    """A report whose writers have what they need is assembled at once."""
    run = Simulation(World())
    assert run.play() is RunStatus.COMPLETED
    assert not any(":r1" in key or key.startswith("r1") for key in run.seen_keys)


def test_a_round_without_new_evidence_writes_nothing() -> None:
    """Sources that say nothing end the rounds."""
    known = World(**ALWAYS)
    run = Simulation(replace(known, covers=lambda source: not source.startswith("gap")))
    assert run.play() is RunStatus.COMPLETED
    assert keys(run, "r1:")
    assert not keys(run, ":r1")


@pytest.mark.parametrize("kind", [StepKind.SEARCH, StepKind.EXTRACT, StepKind.OUTLINE, StepKind.WRITE_SECTION])
@pytest.mark.parametrize("code", ["broken", "model:key", "budget:model_calls"])
def test_a_failure_in_a_round_costs_the_round_only(kind: StepKind, code: str) -> None:
    """Whatever breaks, what was verified before is assembled, complete."""

    def fails(step: Any) -> bool:
        return step.kind is kind and ("gap" in step.subject or step.key.endswith(":r1"))

    run = Simulation(World(**ALWAYS, fails=fails, code=code))
    assert run.play() is RunStatus.COMPLETED
    assert run.view.stop_reason == "finished"


def test_limits_bind_in_rounds_too() -> None:
    """No more searches and sources than the run may have, and no round after a hard stop."""
    limits = replace(TIERS[Depth.QUICK], searches=4, fetches=8)
    run = Simulation(World(**ALWAYS), limits)
    assert run.play() in (RunStatus.COMPLETED, RunStatus.BUDGET_EXHAUSTED)
    assert run.view.usage.searches <= 4
    assert run.view.usage.fetches <= 8
    stopped = Simulation(World(**ALWAYS), replace(TIERS[Depth.QUICK], iterations=1, searches=8))
    stopped.play()
    assert not keys(stopped, "r1:") or not (stopped.view.stop_reason or "").startswith("budget:")


def test_a_slow_source_does_not_hold_a_round() -> None:
    """After the straggler wait the round goes on with what it has; what is late is cancelled."""
    slow = World(**ALWAYS, slow=lambda s: s.kind is StepKind.READ_SOURCE and s.subject == "gap write:s1-0")
    run = Simulation(slow, TIERS[Depth.STANDARD])
    assert run.play() is RunStatus.COMPLETED
    assert "outline:r1" in run.seen_keys


def test_what_writers_may_ask_for() -> None:
    """Known questions only, no repeat, no address, three at most."""
    plan = make_plan("How deep is it?", "Who did it?")
    missing = [{"question": n, "query": q} for n, q in ((1, " basin  depth "), (9, "x"), (2, ""))]
    text = SectionText.model_validate({"blocks": [], "missing": missing})
    assert wanted(text, [q.text for q in plan.questions], plan) == (Wanted("q1", "basin depth"),)
    asked = [Wanted("q1", q) for q in ("basin depth", "http://x.example/?d=1", "lock opening", "depth basin")]
    assert [a["query"] for a in allowed(asked, ["the depth of the basin"], ("documents",))] == ["lock opening"]
    assert allowed(asked, [], ()) == []


def test_a_later_round_writes_new_evidence_only() -> None:
    """Its sentences are added after those of the first writing, judged by themselves, and the bundle verifies."""
    run, deps = harbour_run()
    run.engine = "llm"
    rules = RuleModel()
    late = run.pieces.pop()
    deps = replace(deps, model_of=lambda _: ToldModel(lambda asked: rules.ask(asked).value))
    lease = make_lease(StepKind.OUTLINE, "outline")
    run.commit(lease, handlers.outline(deps, lease))
    for section in run.results["outline"]["sections"]:
        play(run, deps, section)
    before = set(run.drafted)
    run.pieces.append(late)
    lease = replace(make_lease(StepKind.OUTLINE, "outline", round=1), key="outline:r1")
    run.commit(lease, handlers.outline(deps, lease))
    again = run.results["outline:r1"]
    summed = again["cards"].get(SUMMARY, ())
    assert {i for name, ids in again["cards"].items() if name != SUMMARY for i in ids} == {late.evidence_id}
    assert late.evidence_id in summed
    assert len(summed) > 1
    for section in again["sections"]:
        play(run, deps, section, round=1)
    added = [d for i, d in run.drafted.items() if i not in before and d.section_id != SUMMARY]
    assert added
    assert all(d.ordinal >= 1000 and d.statement.evidence_ids == (late.evidence_id,) for d in added)
    lease = make_lease(StepKind.ASSEMBLE, "assemble", terminal_status="completed")
    run.commit(lease, handlers.assemble(deps, lease))
    check_summary(run, before)
    checked = verify_bundle(run.files["bundle"].data)
    assert checked.ok, checked.faults


def check_summary(run: Any, before: set[str]) -> None:
    """Require that the newest summary alone stands, and that the one before it counts for nothing."""
    [report] = run.reports
    told = {s.id for s in report.executive_summary}
    assert told
    assert not told & before
    first = {i for i, d in run.drafted.items() if d.section_id == SUMMARY and i in before}
    assert all(REPLACED in run.judged[i].reasons for i in first)
    assert report.verification.statements == len(run.drafted) - len(first)


def test_the_newest_summary_stands_as_far_as_it_passed() -> None:
    """One of which nothing passed leaves the one before it in its place."""
    drafts, rows = [], []
    for number, passes in ((0, True), (1, True), (2, False)):
        for block in (ANSWER_BLOCK, SUMMARY_BLOCK):
            statement = make_statement(f"stm_{number}{block}", "It is deep.")
            place = number * ROUND_PLACES + block
            drafts.append(make_draft(statement, place, SUMMARY, place))
            rows.append(make_verdict(statement, "supported" if passes else "unsupported", emitted=passes))
    found = standing(drafts, rows)
    assert [d.statement.id for d in found.drafts] == ["stm_10", "stm_11", "stm_20", "stm_21"]
    assert [(r.statement_id, r.emitted) for r in found.replaced] == [("stm_00", False), ("stm_01", False)]
    assert standing(drafts[:2], rows[:2]).replaced == ()


def test_a_summary_of_the_same_cards_is_not_written_again() -> None:
    """What a round has found may bear on the report without being the best of any question."""
    plan = make_plan("How deep is it?")
    snapshot = make_snapshot("It is 14 metres deep. It was dug by hand.")
    source = make_source("src_1", snapshot)
    one = make_evidence("evd_1", source, snapshot, "It is 14 metres deep.")
    two = make_evidence("evd_2", source, snapshot, "It was dug by hand.")
    first = {"s1": ["evd_1"], SUMMARY: ["evd_1"]}
    assert new_summary(plan, [first, {"s1": ["evd_2"]}], (one, two)) == ("evd_1", "evd_2")
    assert new_summary(plan, [first, {"s1": []}], (one, two)) == ()


def play(run: Any, deps: Any, section: str, **inputs: Any) -> None:
    """Write and verify a section."""
    for kind, handler in ((StepKind.WRITE_SECTION, handlers.write_section), (StepKind.VERIFY, handlers.verify)):
        lease = make_lease(kind, section, section_id=section, **inputs)
        run.commit(lease, handler(deps, lease))


def test_synthesis_of_the_harbour_still_works() -> None:
    """Without rounds everything is as before."""
    run, deps = harbour_run()
    synthesize(run, deps)
    assert run.reports
