"""The workflow rules: every run ends, within its limits, whatever the order in which its steps end."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.advance import advance, gained, wake_in_s
from shared.domain.budget import TIERS, Depth, Usage, research_deadline_s
from shared.domain.research_moves import unread
from shared.domain.states import FINAL_RUN, RunKind, RunStatus, StepKind, StepStatus
from shared.domain.stopping import gate_passes
from shared.domain.view import ContradictionView, Knowledge, RunView, StepCounts, StepView
from tests.support.simulation import Simulation, World

QUICK = TIERS[Depth.QUICK]
SOURCE_STEPS = [StepKind.READ_SOURCE, StepKind.PARSE, StepKind.EXTRACT]


def test_a_run_goes_from_question_to_report() -> None:
    """With evidence for every question a run completes, and each kind of step has run."""
    run = Simulation(World())
    assert run.play() is RunStatus.COMPLETED
    assert run.view.stop_reason == "finished"
    assert {s.kind for s in run.view.steps} == set(StepKind) - {
        StepKind.REVISE_PLAN,
        StepKind.READ_IN_BROWSER,
        StepKind.REVERIFY,
        StepKind.MANAGED,
        StepKind.CANCEL_JOB,
    }


@given(data=st.data(), candidates=st.integers(0, 6), decisions=st.integers(0, 9), questions=st.integers(1, 7))
@settings(max_examples=150, deadline=None)
def test_every_run_ends_within_its_limits(data: st.DataObject, candidates: int, decisions: int, questions: int) -> None:
    """Steps may end in any order, and research steps may fail: the run still ends, no key comes twice."""
    failing = data.draw(st.sets(st.sampled_from([StepKind.SEARCH, StepKind.READ_SOURCE, StepKind.PARSE])))
    world = World(candidates, fails=lambda s: s.kind in failing and len(s.key) % 2 == 0, decisions=decisions)
    run = Simulation(world, questions=questions)
    status = run.play(lambda n: data.draw(st.integers(0, n - 1)))
    assert status in (RunStatus.COMPLETED, RunStatus.BUDGET_EXHAUSTED)
    assert run.view.usage.searches <= QUICK.searches
    assert run.view.usage.fetches <= QUICK.fetches
    assert run.view.iteration <= QUICK.iterations
    assert run.most_open[StepKind.SEARCH] <= QUICK.parallel_searches
    assert run.most_open[StepKind.READ_SOURCE] <= QUICK.parallel_reads
    assert len(run.seen_keys) == len(set(run.seen_keys))


@given(order=st.lists(st.integers(0, 20), min_size=60, max_size=60))
@settings(max_examples=60, deadline=None)
def test_the_order_of_endings_changes_nothing(order: list[int]) -> None:
    """The same inputs give the same steps, whichever of the open ones ends first."""
    straight, shuffled = Simulation(World(candidates=5)), Simulation(World(candidates=5))
    straight.play()
    picks = iter(order * 20)
    shuffled.play(lambda n: next(picks))
    assert {s.key for s in straight.view.steps} == {s.key for s in shuffled.view.steps}
    assert straight.view.stop_reason == shuffled.view.stop_reason


def test_no_evidence_is_never_completed() -> None:
    """A run without a verified finding ends as budget_exhausted with the reason no_evidence."""
    run = Simulation(World(covers=lambda source: False, findings=0))
    assert run.play() is RunStatus.BUDGET_EXHAUSTED
    assert run.view.stop_reason == "no_evidence"


def test_a_limit_without_room_for_a_plan_ends_the_run_by_its_name() -> None:
    """It is no failure: the limit is the stop reason, and what to do is said."""
    run = Simulation(World(fails=lambda s: s.kind is StepKind.PLAN, code="budget:cost_usd"))
    assert run.play() is RunStatus.BUDGET_EXHAUSTED
    assert run.view.stop_reason == "budget:cost_usd"
    assert "increase_budget" in (advance(replace(run.view, status=RunStatus.PLANNING)).error or "")


def test_a_limit_that_left_nothing_to_report_says_what_to_raise() -> None:
    """The reason stays that there is no evidence; the sentence names the limit behind it."""
    run = Simulation(World(fails=lambda s: s.kind is StepKind.SEARCH, code="budget:cost_usd", findings=0))
    assert run.play() is RunStatus.BUDGET_EXHAUSTED
    assert run.view.stop_reason == "no_evidence"
    before = replace(run.view, status=RunStatus.SYNTHESIZING, stop_reason="budget:cost_usd")
    assert "limit on cost_usd" in (advance(before).error or "")


@pytest.mark.parametrize("kind", [StepKind.PLAN, StepKind.DECIDE, StepKind.OUTLINE, StepKind.WRITE_SECTION])
def test_a_failed_phase_fails_the_run(kind: StepKind) -> None:
    """A plan, decision or synthesis step that failed for good makes the run failed, and nothing stays open."""
    run = Simulation(World(fails=lambda s: s.kind is kind))
    assert run.play() is RunStatus.FAILED
    assert run.view.stop_reason == f"failed:{kind}"
    assert not any(s.open for s in run.view.steps)


def test_three_failed_searches_stop_research() -> None:
    """When nothing can be searched, research stops with provider_failures."""
    run = Simulation(World(fails=lambda s: s.kind is StepKind.SEARCH), questions=3)
    run.play()
    assert run.view.stop_reason == "provider_failures"
    assert len(run.view.of_kind(StepKind.SEARCH)) == 3


@pytest.mark.parametrize("questions", [1, 2])
def test_a_run_all_of_whose_searches_failed_says_so(questions: int) -> None:
    """However few they were, and although nothing is found: the reason is that no search worked."""
    world = World(fails=lambda s: s.kind is StepKind.SEARCH, code="search_engines_down", findings=0)
    run = Simulation(world, questions=questions)
    assert run.play() is RunStatus.BUDGET_EXHAUSTED
    assert run.view.stop_reason == "provider_failures"


def test_one_failed_search_of_two_ends_nothing() -> None:
    """The other one's sources are read, and the run completes."""
    run = Simulation(World(fails=lambda s: s.kind is StepKind.SEARCH and s.key == "i01:search:01", code="search_key"))
    assert run.play() in (RunStatus.COMPLETED, RunStatus.BUDGET_EXHAUSTED)
    assert run.view.stop_reason != "provider_failures"


