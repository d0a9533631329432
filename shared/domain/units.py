"""The units and currencies that figures are read with: one canonical name for each way of writing it. No conversion.

Abbreviations are matched with their case (mW is not MW), words without.
"""

import re
from collections.abc import Mapping

_ABBREVIATIONS: Mapping[str, str] = {
    "mm": "mm",
    "cm": "cm",
    "dm": "dm",
    "m": "m",
    "km": "km",
    "ft": "ft",
    "yd": "yd",
    "mi": "mi",
    "nm": "nm",
    "nmi nautical": "nmi",
    "mm2 mm² mm^2": "mm2",
    "cm2 cm² cm^2": "cm2",
    "m2 m² m^2 sqm": "m2",
    "km2 km² km^2": "km2",
    "ha": "ha",
    "cm3 cm³ cm^3": "cm3",
    "m3 m³ m^3 cbm": "m3",
    "l L": "l",
    "ml mL": "ml",
    "mg": "mg",
    "g": "g",
    "kg": "kg",
    "t": "t",
    "kt": "kt",
    "Mt": "Mt",
    "lb lbs": "lb",
    "oz": "oz",
    "TEU": "TEU",
    "ms": "ms",
    "s sec": "s",
    "min": "min",
    "h hr hrs": "h",
    "W": "W",
    "kW": "kW",
    "MW": "MW",
    "GW": "GW",
    "Wh": "Wh",
    "kWh": "kWh",
    "MWh": "MWh",
    "GWh": "GWh",
    "TWh": "TWh",
    "J": "J",
    "kJ": "kJ",
    "MJ": "MJ",
    "N": "N",
    "kN": "kN",
    "MN": "MN",
    "Pa": "Pa",
    "kPa": "kPa",
    "MPa": "MPa",
    "Hz": "Hz",
    "kHz": "kHz",
    "MHz": "MHz",
    "GHz": "GHz",
    "V": "V",
    "kV": "kV",
    "kB KB": "kB",
    "MB": "MB",
    "GB": "GB",
    "TB": "TB",
    "km/h kph kmh": "km/h",
    "mph": "mi/h",
    "m/s": "m/s",
    "kn": "kn",
    "°C ℃": "°C",
    "°F ℉": "°F",
    "°": "°",
    "pp": "pp",
    "bp bps": "bp",
    "dB": "dB",
}
_WORDS: Mapping[str, str] = {
    "millimetre millimeter": "mm",
    "centimetre centimeter": "cm",
    "metre meter": "m",
    "kilometre kilometer": "km",
    "inch inches": "inch",
    "foot feet": "ft",
    "yard": "yd",
    "mile": "mi",
    "nautical_mile": "nmi",
    "square_metre square_meter sq_m": "m2",
    "square_kilometre square_kilometer sq_km": "km2",
    "square_mile": "mi2",
    "square_foot square_feet sq_ft": "ft2",
    "hectare": "ha",
    "acre": "acre",
    "cubic_centimetre cubic_centimeter": "cm3",
    "cubic_metre cubic_meter cu_m": "m3",
    "cubic_foot cubic_feet": "ft3",
    "litre liter": "l",
    "millilitre milliliter": "ml",
    "gallon": "gallon",
    "barrel": "barrel",
    "milligram": "mg",
    "gram gramme": "g",
    "kilogram kilo": "kg",
    "tonne metric_ton": "t",
    "ton": "ton",
    "pound": "lb",
    "ounce": "oz",
    "second": "s",
    "minute": "min",
    "hour": "h",
    "day": "day",
    "week": "week",
    "month": "month",
    "year yr": "year",
    "decade": "decade",
    "century centuries": "century",
    "watt": "W",
    "kilowatt": "kW",
    "megawatt": "MW",
    "gigawatt": "GW",
    "kilowatt_hour": "kWh",
    "megawatt_hour": "MWh",
    "gigawatt_hour": "GWh",
    "terawatt_hour": "TWh",
    "joule": "J",
    "newton": "N",
    "kilonewton": "kN",
    "volt": "V",
    "hertz": "Hz",
    "kilobyte": "kB",
    "megabyte": "MB",
    "gigabyte": "GB",
    "terabyte": "TB",
    "knot": "kn",
    "degree_celsius degrees_celsius": "°C",
    "degree_fahrenheit degrees_fahrenheit": "°F",
    "degree": "°",
    "percentage_point": "pp",
    "basis_point": "bp",
}
_CURRENCY_SYMBOLS: Mapping[str, str] = {
    "US$ $": "USD",
    "C$ CA$": "CAD",
    "A$ AU$": "AUD",
    "NZ$": "NZD",
    "HK$": "HKD",
    "R$": "BRL",
    "€": "EUR",
    "£": "GBP",
    "¥ ￥": "JPY",
    "₹": "INR",
    "₽": "RUB",
    "₩": "KRW",
    "₺": "TRY",
    "₪": "ILS",
    "₫": "VND",
    "฿": "THB",
}
_CURRENCY_CODES = (
    "USD EUR GBP JPY CNY RMB CHF CAD AUD NZD HKD SGD INR BRL RUB KRW TRY ILS SEK NOK DKK PLN CZK HUF MXN ZAR THB VND"
)
_CURRENCY_WORDS: Mapping[str, str] = {
    "dollar us_dollar": "USD",
    "euro": "EUR",
    "pounds_sterling pound_sterling": "GBP",
    "yen": "JPY",
    "yuan renminbi": "CNY",
    "rupee": "INR",
    "rouble ruble": "RUB",
    "franc": "franc",
    "crown krone kroner krona kronor": "crown",
    "peso": "peso",
    "cent": "cent",
    "pence": "pence",
}


