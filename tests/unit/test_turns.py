"""Whose turn it is at something scarce."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.ids import OwnerId, RunId, StepId
from shared.domain.turns import HALF_LIFE_S, PATIENCE, Shares, Waiting, in_turn

LONG_S = 20.0


def waiting(owner: int, run: int, step: int) -> Waiting:
    """Return a step that waits."""
    return Waiting(StepId(f"stp_{step:04}"), RunId(f"run_{owner}_{run}"), OwnerId(f"own_{owner}"))


def test_who_has_had_least_comes_first() -> None:
    """By owner, then by run, then by age."""
    shares = Shares().had(OwnerId("own_1"), RunId("run_1_1"), 9.0).had(OwnerId("own_2"), RunId("run_2_1"), 3.0)
    line = [waiting(1, 1, 1), waiting(1, 2, 2), waiting(2, 1, 3), waiting(3, 1, 4), waiting(3, 1, 5)]
    assert [int(w.step_id[4:]) for w in in_turn(line, shares)] == [4, 5, 3, 2, 1]


def test_a_large_text_gives_way_for_a_while() -> None:
    """To small ones of its owner; in the end it is the oldest, and to another owner's nothing changes."""
    large = replace(waiting(1, 1, 1), size=10_000_000)
    line = [large, waiting(1, 2, 2), waiting(1, 3, 3)]
    assert in_turn(line, Shares())[-1] == large
    assert in_turn([replace(large, waited_s=20.0 * PATIENCE), *line[1:]], Shares())[0].step_id == large.step_id
    had = Shares().had(OwnerId("own_2"), RunId("run_2_1"), 9.0)
    assert in_turn([waiting(2, 2, 4), large], had)[0] == large


def test_what_was_long_ago_does_not_count() -> None:
    """Half of it is forgotten in a minute, all of it in the end."""
    shares = Shares().had(OwnerId("own_1"), RunId("run_1_1"), 8.0)
    assert shares.after(HALF_LIFE_S).of_owner == {"own_1": 4.0}
    assert shares.after(20 * HALF_LIFE_S) == Shares()
    assert shares.had(OwnerId("own_1"), RunId("run_1_1"), -9.0).of_owner == {"own_1": 0.0}


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3), st.floats(0, 60)), max_size=30))
def test_everybody_who_waits_is_listed_once(had: list[tuple[int, int, float]]) -> None:
    """The order is of those who wait, whoever has had what."""
    shares = Shares()
    for owner, run, seconds in had:
        shares = shares.had(OwnerId(f"own_{owner}"), RunId(f"run_{owner}_{run}"), seconds)
    line = [waiting(owner, run, 10 * owner + run) for owner in range(1, 6) for run in range(1, 4)]
    order = in_turn(line, shares)
    assert sorted(order, key=lambda w: w.step_id) == line
    had_of = [shares.of_owner.get(w.owner_id, 0.0) for w in order]
    assert had_of == sorted(had_of)


@given(st.lists(st.floats(0.01, LONG_S), min_size=1, max_size=12), st.integers(1, 8))
def test_nobody_waits_for_more_than_one_long_step_of_another_owner(long: list[float], short: int) -> None:
    """However many long steps one owner has in the line, a newcomer's first step is next."""
    shares, line = Shares(), [waiting(1, 1, n) for n in range(len(long))]
    for seconds in long:
        first = in_turn(line, shares)[0]
        line.remove(first)
        shares = shares.had(first.owner_id, first.run_id, seconds)
        newcomers = [waiting(2, n, 1000 + n) for n in range(short)]
        assert in_turn([*line, *newcomers], shares)[0].owner_id == "own_2"
