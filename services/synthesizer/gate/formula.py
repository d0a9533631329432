"""Formulas of derived values: + - * / and parentheses over named inputs, evaluated without `eval`."""

import re
from collections.abc import Iterator, Mapping
from decimal import Context, Decimal, DecimalException

MAX_FORMULA_CHARS = 500
_PRECISION = 50
_TOKEN = re.compile(r"\s*(?:(?P<name>[^\W\d]\w*)|(?P<sign>[-+*/()])|(?P<end>\Z)|(?P<other>.))", re.DOTALL)
_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2}


class FormulaError(ValueError):
    """A formula that cannot be read or computed; the message says why."""


def evaluate(formula: str, inputs: Mapping[str, Decimal]) -> Decimal:
    """Return the value of the formula; raise `FormulaError` for anything but names, + - * / and parentheses.

    Read with two stacks, as in E. W. Dijkstra's shunting-yard algorithm (1961), so its depth costs no recursion.
    """
    if len(formula) > MAX_FORMULA_CHARS:
        raise FormulaError(f"the formula is longer than {MAX_FORMULA_CHARS} characters")
    values: list[Decimal] = []
    waiting: list[str] = []
    wants_value = True
    for kind, symbol in _tokens(formula):
        if (kind == "name" or symbol == "(") is not wants_value:
            raise FormulaError(f"the formula has {symbol!r} where it cannot stand")
        if kind == "name":
            values.append(_input(symbol, inputs))
            wants_value = False
        elif symbol == "(":
            waiting.append(symbol)
        elif symbol == ")":
            _close(values, waiting)
        else:
            while waiting and _BINDS.get(waiting[-1], 0) >= _BINDS[symbol]:
                _apply(values, waiting.pop())
            waiting.append(symbol)
            wants_value = True
    if wants_value:
        raise FormulaError("the formula ends where a value has to stand")
    while waiting:
        _apply(values, waiting.pop())
    return values[0]


def _tokens(formula: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(formula):
        if match.group("other"):
            raise FormulaError(
                f"the formula holds {match.group('other')!r}; only + - * / ( ) and names may stand in it"
            )
        if match.group("name") or match.group("sign"):
            yield str(match.lastgroup), match.group(str(match.lastgroup))


def _input(name: str, inputs: Mapping[str, Decimal]) -> Decimal:
    if name not in inputs:
        raise FormulaError(f"the formula names {name}, which is none of its inputs")
    return inputs[name]


def _close(values: list[Decimal], waiting: list[str]) -> None:
    """Compute back to the parenthesis that was opened last."""
    while waiting and waiting[-1] != "(":
        _apply(values, waiting.pop())
    if not waiting:
        raise FormulaError("the formula closes a parenthesis that it did not open")
    waiting.pop()


def _apply(values: list[Decimal], sign: str) -> None:
    if sign == "(":
        raise FormulaError("the formula leaves a parenthesis open")
    two, one = values.pop(), values.pop()
    context = Context(prec=_PRECISION)
    operation = {"+": context.add, "-": context.subtract, "*": context.multiply, "/": context.divide}[sign]
    try:
        values.append(operation(one, two))
    except DecimalException as error:
        raise FormulaError("the formula divides by zero or leaves the range of numbers") from error
