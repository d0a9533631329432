"""What a model's limits and refusals do to a run: it ends with what there is, or it fails at once and says why."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.advance import advance
from shared.domain.budget import TIERS, Depth, Usage
from shared.domain.states import RunKind, RunStatus, StepKind, StepStatus
from shared.domain.view import RunView, StepView
from tests.support.simulation import Simulation, World

SECTIONS = ("s1", "s2")


@pytest.mark.parametrize("kind", [StepKind.DECIDE, StepKind.EXTRACT])
def test_a_limit_ends_research(kind: StepKind) -> None:
    """A step without room in the budget ends research by rule: the run goes on to its report."""
    run = Simulation(World(fails=lambda s: s.kind is kind, code="budget:output_tokens"))
    assert run.play() is RunStatus.COMPLETED
    assert run.view.stop_reason == "budget:output_tokens"
    assert not any(s.open for s in run.view.steps)


@pytest.mark.parametrize("kind", [StepKind.PLAN, StepKind.DECIDE, StepKind.EXTRACT, StepKind.WRITE_SECTION])
def test_a_refused_model_fails_the_run(kind: StepKind) -> None:
    """Wrong key, unknown model or no credit in any phase: the run stops there, with what it found kept."""
    run = Simulation(World(fails=lambda s: s.kind is kind, code="model:key"))
    assert run.play() is RunStatus.FAILED
    assert run.view.stop_reason == f"failed:{kind}"


REFUSALS = ("model:context", "model:rejected", "model:unavailable", "model:no_reply", "model:timeout")


@pytest.mark.parametrize("code", REFUSALS)
def test_one_text_that_the_provider_refuses_costs_one_source(code: str) -> None:
    """Too long, filtered, or failed over each time: the run completes with the others."""
    run = Simulation(World(candidates=3, fails=lambda s: s.key == "extract:q1-0", code=code))
    assert run.play() is RunStatus.COMPLETED
    assert run.view.stop_reason == "finished"


@pytest.mark.parametrize("code", REFUSALS)
def test_a_model_that_reads_no_text_fails_the_run(code: str) -> None:
    """All of several came back: it is the model, not a text, and a retry may work."""
    run = Simulation(World(candidates=3, fails=lambda s: s.kind is StepKind.EXTRACT, code=code))
    assert run.play() is RunStatus.FAILED
    assert run.view.stop_reason == "failed:extract"


@pytest.mark.parametrize("code", ["model_answer", *REFUSALS])
def test_a_decision_that_cannot_be_used_ends_research(code: str) -> None:
    """The run finishes with what is there, and says why it did not search on."""
    run = Simulation(World(candidates=3, fails=lambda s: s.kind is StepKind.DECIDE, code=code))
    assert run.play() in (RunStatus.COMPLETED, RunStatus.BUDGET_EXHAUSTED)
    assert run.view.stop_reason == "undecided"


def test_one_unreadable_answer_costs_one_source() -> None:
    """An extraction whose answer cannot be used is passed over; the run completes with the others."""
    run = Simulation(World(candidates=3, fails=lambda s: s.key == "extract:q1-0", code="model_answer"))
    assert run.play() is RunStatus.COMPLETED
    assert run.view.stop_reason == "finished"


def step(key: str, status: StepStatus = StepStatus.COMPLETED, **changes: Any) -> StepView:
    """Return a step of the synthesis."""
    kind, _, subject = key.partition(":")
    kinds = {"write": StepKind.WRITE_SECTION, "verify": StepKind.VERIFY, "outline": StepKind.OUTLINE}
    return StepView(key, kinds[kind], status, 1, subject or kind, **changes)


def synthesis(**changes: StepView) -> RunView:
    """Return a run whose sections are written and verified, some steps of it replaced."""
    steps = {"outline": step("outline", result={"sections": list(SECTIONS)})}
    for section in SECTIONS:
        steps |= {f"write_{section}": step(f"write:{section}"), f"verify_{section}": step(f"verify:{section}")}
    found = tuple(s for s in (steps | changes).values() if s is not None)
    limits = TIERS[Depth.QUICK]
    return RunView(RunKind.RESEARCH, RunStatus.SYNTHESIZING, limits, Usage(), 1, steps=found, stop_reason="finished")


def terminal(view: RunView) -> tuple[str | None, str]:
    """Return the stop reason and the terminal status of the assembly that comes next."""
    change = advance(view)
    [new] = change.steps
    assert new.kind is StepKind.ASSEMBLE
    return change.stop_reason, new.inputs["terminal_status"]


def test_a_whole_synthesis_is_completed() -> None:
    """Nothing was cut short."""
    assert terminal(synthesis()) == (None, "completed")


def test_a_section_without_room_is_left_out() -> None:
    """The report is partial, and names the limit; the other section stands."""
    cut = step("write:s2", StepStatus.FAILED, code="budget:model_calls")
    view = synthesis(write_s2=cut)
    view = replace(view, steps=tuple(s for s in view.steps if s.key != "verify:s2"))
    assert terminal(view) == ("budget:model_calls", "budget_exhausted")


def test_statements_that_no_verifier_judged_make_the_report_partial() -> None:
    """A verify step that stopped at a limit completes, and says so."""
    stopped = step("verify:s1", result={"stopped": "budget:verification_calls"})
    assert terminal(synthesis(verify_s1=stopped)) == ("budget:verification_calls", "budget_exhausted")


def test_a_broken_section_fails_the_run() -> None:
    """A failure that is no limit is a failure."""
    change = advance(synthesis(write_s2=step("write:s2", StepStatus.FAILED, error="Nonsense.", code="model_answer")))
    assert (change.status, change.error) == (RunStatus.FAILED, "Nonsense.")
