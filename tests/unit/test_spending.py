"""The rules of model budgets: worst cases, what fits, and what research leaves to synthesis."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.budget import TIERS, Depth
from shared.domain.spending import SPEND_LIMITS, NoRoom, Spend, allowance, room, worst_case

LIMITS = replace(TIERS[Depth.QUICK], model_calls=10, verification_calls=5, input_tokens=1000, output_tokens=100)
SPENDS = st.builds(Spend, st.integers(0, 12), st.integers(0, 6), st.integers(0, 1200), st.integers(0, 120))


def test_the_worst_case_bounds_the_input_by_its_bytes() -> None:
    """Two bytes a token and a little for each message; a verification counts as such."""
    assert worst_case(["abcd", "é"], 50, verifies=False) == Spend(1, 0, 2 + 16 + 1 + 16, 50)
    assert worst_case(["abc"], 7, verifies=True) == Spend(0, 1, 2 + 16, 7)


@pytest.mark.parametrize(
    ("settled", "under_way", "wanted", "expected"),
    [
        (Spend(9), Spend(), Spend(1), None),
        (Spend(10), Spend(), Spend(1), NoRoom("model_calls", 10, for_now=False)),
        (Spend(9), Spend(1), Spend(1), NoRoom("model_calls", 10, for_now=True)),
        (Spend(0, 5), Spend(), Spend(1), None),
        (Spend(0, 5), Spend(), Spend(0, 1), NoRoom("verification_calls", 5, for_now=False)),
        (Spend(output_tokens=60), Spend(output_tokens=30), Spend(1, 0, 0, 20), NoRoom("output_tokens", 100, True)),
        (Spend(input_tokens=1500), Spend(), Spend(1, 0, 1), NoRoom("input_tokens", 1000, for_now=False)),
    ],
)
def test_what_fits(settled: Spend, under_way: Spend, wanted: Spend, expected: NoRoom | None) -> None:
    """Settled use refuses for good, calls under way only for now; an overrun stops the next call."""
    assert room(LIMITS, settled, under_way, wanted, research=False) == expected


def test_research_leaves_a_share() -> None:
    """A quarter of the calls and more of the tokens are kept for writing, nothing of the verifications."""
    assert [allowance(LIMITS, name, research=True) for name in SPEND_LIMITS] == [8, 5, 700, 60, math.inf]
    capped = replace(LIMITS, cost_usd=2.0)
    assert allowance(capped, "cost_usd", research=True) == pytest.approx(1.3)
    assert room(LIMITS, Spend(8), Spend(), Spend(1), research=True) == NoRoom("model_calls", 8, for_now=False)
    assert room(LIMITS, Spend(8), Spend(), Spend(1), research=False) is None


@given(SPENDS, SPENDS, SPENDS, st.booleans())
def test_what_is_let_through_stays_within_every_limit(
    settled: Spend, under_way: Spend, wanted: Spend, research: bool
) -> None:
    """After a call that fits, no limit that it uses is passed."""
    if room(LIMITS, settled, under_way, wanted, research=research) is None:
        total = settled + under_way + wanted
        for name in SPEND_LIMITS:
            most = getattr(LIMITS, name)
            assert not getattr(wanted, name) or most is None or getattr(total, name) <= most