def _by_spelling(table: Mapping[str, str], *, plural: bool) -> dict[str, str]:
    """Return each way of writing with its canonical name; words also with a plural s; ``_`` stands for a space."""
    spelt: dict[str, str] = {}
    for spellings, name in table.items():
        for spelling in spellings.split():
            word = spelling.replace("_", " ")
            spelt[word] = name
            if plural and not word.endswith(("s", "ies", "feet", "z")):
                spelt[word + "s"] = name
    return spelt


def _pattern(spellings: Mapping[str, str], space: str) -> str:
    """Return an alternation of the spellings, longest first, in which a space may be any white space or a hyphen."""
    ordered = sorted(spellings, key=lambda word: (-len(word), word))
    return "|".join(re.escape(word).replace("\\ ", space) for word in ordered)


SPACE = r"[^\S\n]"
"""White space within a line."""

_GAP = rf"(?:{SPACE}+|-)"
_ABBREVIATED = _by_spelling(_ABBREVIATIONS, plural=False)
_WORDED = _by_spelling(_WORDS, plural=True)
_SYMBOLS = _by_spelling(_CURRENCY_SYMBOLS, plural=False)
_CODES = {code: {"RMB": "CNY"}.get(code, code) for code in _CURRENCY_CODES.split()}
_MONEY_WORDS = _by_spelling(_CURRENCY_WORDS, plural=True)

_LETTER = r"[^\W\d_]"
_SPELT = r"[^\W\d_⁰¹²³⁴-⁹]"
"""A letter; a raised digit after a word is a note mark."""

_ONE_UNIT = rf"(?:(?:{_pattern(_ABBREVIATED, _GAP)})(?!{_LETTER}|\d)|(?i:{_pattern(_WORDED, _GAP)})(?!{_SPELT}))"
_PERCENT = r"%|％|(?i:per[ -]?cent|percent|pct)(?!\w)"

CURRENCY_BEFORE = rf"(?:{_pattern(_SYMBOLS, _GAP)})|(?<![^\W\d_])(?:{'|'.join(_CODES)})(?=[\s\d])"
"""A pattern of what names a currency before an amount."""

_MONEY_AFTER = (
    rf"(?:{_pattern(_SYMBOLS, _GAP)}|{'|'.join(_CODES)})(?!\w|{SPACE}*\d)|(?i:{_pattern(_MONEY_WORDS, _GAP)})(?!\w)"
)
AFTER = re.compile(
    rf"(?:{SPACE}*|-)(?:(?P<percent>{_PERCENT})"
    rf"|(?P<money>{_MONEY_AFTER})"
    rf"|(?P<unit>{_ONE_UNIT})(?:{SPACE}*(?:/|(?i:per)(?={SPACE})){SPACE}*(?P<per>{_ONE_UNIT}))?)"
)
"""What may stand after a figure: a percent sign, a currency, or a unit (per another unit)."""

_GAPS = re.compile(r"[\s-]+")


def unit_name(text: str) -> str:
    """Return the canonical name of a unit that `AFTER` found."""
    return _ABBREVIATED.get(text) or _WORDED[_GAPS.sub(" ", text).casefold()]


def currency_name(text: str) -> str:
    """Return the code of a currency symbol, code or word."""
    known = _SYMBOLS.get(text) or _CODES.get(text)
    return known or _MONEY_WORDS[_GAPS.sub(" ", text).casefold()]
