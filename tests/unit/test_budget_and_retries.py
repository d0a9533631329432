"""Limits of a run, decisions about failed tries, ids, the lifecycle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.budget import OPERATOR_MAXIMA, TIERS, Depth, limits_for
from shared.domain.errors import (
    IllegalTransition,
    Invalid,
    LimitExceeded,
    NoPlace,
    Permanent,
    PutOff,
    RateLimited,
    SlowSite,
    Transient,
)
from shared.domain.ids import digest_id, spell_id
from shared.domain.retries import Caps, GiveUp, Retry, Tries, decide_interrupted, decide_retry
from shared.domain.states import FINAL_RUN, Action, RunStatus, allowed_actions, move
from shared.ports.cpu import CpuBusy, CpuClosed


def test_limits_come_from_the_tier_and_may_be_changed() -> None:
    """A request lowers a limit freely and raises it up to the operator's maximum."""
    assert limits_for(Depth.QUICK, {}) == TIERS[Depth.QUICK]
    assert limits_for(Depth.QUICK, {"searches": 1}).searches == 1
    assert limits_for(Depth.QUICK, {"fetches": OPERATOR_MAXIMA.fetches}).fetches == OPERATOR_MAXIMA.fetches


@pytest.mark.parametrize("asked", [{"searches": 0}, {"searches": 999}, {"dollars": 1}])
def test_impossible_limits_are_refused(asked: dict[str, int]) -> None:
    """A limit below one, over the maximum or unknown names its field."""
    with pytest.raises(Invalid) as refused:
        limits_for(Depth.QUICK, asked)
    assert (refused.value.field or "").startswith("budget.")


@given(st.integers(1, 2))
def test_transient_errors_back_off(errors: int) -> None:
    """Each further try waits twice as long."""
    assert decide_retry(Transient("x", "y"), Tries(errors, 0), Caps()) == Retry(2.0 ** (errors - 1))


def test_what_is_given_up() -> None:
    """Permanent errors at once, others at their cap, an interrupted step at its own."""
    assert decide_retry(Permanent("no", "Never."), Tries(1, 0), Caps()) == GiveUp("no", "Never.")
    assert decide_retry(LimitExceeded("cpu", "Too long."), Tries(1, 0), Caps()) == GiveUp("cpu", "Too long.")
    assert decide_retry(ValueError("oops"), Tries(3, 0), Caps()) == GiveUp("bug", "ValueError: oops")
    assert isinstance(decide_interrupted(Tries(0, 5), Caps()), GiveUp)
    assert decide_interrupted(Tries(9, 4), Caps()) == Retry(0.0)


@given(st.floats(0, 10_000))
def test_a_rate_limit_is_a_bounded_postponement(after: float) -> None:
    """It waits as long as asked, but between one second and ten minutes, and costs no try."""
    decision = decide_retry(RateLimited("429", "Slow.", after), Tries(3, 0), Caps())
    assert decision == Retry(min(max(after, 1.0), 600.0), counts=False)


@given(st.floats(0, 10_000))
def test_our_own_schedule_may_call_a_step_back_sooner(after: float) -> None:
    """A busy site is nobody's request for a rest."""
    decision = decide_retry(PutOff("site_busy", "Busy.", after), Tries(3, 0), Caps())
    assert decision == Retry(min(max(after, 0.2), 600.0), counts=False, ours=True)
    asked = decide_retry(SlowSite("site_busy", "Busy.", after), Tries(3, 0), Caps())
    assert asked == Retry(min(max(after, 0.2), 600.0), counts=False)


@pytest.mark.parametrize("error", [CpuBusy(), CpuClosed(), NoPlace("browser_busy", "It reads another page.", 2)])
@pytest.mark.parametrize("tries", [Tries(1, 0), Tries(3, 0), Tries(90, 90)])
def test_a_put_off_for_want_of_a_place_is_no_try(error: NoPlace, tries: Tries) -> None:
    """However often it happens, the step comes back, and how slow its source is stands open."""
    decision = decide_retry(error, tries, Caps())
    assert isinstance(decision, Retry)
    assert (decision.counts, decision.ours) == (False, True)


@given(st.integers(0, 2**48 - 2), st.binary(min_size=10, max_size=10), st.binary(min_size=10, max_size=10))
def test_ids_sort_by_time(millis: int, one: bytes, other: bytes) -> None:
    """A later millisecond sorts later, whatever the random part."""
    assert spell_id("run", millis, one) < spell_id("run", millis + 1, other)


def test_digest_ids_tell_parts_apart() -> None:
    """The same parts give the same id; moved boundaries another."""
    assert digest_id("x", "a", "b") == digest_id("x", "a", "b")
    assert digest_id("x", "ab", "") != digest_id("x", "a", "b")
    assert len(digest_id("x", "a")) == len("x_") + 26


def test_final_statuses_lead_nowhere() -> None:
    """An ended run does not go on by itself; only a failed or exhausted one can be reopened."""
    for status in FINAL_RUN:
        for after in (RunStatus.RESEARCHING, RunStatus.CANCELLED, RunStatus.PAUSED):
            with pytest.raises(IllegalTransition):
                move(status, after)
    assert allowed_actions(RunStatus.COMPLETED) == allowed_actions(RunStatus.CANCELLED) == ()
    assert allowed_actions(RunStatus.FAILED) == (Action.RETRY,)
    assert move(RunStatus.FAILED, RunStatus.QUEUED) is RunStatus.QUEUED