def test_a_contradiction_keeps_the_gate_shut() -> None:
    """A central contradiction has to be followed up before the run may finish; a minor one need not be."""
    view = RunView(RunKind.RESEARCH, RunStatus.RESEARCHING, QUICK, Usage())
    assert gate_passes(view)
    assert not gate_passes(replace(view, contradictions=(ContradictionView("k", True, False),)))
    assert gate_passes(replace(view, contradictions=(ContradictionView("k", False, False),)))


def test_time_alone_moves_a_run_on() -> None:
    """Research stops at its deadline so that writing fits; after the whole limit what is verified is assembled."""
    late = RunView(RunKind.RESEARCH, RunStatus.RESEARCHING, QUICK, Usage(elapsed_s=481), iteration=1)
    assert advance(late).status is RunStatus.SYNTHESIZING
    over = replace(late, status=RunStatus.SYNTHESIZING, usage=Usage(elapsed_s=601))
    change = advance(over)
    assert [s.kind for s in change.steps] == [StepKind.ASSEMBLE]
    assert change.steps[0].inputs["terminal_status"] == RunStatus.BUDGET_EXHAUSTED
    assert wake_in_s(replace(late, usage=Usage(elapsed_s=470))) == 10


def test_gain_is_anything_new() -> None:
    """Evidence, coverage, a source class or a settled contradiction is a gain; less of them is not."""
    some = Knowledge(frozenset({"q1"}), 3, 1, 1)
    assert not gained(some, some)
    assert gained(some, replace(some, evidence=4))
    assert gained(some, replace(some, covered=frozenset({"q1", "q2"})))
    assert gained(some, replace(some, open_contradictions=0))
    assert not gained(some, replace(some, evidence=2))


def test_ingest_ends_when_its_documents_are_read() -> None:
    """An ingest run fails only when nothing could be read."""
    view = RunView(RunKind.INGEST, RunStatus.RESEARCHING, QUICK, Usage())
    assert advance(replace(view, unplanned=StepCounts(open=1, completed=3))).status is None
    assert advance(replace(view, unplanned=StepCounts(completed=1, failed=2))).status is RunStatus.COMPLETED
    assert advance(replace(view, unplanned=StepCounts(failed=2, first_error="no"))).error == "no"


def test_a_cut_short_synthesis_cancels_what_is_open() -> None:
    """Past the elapsed limit nothing but the assembly goes on."""
    run = Simulation(World())
    while run.view.status is not RunStatus.SYNTHESIZING:
        if run.view.status is RunStatus.QUEUED:
            run.view = replace(run.view, may_start=True)
        else:
            run._end(next(s for s in run.view.steps if s.open))
        run._settle()
    run.view = replace(run.view, usage=replace(run.view.usage, elapsed_s=QUICK.elapsed_s))
    change = advance(run.view)
    assert StepKind.OUTLINE in change.cancel
    assert StepKind.ASSEMBLE not in change.cancel
    assert all(s.status is not StepStatus.FAILED for s in run.view.steps)


def is_read(*sources: str) -> Callable[[StepView], bool]:
    """Return what tells the reads of these sources."""
    return lambda step: step.kind is StepKind.READ_SOURCE and step.subject in sources


