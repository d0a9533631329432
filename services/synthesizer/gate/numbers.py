"""Second check: every figure, date, proper name and quotation of a statement stands in what it cites, or recomputes."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from services.synthesizer.gate.codes import misplaced_codes
from services.synthesizer.gate.context import Check
from services.synthesizer.gate.figures import unmet_figures
from services.synthesizer.gate.formula import FormulaError, evaluate
from services.synthesizer.gate.lines import sentence_lines
from services.synthesizer.gate.names import missing_names
from services.synthesizer.gate.quotes import misquoted
from shared.contracts.report import Derived, DerivedInput, Statement
from shared.domain.numbers import Quantity, quantities

_PERCENT = frozenset({"%", "percent", "per cent"})


def check_numbers(statement: Statement, excerpts: Mapping[str, str]) -> Check:
    """Check the figures, names and derived value of a statement against the excerpts that it cites, by evidence id."""
    spans = {evidence_id: sentence_lines(excerpt) for evidence_id, excerpt in excerpts.items()}
    text = sentence_lines(statement.text)
    derived = statement.derived
    reasons = list(_derived_faults(derived, spans)) if derived else []
    reasons += (
        f"“{unmet.quantity.text}” {unmet.why}"
        for unmet in unmet_figures(text, tuple(spans.values()))
        if derived is None or not _is_derived(unmet.quantity, derived)
    )
    reasons += (f"the name “{n}” stands in none of the cited excerpts" for n in missing_names(text, spans.values()))
    reasons += (f"“{c}” does not stand so in the cited excerpts" for c in misplaced_codes(text, spans.values()))
    reasons += (f"“{q}” is quoted and stands so in none of the cited excerpts" for q in misquoted(text, spans.values()))
    return Check("fail", tuple(reasons)) if reasons else Check("pass")


def _is_derived(quantity: Quantity, derived: Derived) -> bool:
    """Tell whether a figure of the statement is the one that was declared as derived."""
    return quantity.value == _decimal(derived.value) and _has_unit(quantity, derived.unit)


def _has_unit(quantity: Quantity, unit: str | None) -> bool:
    if unit is None:
        return quantity.kind != "percent"
    return quantity.kind == "percent" if unit in _PERCENT else unit == quantity.unit


def _derived_faults(derived: Derived, spans: Mapping[str, str]) -> Iterable[str]:
    """Yield why a derived value does not recompute from figures that stand in the excerpts."""
    for given in derived.inputs:
        if not _stands(given, spans):
            yield f"the input {given.name} = {given.value} does not stand in {given.evidence_id}"
    try:
        result = evaluate(derived.formula, {i.name: _decimal(i.value) for i in derived.inputs})
    except FormulaError as error:
        yield str(error)
        return
    if not _rounds_to(result * 100 if derived.unit in _PERCENT else result, _decimal(derived.value)):
        yield f"the formula {derived.formula} does not give {derived.value}"


def _stands(given: DerivedInput, spans: Mapping[str, str]) -> bool:
    found = quantities(spans.get(given.evidence_id, ""))
    return any(q.value == _decimal(given.value) and (given.unit is None or _has_unit(q, given.unit)) for q in found)


def _rounds_to(result: Decimal, stated: Decimal) -> bool:
    """Tell whether the stated value is the result, rounded to the stated decimals; a ratio is stated in per cent."""
    if not (result.is_finite() and stated.is_finite()):
        return False
    exponent = stated.as_tuple().exponent
    last = Decimal(1).scaleb(min(int(exponent), 0))
    return abs(result - stated) <= last / 2


def _decimal(value: float) -> Decimal:
    """Return the shortest decimal that reads as this float; 1200.0 is 1200."""
    exact = Decimal(repr(value))
    return exact.to_integral_value() if exact.is_finite() and exact == exact.to_integral_value() else exact
