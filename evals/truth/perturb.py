"""Statements with one figure changed: a digit, a date, a unit or a magnitude; the same seed makes the same changes."""

import random
import re
from collections.abc import Callable, Iterator

from shared.domain.numbers import Quantity, quantities

_MONTHS = "January February March April May June July August September October November December".split()
_MONTH = re.compile("|".join(_MONTHS))
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_WEEKDAY = re.compile("|".join(_WEEKDAYS))
_MAGNITUDE = re.compile(r"thousand|million|billion|trillion")
_MAGNITUDES = ("thousand", "million", "billion", "trillion")
_UNIT = re.compile(
    r"(?<=\d)[ -]?(?:%|percent|per cent|kilomet(?:er|re)s?|km|miles?|met(?:er|re)s?|feet|cm|mm|kg|tons?|tonnes?|"
    r"pounds|hours?|minutes?|days?|weeks?|months?|years?)\b|(?<=\d)%"
)
_UNITS = (
    "percent",
    "kilometres",
    "miles",
    "metres",
    "feet",
    "kg",
    "tonnes",
    "hours",
    "minutes",
    "days",
    "weeks",
    "years",
)


def _digit(text: str, rng: random.Random) -> str | None:
    places = [i for i, c in enumerate(text) if c in "0123456789"]
    if not places:
        return None
    place = rng.choice(places)
    choices = [d for d in "123456789" if d != text[place]]
    return text[:place] + rng.choice(choices) + text[place + 1 :]


def _other(pattern: re.Pattern[str], names: list[str] | tuple[str, ...]) -> Callable[[str, random.Random], str | None]:
    def change(text: str, rng: random.Random) -> str | None:
        found = pattern.search(text)
        if found is None:
            return None
        return text[: found.start()] + rng.choice([n for n in names if n != found.group()]) + text[found.end() :]

    return change


def _unit(text: str, rng: random.Random) -> str | None:
    found = _UNIT.search(text)
    if found is None:
        return None
    old = found.group().strip(" -")
    choices = [u for u in _UNITS if u.rstrip("s")[:3] != old.rstrip("s")[:3] and not (old == "%" and u == "percent")]
    return f"{text[: found.start()]} {rng.choice(choices)}{text[found.end() :]}"


CHANGES: dict[str, Callable[[str, random.Random], str | None]] = {
    "digit": _digit,
    "month": _other(_MONTH, _MONTHS),
    "weekday": _other(_WEEKDAY, _WEEKDAYS),
    "magnitude": _other(_MAGNITUDE, _MAGNITUDES),
    "unit": _unit,
}


def changed(sentence: str, rng: random.Random) -> tuple[str, str] | None:
    """Return the kind of a change and the changed sentence; None where it has no figure to change.

    A kind is drawn first among those that the sentence offers, so that rare ones are tried as well.
    """
    offers = list(_offers(sentence, rng))
    return rng.choice(offers) if offers else None


def _offers(sentence: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    for kind, change in CHANGES.items():
        found = []
        for quantity in quantities(sentence):
            new = change(quantity.text, rng)
            if new is not None:
                text = sentence[: quantity.start] + new + sentence[quantity.end :]
                if _differs(quantity, text):
                    found.append((kind, text))
        if found:
            yield rng.choice(found)


def _differs(quantity: Quantity, text: str) -> bool:
    """Tell whether the changed text is still read as a figure in that place, and as another one."""
    return any(
        q.start <= quantity.start < q.end
        and (q.value, q.unit, q.date) != (quantity.value, quantity.unit, quantity.date)
        for q in quantities(text)
    )
