"""From the text that a model wrote to the data that was asked for: found, bounded, cleaned, validated."""

import json
import re
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from shared.domain.text import clean

Answer = TypeVar("Answer", bound=BaseModel)

MAX_CHARS = 200_000
MAX_DEPTH = 24
MAX_DIGITS = 40
"""Longest integer that is read; JSON has no limit, and a number of a thousand digits is no answer to anything."""

SHOWN_ERRORS = 5

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"\A.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_BEGINS = re.compile(r'\{\s*["}]')
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)


class Unreadable(ValueError):
    """A text does not hold what was asked for; the message says why, in words for whoever wrote it."""


def read_answer(text: str, output: type[Answer]) -> Answer:
    """Return the answer in a text; raises `Unreadable`.

    Reasoning blocks are dropped, then the first JSON object is taken; whatever stands around it is passed over.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable(f"the answer is longer than {MAX_CHARS:,} characters")
    try:
        return output.model_validate(_cleaned(_first_object(_without_thoughts(text))))
    except ValidationError as error:
        raise Unreadable(_told(error)) from error


def _without_thoughts(text: str) -> str:
    """Drop reasoning, also where its beginning was cut off."""
    return _THOUGHT_END.sub("", _THOUGHT.sub("", text))


def _first_object(text: str) -> dict[str, Any]:
    """Return the object that begins first; what lies inside one that cannot be read is never taken for it."""
    begins = _BEGINS.search(text)
    if begins is None:
        raise Unreadable("the answer holds no JSON object")
    return _read(text, begins.start())


def _read(text: str, start: int) -> dict[str, Any]:
    _check_depth(text, start)
    decoder = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_no_constant, parse_int=_bounded_int)
    try:
        found, _ = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise Unreadable(f"it is no valid JSON at character {error.pos - start}: {error.msg}") from error
    if not isinstance(found, dict):
        raise Unreadable("the answer is no JSON object")
    return found


def _check_depth(text: str, start: int) -> None:
    """Refuse deep nesting before the decoder recurses into it."""
    depth = 0
    for match in _STRUCTURE.finditer(text, start):
        sign = match.group()
        if sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        if depth > MAX_DEPTH:
            raise Unreadable(f"it is nested more than {MAX_DEPTH} deep")
        if depth <= 0:
            return


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise Unreadable(f"the name {name[:40]!r} stands twice in one object")
        found[name] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise Unreadable(f"{name} is no JSON value")


def _bounded_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise Unreadable(f"a number has more than {MAX_DIGITS} digits")
    return int(digits)


def _cleaned(value: Any) -> Any:
    """Clean every string, so that it can be stored and compared; the depth is bounded by now."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(name): _cleaned(item) for name, item in value.items()}
    return value


def _told(error: ValidationError) -> str:
    faults = [f"{'.'.join(map(str, e['loc'])) or 'the object'}: {e['msg']}" for e in error.errors()[:SHOWN_ERRORS]]
    return "; ".join(faults)
