"""Numerals with a power or a fraction: 4.5 × 10⁶, 10^6, 2^32, 3 1/2 and 1/4.

A raised digit after any other number is a note mark or belongs to a unit, and is no part of a figure.
"""

import re
from decimal import Context, Decimal, DecimalException

_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_LOWERED = "₀₁₂₃₄₅₆₇₈₉"
_PLAIN = str.maketrans(
    {
        **{c: str(n) for n, c in enumerate(_RAISED)},
        **{c: str(n) for n, c in enumerate(_LOWERED)},
        **dict.fromkeys("⁻−", "-"),
        "⁺": "+",
        "⁄": "/",
    }
)
_EXPONENT = rf"(?:\^[^\S\n]?[-−+]?[0-9]{{1,2}}(?!\d)|\^\{{[-−+]?[0-9]{{1,2}}\}}|[⁻⁺]?[{_RAISED}]{{1,2}}(?![{_RAISED}]))"

SCIENTIFIC = (
    rf"[0-9]+(?:[.,][0-9]+)?[^\S\n]?[×xX·⋅*][^\S\n]?10{_EXPONENT}"
    rf"|10{_EXPONENT}"
    r"|[0-9]{1,4}\^[0-9]{1,2}(?!\d)"
)
"""A pattern of a number times a power of ten, of such a power, and of any power that is written with a caret."""

_SLASH = r"[/⁄]"
_PROPER = (
    rf"(?:1{_SLASH}[2-9]|1{_SLASH}(?:10|12|16|32)|2{_SLASH}[35]|3{_SLASH}[458]|4{_SLASH}5|5{_SLASH}[68]|7{_SLASH}8"
    rf"|[3579]{_SLASH}16|1[135]{_SLASH}16|[¹³⁵⁷]{_SLASH}[₂₄₈])"
)
_NO_MORE = rf"(?![\w/⁄]|[.,]\d|{_SLASH})"
MIXED = rf"[0-9]{{1,3}}[^\S\n]{_PROPER}{_NO_MORE}|(?<![/⁄]){_PROPER}{_NO_MORE}"
"""A pattern of a whole number with a fraction after a space, and of a common fraction alone."""

_SIGN = re.compile(r"[×xX·⋅*]")
_CONTEXT = Context(prec=28)


def scientific_value(text: str) -> Decimal:
    """Return the value of a numeral that `SCIENTIFIC` found."""
    *factor, power = _SIGN.split(re.sub(r"[\s{}]", "", text))
    raised = next((n for n, c in enumerate(power) if c in _RAISED + "⁻⁺"), None)
    if raised is not None:
        one, two = power[:raised], power[raised:].translate(_PLAIN)
    else:
        one, _, two = power.translate(_PLAIN).partition("^")
    number = Decimal(factor[0].replace(",", ".")) if factor else Decimal(1)
    if one == "10":
        return number.scaleb(int(two))
    try:
        return _CONTEXT.power(Decimal(one), Decimal(two))
    except DecimalException:
        return Decimal(0)


def mixed_value(text: str) -> Decimal:
    """Return the value of a numeral that `MIXED` found."""
    *whole, fraction = text.translate(_PLAIN).split()
    above, below = fraction.split("/")
    return Decimal(whole[0] if whole else 0) + Decimal(above) / Decimal(below)
