"""General kinds of figures: powers and fractions, bounds, vaguer dates, ordinals, and figures in another's place."""

from decimal import Decimal

import pytest

from services.synthesizer.gate.figures import unmet_figures
from shared.domain.numbers import missing_quantities, quantities


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("10⁶ boats", "1000000", None),
        ("10^6 boats", "1000000", None),
        ("10^{6} boats", "1000000", None),
        ("4.5 × 10⁶ candles", "4500000", None),
        ("4.5 x 10^6 candles", "4500000", None),
        ("4.5·10⁻³ g", "0.0045", "g"),
        ("2^32 addresses", "4294967296", None),
        ("3½ litres", "3.5", "l"),
        ("3 1/2 litres", "3.5", "l"),
        ("3 ¹/₂ litres", "3.5", "l"),
        ("5 3/4 inches", "5.75", "inch"),
        ("1/2 mile", "0.5", "mi"),
        ("12 km² of sea", "12", "km2"),
        ("12 km^2 of sea", "12", "km2"),
        ("33 metres² above", "33", "m"),
        ("150⁴ ships", "150", None),
        ("built in 1821¹ of stone", "1821", None),
    ],
)
def test_powers_and_fractions_are_read_and_note_marks_are_not(text: str, value: str, unit: str | None) -> None:
    """One figure each; a raised digit is its exponent, its unit's, or no part of it."""
    (found,) = quantities(text)
    assert (found.value, found.unit) == (Decimal(value), unit)


@pytest.mark.parametrize("text", ["on 1/2/2020", "open 24/7", "the season 2019/20"])
def test_not_every_stroke_makes_a_fraction(text: str) -> None:
    """Dates and pairs stay what they were."""
    assert all(q.value == q.value.to_integral_value() for q in quantities(text))


@pytest.mark.parametrize(
    ("wanted", "span"),
    [
        ("in April 1866", "on 14 April 1866"),
        ("in April 1866", "from 14 to 15 April 1866"),
        ("on Saturday, 14 April 1866", "on 14 April 1866"),
        ("in summer 2021", "in July 2021"),
        ("in the autumn of 1990", "on 3 October 1990"),
        ("in the first half of 2020", "in Q2 2020"),
        ("H2 2020", "in the third quarter of 2020"),
        ("the 21st boat", "the twenty-first boat"),
        ("the fortieth boat", "the 40th boat"),
        ("4.5 million", "4.5 × 10⁶"),
        ("3.5 litres", "3 1/2 litres"),
    ],
)
def test_a_vaguer_or_other_spelling_is_met(wanted: str, span: str) -> None:
    """What is said more precisely is said."""
    assert missing_quantities(wanted, [span]) == ()


@pytest.mark.parametrize(
    ("wanted", "span"),
    [
        ("on 14 April 1866", "in April 1866"),
        ("on Monday, 14 April 1866", "on 14 April 1866"),
        ("in winter 2021", "in July 2021"),
        ("in winter 2021", "in summer 2021"),
        ("in the second half of 2020", "in March 2020"),
        ("the 22nd boat", "the twenty-first boat"),
        ("106 boats", "10⁶ boats"),
        ("31 litres", "3 1/2 litres"),
    ],
)
def test_a_finer_or_other_one_is_not(wanted: str, span: str) -> None:
    """Nothing is made more precise, and nothing is glued together."""
    assert missing_quantities(wanted, [span])


@pytest.mark.parametrize(
    ("statement", "span", "met"),
    [
        ("more than 1 million people", "1.8 million people", True),
        ("more than 1 million people", "0.9 million people", False),
        ("more than 1 million people", "at least 1.8 million people", True),
        ("more than 1 million people", "less than 1 million people", False),
        ("over 500 ships", "740 ships", True),
        ("1,000+ visitors", "1,450 visitors", True),
        ("5,000 or more men", "7,500 men", True),
        ("not less than 40 tonnes", "44 tonnes", True),
        ("fewer than 100 boats", "82 boats", True),
        ("fewer than 100 boats", "120 boats", False),
        ("no more than 50 km", "45 km", True),
        ("no more than 50 km", "55 km", False),
        ("more than $1 million", "€1.8 million", False),
    ],
)
def test_bounds_are_met_on_their_side_only(statement: str, span: str, met: bool) -> None:
    """A figure on the right side meets a bound, one that only rounds to it from the other side does not."""
    assert (unmet_figures(statement, (span,)) == ()) is met


def test_a_figure_in_the_place_of_another_is_told() -> None:
    """The price stands elsewhere in the span; between these words another one does."""
    span = "The bundle costs a fixed $100 monthly for teams.\nThe plain plan is $50 per user."
    (found,) = unmet_figures("The new bundle will cost a fixed $50 monthly for teams.", (span,))
    assert found.why == "stands in the place of another figure of the cited excerpts"
    assert unmet_figures("The new bundle will cost a fixed $100 monthly for teams.", (span,)) == ()
