"""Derived values, formulas and proper names."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.synthesizer.gate.formula import FormulaError, evaluate
from services.synthesizer.gate.names import missing_names, proper_names
from services.synthesizer.gate.numbers import check_numbers
from shared.contracts.report import Derived, DerivedInput
from tests.factories.research import make_statement

EXCERPTS = {"ev_1": "They dredged 400 tonnes in 2020.", "ev_2": "They dredged 500 tonnes in 2021."}


def derived(value: float, formula: str, unit: str | None = "t", **changes: object) -> Derived:
    """Return a value derived from the two excerpts."""
    one = DerivedInput(name="a", value=400, unit="t", evidence_id="ev_1")
    two = DerivedInput(name="b", value=500, unit="t", evidence_id="ev_2")
    return Derived(value=value, unit=unit, formula=formula, inputs=changes.get("inputs", (one, two)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("They dredged 900 tonnes in all.", derived(900, "a + b")),
        ("The year brought 25 % more.", derived(25, "(b - a) / a", "percent")),
        ("The mean was 450 tonnes.", derived(450, "(a + b) / (a / a + a / a)")),
        ("It was 0.8 times as much.", derived(0.8, "a / b", None)),
        ("It was 1.3 times as much.", derived(1.3, "b / a", None)),
    ],
)
def test_a_declared_value_that_recomputes_passes(text: str, value: Derived) -> None:
    """A figure that stands in no excerpt passes when its formula gives it, rounded as it is stated."""
    outcome = check_numbers(make_statement("stm_1", text, EXCERPTS, derived=value), EXCERPTS)
    assert outcome.outcome == "pass", outcome.reasons


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("They dredged 901 tonnes in all.", derived(901, "a + b")),
        ("They dredged 900 tonnes in all.", None),
        ("They dredged 900 metres in all.", derived(900, "a + b")),
        ("They dredged 900 tonnes in all.", derived(900, "a + c")),
        ("They dredged 900 tonnes in all.", derived(900, "a + 500")),
        ("They dredged 900 tonnes in all.", derived(900, "__import__('os')")),
        ("They dredged 900 tonnes in all.", derived(900, "a / (a - a)")),
        ("They grew by 25 metres.", derived(25, "(b - a) / a", "percent")),
        ("They grew by 0.25 %.", derived(0.25, "(b - a) / a", "percent")),
        ("It is inf.", derived(float("inf"), "a + b")),
        (
            "They dredged 900 tonnes.",
            derived(900, "a + b", inputs=(DerivedInput(name="a", value=900, unit="t", evidence_id="ev_1"),)),
        ),
        (
            "They dredged 800 tonnes.",
            derived(800, "a + a", inputs=(DerivedInput(name="a", value=400, unit="km", evidence_id="ev_1"),)),
        ),
        (
            "They dredged 800 tonnes.",
            derived(800, "a + a", inputs=(DerivedInput(name="a", value=400, unit="t", evidence_id="ev_9"),)),
        ),
    ],
)
def test_a_value_that_does_not_follow_is_refused(text: str, value: Derived | None) -> None:
    """Undeclared, wrong, unreadable or ungrounded derivations fail."""
    assert check_numbers(make_statement("stm_1", text, EXCERPTS, derived=value), EXCERPTS).outcome == "fail"


@pytest.mark.parametrize(
    ("formula", "value"),
    [("a", 6), ("a + b * c", 14), ("(a + b) * c", 32), ("a - b - c", 0), ("a / b / c", "0.75"), ("((a))", 6)],
)
def test_formulas_bind_as_in_arithmetic(formula: str, value: int | str) -> None:
    """Products before sums, left before right, parentheses first."""
    assert evaluate(formula, {"a": Decimal(6), "b": Decimal(2), "c": Decimal(4)}) == Decimal(value)


@pytest.mark.parametrize("formula", ["", "a b", "a +", "(a", "a)", "()", "-a", "a ** b", "2", "a.b", "a[0]", "a" * 501])
def test_anything_else_is_no_formula(formula: str) -> None:
    """What is not a name, a sign or a parenthesis in its place is refused by name."""
    with pytest.raises(FormulaError):
        evaluate(formula, {"a": Decimal(1), "b": Decimal(2)})


@given(st.text(alphabet="ab+-*/() ", max_size=30))
def test_a_formula_gives_what_python_gives(formula: str) -> None:
    """Where the formula is read at all, it has the value that Python's grammar gives it."""
    values = {"a": Decimal(3), "b": Decimal(7)}
    try:
        value = evaluate(formula, values)
    except FormulaError:
        return
    assert abs(value - eval(formula.strip(), {}, values)) < Decimal("1e-20")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The lock was built by Corvanth Marine Works.", ("Corvanth", "Marine", "Works")),
        ("Boats came. Ships went.", ()),
        ("It was opened in March 2024 by NATO.", ("NATO",)),
        ("The IS1312 action and p53.", ("IS1312", "p53")),
        ("It carried 5 TEU for Sollander's crew.", ("Sollander",)),
        ("“Never again,” said Odile.", ("Odile",)),
    ],
)
def test_names_are_capitals_inside_sentences_and_codes(text: str, names: tuple[str, ...]) -> None:
    """Openings of sentences, stop words and parts of figures and dates are no names."""
    assert proper_names(text) == names


@pytest.mark.parametrize(
    ("statement", "span", "missing"),
    [
        ("It was built by Corvanth.", "CORVANTH built it.", ()),
        ("It was built by Corvanth.", "Meridew built it.", ("Corvanth",)),
        ("It lies in the Deep-Berth area.", "The Deep Berth is new.", ()),
        ("It belongs to the U.S. navy.", "The US navy has it.", ()),
        ("It was built by Corvanth.", "港口由公司建造。", ()),
        ("It was built by Corvanth.", "Построил Корвант.", ()),
    ],
)
def test_names_have_to_stand_in_a_span_of_their_script(statement: str, span: str, missing: tuple[str, ...]) -> None:
    """Case and hyphens do not matter; a source in another script cannot be compared."""
    assert missing_names(statement, (span,)) == missing
