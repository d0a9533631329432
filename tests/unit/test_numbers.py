"""Figures as values: reading them, and telling which of a statement stand in no span."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.numbers import Quantity, missing_quantities, quantities


def read(text: str) -> list[tuple[str, str | None, str]]:
    """Return value, unit and kind of each figure; of a date its ISO form instead of the value."""
    return [(q.date or f"{q.value:f}", q.unit, q.kind) for q in quantities(text)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234,567 boats", "1234567"),
        ("1 234 567 boats", "1234567"),
        ("1\u202f234\u202f567 boats", "1234567"),
        ("1.234.567 boats", "1234567"),
        ("1'234'567 boats", "1234567"),
        ("12,34,567 boats", "1234567"),
        ("1.234,56 boats", "1234.56"),
        ("75 000,50 boats", "75000.50"),
        ("1.234 boats", "1.234"),
        ("3,5 boats", "3.5"),
        ("0,123 boats", "0.123"),
        ("1.2 million boats", "1200000"),
        ("1.2-million boats", "1200000.0"),
        ("3k boats", "3000"),
        ("5bn boats", "5000000000"),
        ("2½ boats", "2.5"),
        ("-5 boats", "-5"),
        ("1e9 boats", "1000000000"),
        ("twenty-one boats", "21"),
        ("two hundred and five boats", "205"),
        ("three million two hundred thousand boats", "3200000"),
        ("a dozen boats", "12"),
        ("one boat", "1"),
        ("约120万人", "1200000"),
        ("１２３ boats", "123"),
    ],
)
def test_numbers_are_read_however_they_are_written(text: str, value: str) -> None:
    """Separators, magnitudes, words and digits of other scripts all give the same kind of value."""
    (found,) = quantities(text)
    assert (found.value, found.kind) == (Decimal(value), "number")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("412,600 cubic metres", [("412600", "m3", "number")]),
        ("5 m³ and 5 m3", [("5", "m3", "number"), ("5", "m3", "number")]),
        ("a 30-metre gate", [("30", "m", "number")]),
        ("23.6 meters", [("23.6", "m", "number")]),
        ("4,000 tonnes in 5 h", [("4000", "t", "number"), ("5", "h", "number")]),
        ("12 km/h and 3 m³/s", [("12", "km/h", "number"), ("3", "m3/s", "number")]),
        ("20 minutes per day", [("20", "min/day", "number")]),
        ("one hour", [("1", "h", "number")]),
        ("12 %, 5 per cent, 7 percent", [("12", None, "percent"), ("5", None, "percent"), ("7", None, "percent")]),
        ("3 percentage points", [("3", "pp", "number")]),
        ("£5m, USD 2.5 and 7 euros", [("5000000", "GBP", "money"), ("2.5", "USD", "money"), ("7", "EUR", "money")]),
        ("In 2020 USD 5 million", [("2020", None, "date"), ("5000000", "USD", "money")]),
        ("from 08:00 to 16:30", [("480", "clock", "number"), ("990", "clock", "number")]),
        ("one second after the second", [("1", "s", "number"), ("2", None, "ordinal")]),
        ("Q3 and the fourth quarter", [("--Q3", None, "date"), ("--Q4", None, "date")]),
        ("the second boat came 3rd", [("2", None, "ordinal"), ("3", None, "ordinal")]),
        ("10 m per second", [("10", "m/s", "number")]),
        ("release 3.11.2", [("3.11", "version", "number")]),
        ("v3.11.2, A4 and IS1312", []),
    ],
)
def test_units_kinds_and_identifiers(text: str, expected: list[tuple[str, str | None, str]]) -> None:
    """Units have one name each, percentages and money are kinds of their own, and identifiers are no figures."""
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5-10 km", ["5", "10"]),
        ("5–10 million", ["5000000", "10000000"]),
        ("$5–10 million", ["5000000", "10000000"]),
        ("between 5 and 10 km", ["5", "10"]),
        ("2.5 to 3.5 per cent", ["2.5", "3.5"]),
    ],
)
def test_both_ends_of_a_range_have_its_unit(text: str, expected: list[str]) -> None:
    """What is written once for a range holds for both of its ends."""
    found = quantities(text)
    assert [q.value for q in found] == [Decimal(value) for value in expected]
    assert len({(q.unit, q.kind) for q in found}) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-05", ["2024-03-05"]),
        ("5 March 2024", ["2024-03-05"]),
        ("March 5th, 2024", ["2024-03-05"]),
        ("the 5th of March 2024", ["2024-03-05"]),
        ("5 Mar. 2024", ["2024-03-05"]),
        ("05.03.2024", ["2024-03-05"]),
        ("25/03/2024", ["2024-03-25"]),
        ("2024年3月5日", ["2024-03-05"]),
        ("March 2024", ["2024-03"]),
        ("in 2024.", ["2024"]),
        ("on 5 March", ["--03-05"]),
        ("5 to 11 April 2021", ["2021-04-05", "2021-04-11"]),
        ("April 5–11, 2021", ["2021-04-05", "2021-04-11"]),
        ("2019–21", ["2019", "2021"]),
        ("2019-2021", ["2019", "2021"]),
        ("the 1990s, 1980's and 1800s", ["199X", "198X", "18XX"]),
        ("05/03/2024", [None]),
    ],
)
def test_dates_become_iso_at_their_precision(text: str, expected: list[str | None]) -> None:
    """Every common form of a date is read, none more precisely than it is written."""
    found = quantities(text)
    assert [q.date for q in found] == expected
    assert {q.kind for q in found} == {"date"}


@pytest.mark.parametrize(
    ("statement", "span"),
    [
        ("It cost 1.2 million.", "It cost 1,200,000."),
        ("It opened in 2024.", "It opened on 5 March 2024."),
        ("It opened in March 2024.", "It opened on 2024-03-05."),
        ("It opened on 5 March.", "It opened on 2024-03-05."),
        ("It was built in the 1990s.", "It was built in 1995."),
        ("In 2024 it opened.", "It opened on 05/03/2024."),
        ("It has 12 gates.", "It has twelve gates."),
        ("It is 5 metres deep.", "It is 5 m deep."),
        ("It has 5 metres.", "It is 5–10 m deep."),
        ("It came second.", "It came 2nd."),
        ("There were 1500 people.", "There were 1,500 people."),
        ("It is one of them.", "It is there."),
        ("It rose by 5 per cent.", "It rose by 5%."),
    ],
)
def test_a_figure_of_the_same_value_is_found(statement: str, span: str) -> None:
    """Another way of writing, and a more precise date, state the same figure."""
    assert missing_quantities(statement, (span,)) == ()


@pytest.mark.parametrize(
    ("statement", "span"),
    [
        ("It cost 1.2 million.", "It cost 1.2 billion."),
        ("It opened on 5 March 2024.", "It opened in March 2024."),
        ("It opened in March 2024.", "It opened in 2024."),
        ("It opened in 2024.", "It opened in the 2020s."),
        ("It opened on 4 September 2023.", "It opened on 17 April 2024."),
        ("It is 5 km long.", "It is 5 m long."),
        ("It is 5 km long.", "It has 5 gates."),
        ("It rose by 5 per cent.", "It rose by 5 metres."),
        ("It rose by 5 percentage points.", "It rose by 5 per cent."),
        ("It cost $5.", "It cost €5."),
        ("It came first.", "It came second."),
        ("It has one gate.", "It has two gates."),
        ("It is 3.11.2.", "It is 3.11.4."),
        ("It has 12 gates.", "It has 112 gates."),
        ("It fell to -5 °C.", "It rose to 5 °C."),
        ("It opened on 05/03/2024.", "It opened on 5 March 2024."),
    ],
)
def test_another_figure_is_missing(statement: str, span: str) -> None:
    """A different value, unit, kind or precision is no support."""
    assert missing_quantities(statement, (span,)) != ()


def test_any_of_the_spans_may_state_a_figure() -> None:
    """Figures may come from different spans, and those that stand in none are named."""
    missing = missing_quantities("It has 5 gates, 7 boats and 9 piers.", ("5 gates", "9 piers"))
    assert [q.text for q in missing] == ["7"]


WORDS = st.sampled_from(
    "5 10 2024 1,234 3.5 % km m3 to – - March May 5th $ € million k first second one two hundred and per day . , : / "
    "( ) the boats 1990s 05/03/2024 12:30 ½ 万 年 月 日 3 月".split(" ")
)
TEXTS = st.one_of(
    st.text(max_size=80), st.lists(WORDS, max_size=14).map(" ".join), st.lists(WORDS, max_size=9).map("".join)
)


@given(TEXTS)
def test_figures_stand_where_they_say(text: str) -> None:
    """Any text can be read; figures come in order, apart from each other, and carry their own words."""
    found = quantities(text)
    ends = [0, *(q.end for q in found)]
    assert all(end <= q.start < q.end for q, end in zip(found, ends, strict=False))
    assert all(q.text == text[q.start : q.end] for q in found)


@given(TEXTS, TEXTS, TEXTS)
def test_a_text_states_its_own_figures(before: str, text: str, after: str) -> None:
    """Nothing is missing from a span that holds the statement on lines of its own."""
    lines = [line for line in text.split("\n") if line]
    assert all(missing_quantities(line, ("\n".join((before, line, after)),)) == () for line in lines)


@given(st.integers(min_value=1000, max_value=10**15), st.sampled_from([",", " ", "\u00a0", "\u202f", "'"]))
def test_thousands_separators_do_not_matter(value: int, separator: str) -> None:
    """A whole number has its value with every usual separator."""
    (found,) = quantities(f"about {value:,} boats".replace(",", separator))
    assert found.value == value


@given(st.dates(min_value=date(1000, 1, 1), max_value=date(2999, 12, 31)))
def test_forms_of_a_date_agree(day: date) -> None:
    """Every form of one day states the others, its month and its year; none of those states the day."""
    months = "January February March April May June July August September October November December".split()
    month = months[day.month - 1]
    forms = (day.isoformat(), f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}")
    assert all(missing_quantities(one, (two,)) == () for one in forms for two in forms)
    assert missing_quantities(f"{month} {day.year}", (forms[0],)) == ()
    assert missing_quantities(forms[1], (f"{month} {day.year}",)) != ()


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_different_numbers_differ(one: int, two: int) -> None:
    """A number is found in a text exactly when it is the one that stands there."""
    missing = missing_quantities(f"It has {one:,} gates.", (f"It has {two:,} gates.",))
    assert (missing == ()) is (one == two)


def test_a_quantity_is_a_value() -> None:
    """Quantities compare by what they hold."""
    assert quantities("5 km") == (Quantity(Decimal(5), "km", "number", "5 km", 0, 4),)
