"""JSON of unknown origin: strict, bounded, and never more than one exception to catch."""

import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn


class NotJson(ValueError):
    """Bytes that are not the JSON of a bundle; the message says why."""


def parse_json(data: bytes) -> Any:
    """Return the JSON value.

    Raises `NotJson` for bad UTF-8, NaN and infinities, doubled keys, lone surrogates and too deep nesting.
    """
    try:
        value = _DECODER.decode(data.decode("utf-8"))
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except ValueError as error:
        raise NotJson(str(error)) from None
    return value


def parse_lines(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield (line number from 1, value) of JSON lines, each of which ends with a newline; raise `NotJson`."""
    if data and not data.endswith(b"\n"):
        raise NotJson("its last line does not end")
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        try:
            yield number, parse_json(line)
        except NotJson as error:
            raise NotJson(f"line {number}: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object names a key twice")
    return found


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits[:20]} is out of range")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_no_constant)
