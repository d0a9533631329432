"""Support of statements in other words: the score, what forbids emission, and the figures in their context."""

from decimal import Decimal
from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.synthesizer.gate import weights
from services.synthesizer.gate.alignment import EMIT, HALF, assess
from services.synthesizer.gate.figures import unmet_figures
from shared.domain.conversion import converted
from shared.domain.partial_dates import covers

SOURCE = (
    "The storm barrier at Meridew was closed for nine hours on 4 November 2021. Engineers of Corvanth increased its "
    "height by two metres, and no ship was allowed to pass the gate during the works."
)


def unmet(statement: str, *spans: str, as_of: str | None = None) -> list[str]:
    """Return the words of the figures that the spans do not bear out."""
    return [u.quantity.text for u in unmet_figures(statement, spans, as_of)]


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=3))
def test_any_texts_have_a_score(statement: str, spans: list[str]) -> None:
    """The score lies between 0 and 1, and is the same when it is computed again."""
    one = assess(statement, spans)
    assert 0 <= one.score <= 1
    assert isfinite(one.score)
    assert assess(statement, spans) == one


def test_weights_name_the_features() -> None:
    """Every feature has a weight, and the thresholds are in order."""
    assert {name for name, *_ in weights.WEIGHTS} == set(assess("It is so.", [SOURCE]).features)
    assert HALF < EMIT < 1


def test_a_close_paraphrase_scores_above_another_matter() -> None:
    """More of the words held means a higher score."""
    close = assess("On 4 November 2021 the storm barrier at Meridew was closed for nine hours.", [SOURCE])
    far = assess("A lighthouse on the northern cliff was painted in bright colours.", [SOURCE])
    assert close.score > HALF > far.score
    assert close.clean


@pytest.mark.parametrize(
    "statement",
    [
        "Engineers of Corvanth decreased the height of the storm barrier at Meridew.",
        "The storm barrier at Meridew was not closed on 4 November 2021.",
        "The storm barrier at Meridew was closed for eight hours on 4 November 2021.",
        "The storm barrier at Sollander was closed for nine hours on 4 November 2021.",
        "The storm barrier at Meridew was closed for nine hours. The sea is dry.",
    ],
)
def test_one_wrong_turn_forbids_emission(statement: str) -> None:
    """An opposite, a denial, another figure or name and a foreign sentence are refused, however close the rest."""
    assert not assess(statement, [SOURCE]).emitted


@pytest.mark.parametrize(
    ("statement", "span"),
    [
        ("It drew more than 900 visitors.", "It drew 943 visitors."),
        ("It drew about 1,000 visitors.", "It drew 1,020 visitors."),
        ("The lock was not built in 2018.", "The lock was built of stone in 2014."),
        ("It is 10 km long.", "It is 6.2 miles long."),
        ("It opened in March.", "It opened on 5 March 2024."),
        ("It fell in the third quarter of 2021.", "It fell in Q3 2021."),
        ("It opened on a Tuesday.", "It opened on 5 March 2024."),
        ("It was born in the fifties.", "It was born in 1957."),
        ("About 92 % were content.", "Content were 91.7 %."),
        ("It has COVID-19 wards.", "It has corona wards."),
    ],
)
def test_figures_that_mean_the_same_are_met(statement: str, span: str) -> None:
    """Bounds, rounding, other units and vaguer dates hold where the span bears them out."""
    assert unmet(statement, span) == []


@pytest.mark.parametrize(
    ("statement", "span"),
    [
        ("It drew more than 900 visitors.", "It drew more than 700 visitors."),
        ("It drew more than 900 visitors.", "It drew 843 visitors."),
        ("It drew about 1,000 visitors.", "It drew 1,200 visitors."),
        ("It was built in 2018.", "It was not built in 2018."),
        ("It was not built in 2018.", "It was built in 2018."),
        ("It is 10 km long.", "It is 10 miles long."),
        ("It opened in October.", "It opened on 5 March 2024."),
        ("It fell in Q4 2020.", "It fell in the third quarter of 2020 and the fourth quarter of 2019."),
        ("It opened on a Friday.", "It opened on 5 March 2024."),
        ("It lies in two cities.", "It lies in three cities. It took two years."),
        ("They won the match 3-1 at home.", "They won the match 2-1 at home. The next ended 3-3."),
    ],
)
def test_figures_that_mean_something_else_are_not_met(statement: str, span: str) -> None:
    """The right digits in the wrong place do not count."""
    assert unmet(statement, "\n".join(span.split(". "))) != []


def test_relative_dates_need_a_day() -> None:
    """Without the day they are told from, they are not read."""
    assert unmet("It opened in 2021.", "It opened three years ago.", as_of="2024-03-05") == []
    assert unmet("It opened in 2021.", "It opened three years ago.") == ["2021"]
    assert unmet("It opened on 4 March 2024.", "It opened yesterday.", as_of="2024-03-05") == []


@given(st.dates())
def test_a_day_covers_all_that_it_lies_in(day: object) -> None:
    """Its month, quarter, weekday and itself; another month it does not."""
    iso = str(day)
    year, month = iso[:4], int(iso[5:7])
    assert all(
        covers(iso, v) for v in (iso, iso[:7], year, f"--{month:02}", f"{year}-Q{(month + 2) // 3}", iso[:2] + "XX")
    )
    assert not covers(iso, f"--{month % 12 + 1:02}")
    assert not covers(year, iso)


@given(st.integers(1, 10**6), st.sampled_from([("km", "mi"), ("kg", "lb"), ("°C", "°F"), ("h", "min"), ("ha", "acre")]))
def test_converting_there_and_back_changes_nothing(value: int, units: tuple[str, str]) -> None:
    """Factors belong together."""
    one, two = units
    there = converted(Decimal(value), one, two)
    assert there is not None
    back = converted(there, two, one)
    assert back is not None
    assert abs(back - value) < 1
    assert converted(there, two, "USD") is None
