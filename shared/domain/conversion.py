"""Conversion between units of one dimension: length, area, volume, mass, time, temperature, speed, power, energy, data.

Factors are exact by definition (the international yard and pound agreement of 1959; the US gallon of 231 cubic inches).
Units that mean different things in different places (ton, pint, barrel, month in days) are left out, and so are
currencies.
"""

from collections.abc import Mapping
from decimal import Decimal

_FACTORS: Mapping[str, str] = {
    "length": "mm 0.001 cm 0.01 dm 0.1 m 1 km 1000 inch 0.0254 ft 0.3048 yd 0.9144 mi 1609.344 nmi 1852",
    "area": "mm2 0.000001 cm2 0.0001 m2 1 km2 1000000 ha 10000 acre 4046.8564224 mi2 2589988.110336 ft2 0.09290304",
    "volume": "cm3 0.000001 ml 0.000001 l 0.001 m3 1 ft3 0.028316846592 gallon 0.003785411784",
    "mass": "mg 0.000001 g 0.001 kg 1 t 1000 kt 1000000 Mt 1000000000 lb 0.45359237 oz 0.028349523125",
    "time": "ms 0.001 s 1 min 60 h 3600 day 86400 week 604800",
    "calendar": "month 1 year 12 decade 120 century 1200",
    "speed": "m/s 3.6 km/h 1 mi/h 1.609344 kn 1.852",
    "power": "W 1 kW 1000 MW 1000000 GW 1000000000",
    "energy": "Wh 3600 kWh 3600000 MWh 3600000000 GWh 3600000000000 TWh 3600000000000000 J 1 kJ 1000 MJ 1000000",
    "force": "N 1 kN 1000 MN 1000000",
    "pressure": "Pa 1 kPa 1000 MPa 1000000",
    "frequency": "Hz 1 kHz 1000 MHz 1000000 GHz 1000000000",
    "voltage": "V 1 kV 1000",
    "data": "kB 1 MB 1000 GB 1000000 TB 1000000000",
    "points": "bp 1 pp 100",
}


def _by_unit() -> dict[str, tuple[str, Decimal]]:
    found: dict[str, tuple[str, Decimal]] = {}
    for dimension, row in _FACTORS.items():
        words = row.split()
        found |= {unit: (dimension, Decimal(factor)) for unit, factor in zip(words[::2], words[1::2], strict=True)}
    return found


_UNITS = _by_unit()


def dimension_of(unit: str) -> str | None:
    """Return the dimension of a unit; None where it is not known here."""
    if unit in ("°C", "°F"):
        return "temperature"
    found = _UNITS.get(unit)
    return found[0] if found is not None else None


def converted(value: Decimal, unit: str, to: str) -> Decimal | None:
    """Return the value in another unit; None where the units are not of one dimension or not known here."""
    if unit == to:
        return value
    if (unit, to) == ("°F", "°C"):
        return (value - 32) * 5 / 9
    if (unit, to) == ("°C", "°F"):
        return value * 9 / 5 + 32
    one, two = _UNITS.get(unit), _UNITS.get(to)
    if one is None or two is None or one[0] != two[0]:
        return None
    return value * one[1] / two[1]
