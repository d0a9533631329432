"""The rules about a provider's job: when it is looked at, what the run does meanwhile, and what its clock does."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.deps import Configured
from services.gateway.rules import check_job_cost, engine_for
from services.planner.prompts.managed import job_input
from shared.config.settings import Settings
from shared.contracts.runs import Published, SourcePolicy, WebPolicy
from shared.domain.advance import advance, wake_in_s
from shared.domain.budget import TIERS, Depth, Usage
from shared.domain.engines import MANAGED
from shared.domain.errors import Held, Invalid, Unconfirmed
from shared.domain.managed import POLL_FAILURES, failure_delay_s, is_handle, poll_delay_s
from shared.domain.managed_moves import clock_runs
from shared.domain.moves import Advance
from shared.domain.retries import Caps, GiveUp, Hold, Tries, decide_retry
from shared.domain.states import RunKind, RunStatus, StepKind, StepStatus
from shared.domain.view import Candidate, Knowledge, PlanView, QuestionView, RunView, StepView
from tests.factories.research import make_plan

QUICK = TIERS[Depth.QUICK]


def view(*steps: StepView, **changes: object) -> RunView:
    """Return a managed run that researches."""
    plan = PlanView((QuestionView("q1", "How deep?", True),), ())
    made = RunView(RunKind.RESEARCH, RunStatus.RESEARCHING, QUICK, Usage(), iteration=1, plan=plan, managed=True)
    return replace(made, steps=steps, **changes)  # type: ignore[arg-type]


def step(kind: StepKind, status: StepStatus = StepStatus.COMPLETED, subject: str = "x", **more: object) -> StepView:
    """Return a step of the first iteration."""
    key = "managed" if kind is StepKind.MANAGED else f"{kind}:{subject}"
    return StepView(key, kind, status, 1, subject, **more)  # type: ignore[arg-type]


def cited(count: int) -> tuple[Candidate, ...]:
    """Return sources that the report cites, the most cited first."""
    return tuple(Candidate(f"src_{n}", "managed", n) for n in range(count))


@given(st.integers(0, 10_000))
def test_looks_come_ever_later_but_never_too_late(polls: int) -> None:
    """From 2 s to 30 s; after failures from 5 s, and longer than a short outage in all."""
    assert 2.0 <= poll_delay_s(polls) <= poll_delay_s(polls + 1) <= 30.0
    waits = [failure_delay_s(n) for n in range(1, POLL_FAILURES)]
    assert waits == sorted(waits)
    assert sum(waits) > 180


@given(st.text(max_size=40))
def test_a_handle_is_one_part_of_an_address(text: str) -> None:
    """Whatever is taken for a handle cannot leave its place in a path."""
    if is_handle(text):
        assert not set(text) & set("/?#%\\ :@\n")
        assert text not in (".", "..")


def test_the_job_comes_first_and_alone() -> None:
    """One step, nothing beside it, and time alone changes nothing while it is open."""
    asked = advance(view())
    assert [(s.kind, s.key) for s in asked.steps] == [(StepKind.MANAGED, "managed")]
    waiting = view(step(StepKind.MANAGED, StepStatus.PENDING))
    assert advance(waiting) == Advance()
    assert wake_in_s(waiting) is None


def test_the_clock_stands_still_while_the_provider_works() -> None:
    """From the moment its step is there to the moment it has ended; other runs are not touched."""
    assert not clock_runs(view(), advance(view()))
    assert not clock_runs(view(step(StepKind.MANAGED, StepStatus.RUNNING)), Advance())
    assert clock_runs(view(step(StepKind.MANAGED)), Advance())
    assert clock_runs(replace(view(step(StepKind.MANAGED, StepStatus.RUNNING)), managed=False), Advance())
    assert not clock_runs(view(status=RunStatus.PAUSED), Advance())


def test_cited_pages_are_read_within_the_limits() -> None:
    """As many at once and in all as the tier allows, the most cited first; what is left out is the stop reason."""
    first = advance(view(step(StepKind.MANAGED), candidates=cited(20)))
    assert [s.subject for s in first.steps] == [f"src_{n}" for n in range(QUICK.parallel_reads)]
    read = [step(StepKind.READ_SOURCE, subject=f"src_{n}") for n in range(QUICK.fetches)]
    used = Usage(fetches=QUICK.fetches)
    done = advance(view(step(StepKind.MANAGED), *read, candidates=cited(20), usage=used))
    assert (done.status, done.stop_reason) == (RunStatus.SYNTHESIZING, "budget:fetches")


def test_what_was_read_is_parsed_and_extracted() -> None:
    """The cited pages go the way of any source."""
    read = step(StepKind.READ_SOURCE, subject="src_0", result={"next": {"source_id": "src_0"}})
    [follows] = advance(view(step(StepKind.MANAGED), read, candidates=cited(1))).steps
    assert (follows.kind, follows.subject) == (StepKind.PARSE, "src_0")


@pytest.mark.parametrize(("covered", "reason"), [({"q1"}, "finished"), (set(), "no_new_information")])
def test_writing_begins_when_every_page_has_been_read(covered: set[str], reason: str) -> None:
    """The finish gate is the same as ever."""
    ended = view(step(StepKind.MANAGED), knowledge=Knowledge(covered=frozenset(covered)))
    assert (advance(ended).status, advance(ended).stop_reason) == (RunStatus.SYNTHESIZING, reason)


def test_a_slow_page_is_waited_for_and_then_left() -> None:
    """As in any iteration: not while it waits for a place, nor as long as it is all that there may be."""
    wait = float(QUICK.straggler_wait_s)
    slow = step(StepKind.READ_SOURCE, StepStatus.RUNNING, "src_0", worked_s=wait)
    reading = view(step(StepKind.MANAGED), slow, candidates=cited(1), knowledge=Knowledge(evidence=1))
    assert advance(reading) == Advance()
    late = replace(reading, quiet_s=wait)
    assert advance(late).status is RunStatus.SYNTHESIZING
    assert advance(replace(late, steps=(late.steps[0], replace(slow, worked_s=0.0)))) == Advance()
    assert advance(replace(late, knowledge=Knowledge())) == Advance()


def test_a_job_that_failed_fails_the_run_and_one_over_budget_ends_it() -> None:
    """A failure can be tried again; a limit names itself and what it left no room for."""
    failed = step(StepKind.MANAGED, StepStatus.FAILED, error="It gave up.", code="model:job_failed")
    assert advance(view(failed)).stop_reason == "failed:managed"
    over = step(StepKind.MANAGED, StepStatus.FAILED, error="No room.", code="budget:cost_usd")
    ended = advance(view(over))
    assert (ended.status, ended.stop_reason, ended.error) == (RunStatus.SYNTHESIZING, "budget:cost_usd", "No room.")


def test_what_holds_a_run_is_no_failure_of_its_step() -> None:
    """A pause costs no try; a job without a handle is given up at once."""
    tries, caps = Tries(3, 0), Caps()
    assert decide_retry(Held("provider", "c", "Do this."), tries, caps) == Hold("provider", "Do this.")
    assert isinstance(decide_retry(Unconfirmed("google"), Tries(1, 0), caps), GiveUp)


def test_a_managed_engine_needs_the_key_of_its_provider() -> None:
    """It is never picked by itself; without a key the refusal names the setting."""
    assert engine_for("managed:google", has_model=False, managed={"managed:google"}) == "managed:google"
    assert engine_for("auto", has_model=False, managed=MANAGED) == "extractive"
    for engine, setting in (("managed:google", "GEMINI_API_KEY"), ("managed:openai", "OPENAI_API_KEY")):
        with pytest.raises(Invalid, match=setting):
            engine_for(engine, has_model=True)


def test_a_limit_on_cost_has_to_hold_the_worst_case() -> None:
    """The refusal says how much a job may cost, and how much is enough."""
    check_job_cost(None, 4.0, "budget.cost_usd")
    check_job_cost(1.0, None, "budget.cost_usd")
    check_job_cost(6.16, 4.0, "budget.cost_usd")
    with pytest.raises(Invalid, match=r"up to \$4\.00.*at least \$6\.15"):
        check_job_cost(6.0, 4.0, "budget.cost_usd")


def test_what_has_no_price_is_named() -> None:
    """A job without one, and the models that check its sentences."""
    managed = {"managed:google": "an-agent", "managed:openai": "another"}
    configured = Configured(unpriced=("m",), managed=managed, job_costs={"managed:openai": 4.0})
    assert configured.unpriced_of("managed:google") == ("an-agent", "m")
    assert configured.unpriced_of("managed:openai") == ("m",)
    assert configured.unpriced_of("llm") == ("m",)


def test_a_key_alone_makes_an_engine_available() -> None:
    """What researches is a setting with a default."""
    assert Settings(_env_file=None, google_api_key=None, openai_api_key=None).managed_engines() == {}
    one = Settings(_env_file=None, google_api_key="k", openai_api_key=None, managed_google="an-agent")  # type: ignore[arg-type]
    assert one.managed_engines() == {"managed:google": "an-agent"}


def test_the_job_is_told_the_rules_of_the_run() -> None:
    """Questions, date, language and policy; the same run asks in the same words."""
    plan = make_plan("How deep?", "What did it cost?")
    policy = SourcePolicy(
        web=WebPolicy(mode="only_domains", domains=("port.test",), excluded_domains=("bad.test",)),
        published=Published.model_validate({"from": "2020", "to": "2022"}),
    )
    asked = job_input(plan, policy, today="2026-01-02", as_of="2022", language="no")
    assert asked == job_input(plan, policy, today="2026-01-02", as_of="2022", language="no")
    for part in ("- How deep?", "- What did it cost?", "2026-01-02", "as of 2022", "language no", "port.test"):
        assert part in asked
    for part in ("no page of these domains: bad.test", "before 2020", "after 2022"):
        assert part in asked