def test_a_slow_page_does_not_hold_the_iteration() -> None:
    """When all else has ended and the wait is over, research goes on; what is still open is cancelled by synthesis."""
    run = Simulation(World(slow=is_read("q1-0")))
    assert run.play() is RunStatus.COMPLETED
    [slow] = [s for s in run.view.of_kind(StepKind.READ_SOURCE) if s.subject == "q1-0"]
    assert (slow.iteration, slow.status) == (1, StepStatus.CANCELLED)
    assert run.view.iteration > 1


def test_a_late_result_joins_the_next_iteration() -> None:
    """A straggler that ends while the next iteration runs is parsed and extracted as a part of that one."""
    run = Simulation(World(slow=is_read("q1-0")))
    while not run.view.of_kind(StepKind.DECIDE):
        run.step()
    run.world.slow = lambda step: False
    assert run.play() is RunStatus.COMPLETED
    late = {s.kind: s for s in run.view.steps if s.subject == "q1-0"}
    assert late[StepKind.READ_SOURCE].iteration == 1
    assert (late[StepKind.EXTRACT].iteration, late[StepKind.EXTRACT].status) == (2, StepStatus.COMPLETED)


@pytest.mark.parametrize("kind", [StepKind.READ_SOURCE, StepKind.PARSE, StepKind.EXTRACT])
def test_what_waits_for_a_place_is_no_straggler(kind: StepKind) -> None:
    """When workers or processes are short, an iteration waits for them: only a source that is worked on can be slow."""

    def waits(step: StepView) -> bool:
        return step.kind is kind and step.subject == "q1-0"

    run = Simulation(World(slow=waits, waits=waits))
    run.play()
    assert not any(s.status is StepStatus.CANCELLED for s in run.view.steps)
    assert {s.iteration for s in run.view.steps if s.subject == "q1-0"} == {1}


def decided(world: World, questions: int = 1) -> Simulation:
    """Return a run that has nothing left to propose, with what is slow still open."""
    run = Simulation(world, questions=questions)
    while not run.view.of_kind(StepKind.DECIDE):
        run.step()
    run.step()
    assert run.view.status is RunStatus.RESEARCHING
    assert not run.view.of_kind(StepKind.DECIDE)[0].open
    return run


def test_research_that_needs_a_slow_page_waits_for_it_once_more() -> None:
    """With nothing left to do but a required question open, one more wait is worth it; not a third."""
    run = decided(World(candidates=1, slow=is_read("q1-0"), decisions=0), questions=2)
    assert run.view.knowledge.evidence
    run.step()
    assert (run.view.status, run.view.stop_reason) == (RunStatus.SYNTHESIZING, "only_duplicates")


@pytest.mark.parametrize("kind", [StepKind.READ_SOURCE, StepKind.PARSE, StepKind.EXTRACT])
def test_no_run_ends_for_want_of_evidence_with_something_left_to_look_at(kind: StepKind) -> None:
    """Until the time for research is up; then the limit is the reason, and what was not read is known."""
    run = decided(World(candidates=1, slow=lambda step: step.kind is kind, decisions=0))
    for _ in range(100):
        if run.view.status is not RunStatus.RESEARCHING:
            break
        run._wait()
    assert (run.view.status, run.view.stop_reason) == (RunStatus.SYNTHESIZING, "budget:elapsed_s")
    assert run.view.usage.elapsed_s >= research_deadline_s(run.limits)
    assert unread(run.view) == {"q1-0"}


@pytest.mark.parametrize("kind", [StepKind.PARSE, StepKind.EXTRACT])
def test_a_fetched_source_is_waited_for_as_long_as_a_question_needs_it(kind: StepKind) -> None:
    """However slow, and whatever evidence there is for other questions."""
    run = decided(World(candidates=1, slow=lambda s: s.kind is kind and s.subject == "q1-0", decisions=0), questions=2)
    for _ in range(5):
        run._wait()
    assert run.view.knowledge.evidence
    assert run.view.status is RunStatus.RESEARCHING
    assert run.play() is RunStatus.COMPLETED
    assert unread(run.view) == frozenset()


@given(data=st.data(), slow=st.sets(st.sampled_from(SOURCE_STEPS)), waiting=st.sets(st.sampled_from(SOURCE_STEPS)))
@settings(max_examples=150, deadline=None)
def test_whatever_is_slow_a_missing_answer_is_never_for_want_of_a_look(
    data: st.DataObject, slow: set[StepKind], waiting: set[StepKind]
) -> None:
    """A run goes on to write with fetched sources open only when all is covered or a limit says so; it always ends."""
    sources = st.sets(st.sampled_from(["q1-0", "q1-1", "q2-0", "q2-1"]))
    late, telling = data.draw(sources), data.draw(sources)
    world = World(
        candidates=2,
        covers=lambda source: source in late or source in telling,
        slow=lambda s: s.kind in slow | waiting and s.subject in late,
        waits=lambda s: s.kind in waiting and s.subject in late,
        decisions=1,
    )
    run = Simulation(world)
    before = run.view
    for _ in range(500):
        if run.view.status is not RunStatus.RESEARCHING and before.status is RunStatus.RESEARCHING:
            cut = [s for s in before.of_kind(StepKind.PARSE, StepKind.EXTRACT) if s.open]
            still = [s for s in cut if key_status(run, s.key) is StepStatus.CANCELLED]
            reason = run.view.stop_reason or ""
            assert not still or not run.view.uncovered() or reason.startswith("budget:"), reason
        if run.view.status in FINAL_RUN:
            return
        before = run.view
        run.step(lambda n: data.draw(st.integers(0, n - 1)))
    raise AssertionError("the run did not end")


def key_status(run: Simulation, key: str) -> StepStatus:
    """Return where the step of a key stands."""
    return next(s.status for s in run.view.steps if s.key == key)


@given(data=st.data(), slow=st.sets(st.integers(0, 40)))
@settings(max_examples=100, deadline=None)
def test_slow_pages_never_keep_a_run_from_its_end(data: st.DataObject, slow: set[int]) -> None:
    """Whichever sources are slow, the run ends within its limits, and never more is read at once than allowed."""
    world = World(candidates=5, slow=lambda s: s.kind is StepKind.READ_SOURCE and sum(s.subject.encode()) % 41 in slow)
    run = Simulation(world)
    assert run.play(lambda n: data.draw(st.integers(0, n - 1))) in (RunStatus.COMPLETED, RunStatus.BUDGET_EXHAUSTED)
    assert run.most_open[StepKind.READ_SOURCE] <= QUICK.parallel_reads
    assert run.view.usage.fetches <= QUICK.fetches


def test_stragglers_are_looked_at_when_their_wait_is_over() -> None:
    """A run that researches asks to be looked at again after each full wait without an ending."""
    view = RunView(RunKind.RESEARCH, RunStatus.RESEARCHING, QUICK, Usage(), iteration=1, quiet_s=4)
    assert wake_in_s(view) == QUICK.straggler_wait_s - 4
    assert wake_in_s(replace(view, quiet_s=QUICK.straggler_wait_s)) == QUICK.straggler_wait_s
    assert wake_in_s(replace(view, usage=Usage(elapsed_s=479))) == 1


@pytest.mark.parametrize("status", [RunStatus.AWAITING_PLAN_APPROVAL, RunStatus.PAUSED])
@pytest.mark.parametrize("kind", list(RunKind))
def test_a_run_that_waits_too_long_for_a_person_expires(kind: RunKind, status: RunStatus) -> None:
    """Past the limit it is cancelled with everything open; before it, and where nobody knows the limit, it waits."""
    view = RunView(kind, status, QUICK, Usage(), waited_s=100)
    assert (advance(view).status, wake_in_s(view)) == (None, 0.0)
    in_time = replace(view, wait_limit_s=101)
    assert (advance(in_time).status, wake_in_s(in_time)) == (None, 1)
    change = advance(replace(view, wait_limit_s=100))
    assert (change.status, change.reason, change.stop_reason) == (RunStatus.CANCELLED, "expired", "expired")
    assert change.cancel == frozenset(StepKind)


def test_a_page_that_needs_its_scripts_is_read_in_a_browser() -> None:
    """Read, found empty, read in a browser, parsed again, extracted: each once, and one source of the budget."""
    run = Simulation(World(scripted=lambda source: True))
    assert run.play() is RunStatus.COMPLETED
    subject = next(s.subject for s in run.view.steps if s.kind is StepKind.READ_IN_BROWSER)
    keys = [s.key for s in run.view.steps if s.subject == subject]
    assert keys == [
        f"read_source:{subject}",
        f"parse:{subject}",
        f"read_in_browser:{subject}",
        f"parse:{subject}:browser",
        f"extract:{subject}",
    ]
    reads = [s for s in run.view.steps if s.kind is StepKind.READ_SOURCE]
    assert run.view.usage.fetches == len(reads)


def test_a_browser_that_is_not_there_holds_nobody_up() -> None:
    """A page that no worker takes up is slow: after the straggler wait the run goes on without it."""
    world = World(
        scripted=lambda source: source.endswith("-0"),
        slow=lambda step: step.kind is StepKind.READ_IN_BROWSER,
    )
    run = Simulation(world)
    assert run.play() is RunStatus.COMPLETED
    left = [s.status for s in run.view.steps if s.kind is StepKind.READ_IN_BROWSER]
    assert left
    assert StepStatus.COMPLETED not in left
