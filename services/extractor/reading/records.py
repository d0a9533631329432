"""JSON and JSON Lines to text: records as rows that stand alone, nested objects under the path of their keys.

Figures stay as they are written: 1.10 is not 1.1, and a number of forty digits keeps them all.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from services.extractor.reading import plain
from services.extractor.reading.blocks import Block, assemble, squeeze
from services.extractor.reading.charset import decode
from services.extractor.reading.mime import JSON
from services.extractor.reading.result import Reading, Unreadable
from shared.domain.segments import ROW_SEPARATOR
from shared.domain.text import clean

MAX_DEPTH = 100
_MAX_ROW_VALUES = 60
_MAX_ROW_TEXT = 300  # a longer text is a paragraph of its own
_WORDS = {True: "true", False: "false", None: ""}


@dataclass(frozen=True, slots=True)
class _Object:
    """The members of an object in their order, each of several with one key."""

    members: list[tuple[str, "_Value"]]


_Value: TypeAlias = "str | bool | list[_Value] | _Object | None"


def read(data: bytes, content_type: str | None) -> Reading:
    """Read JSON or JSON Lines; raise `Unreadable` for what nests too deeply. What is neither is read as plain text."""
    decoded = decode(data, content_type, markup=False)
    text = clean(decoded.text)
    value = _parsed(text)
    if value is None:
        return plain.read(data, content_type)
    made = assemble(_blocks(value))
    return Reading(
        status="ok" if made.text else "empty",
        reason="The text was cut at the limit." if made.truncated else None if made.text else "The file holds no text.",
        mime=JSON,
        reader="records",
        encoding=decoded.encoding,
        encoding_source=decoded.source,
        title=_title(value),
        text=made.text,
        headings=made.headings,
        truncated=made.truncated,
    )


def is_json(text: str) -> bool:
    """Tell whether a whole text is one JSON object or array."""
    try:
        return isinstance(_loads(text), list | _Object)
    except (ValueError, RecursionError):
        return False


def _loads(text: str) -> _Value:
    """Parse JSON; numbers stay text."""
    value: _Value = json.loads(
        text, strict=False, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_Object
    )
    return value


def _parsed(text: str) -> _Value:
    """Return the value of JSON, or the list of those of JSON Lines; None for neither."""
    try:
        return _loads(text)
    except RecursionError:
        raise Unreadable("broken", "Its JSON nests too deeply.") from None
    except ValueError:
        lines = [line for line in text.split("\n") if line.strip()]
    try:
        values = [_loads(line) for line in lines]
    except (ValueError, RecursionError):
        return None
    return values if values and all(isinstance(value, list | _Object) for value in values) else None


def _title(value: _Value) -> str | None:
    """Return what a document calls itself."""
    members = dict(reversed(value.members)) if isinstance(value, _Object) else {}
    return next((squeeze(v)[:500] for k in ("title", "name") if isinstance(v := members.get(k), str) and v), None)


def _blocks(value: _Value) -> Iterator[Block]:
    """Yield the blocks of a value; what stands deeper than the limit makes the document unreadable."""
    waiting: list[tuple[str, _Value, int]] = [("", value, 0)]
    while waiting:
        path, item, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise Unreadable("broken", "Its JSON nests too deeply.")
        if isinstance(item, list) and not _is_plain(item):
            if path:
                yield Block("heading", path, min(6, depth))
            waiting += reversed([("", element, depth + 1) for element in item])
        elif isinstance(item, _Object):
            leaves, deeper = _flattened(item)
            if path:
                yield Block("heading", path, min(6, depth))
            yield from _record(leaves)
            waiting += reversed([(key, below, depth + 1) for key, below in deeper])
        else:
            yield from _record([(path, _shown(item))])


def _is_plain(value: _Value) -> bool:
    """Tell whether a value is one figure or word, or a list of them."""
    if isinstance(value, list):
        return all(not isinstance(element, list | _Object) for element in value)
    return not isinstance(value, _Object)


def _shown(value: _Value) -> str:
    """Return the words of a plain value."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(_shown, value)))
    return value if isinstance(value, str) else "" if isinstance(value, _Object) else _WORDS[value]


def _flattened(item: _Object) -> tuple[list[tuple[str, str]], list[tuple[str, _Value]]]:
    """Return the plain members of an object, those of small objects in it with their path, and all other members."""
    leaves: list[tuple[str, str]] = []
    deeper: list[tuple[str, _Value]] = []
    for key, value in item.members:
        name = squeeze(key)[:100]
        if _is_plain(value):
            leaves.append((name, _shown(value)))
        elif isinstance(value, _Object) and len(value.members) <= 10 and all(_is_plain(v) for _, v in value.members):
            leaves += [(f"{name}.{squeeze(inner)[:100]}", _shown(below)) for inner, below in value.members]
        else:
            deeper.append((name, value))
    return leaves, deeper


def _record(leaves: Sequence[tuple[str, str]]) -> Iterator[Block]:
    """Yield one row of the short values of a record, and its long texts as paragraphs."""
    short = [(name, squeeze(text)) for name, text in leaves if len(text) <= _MAX_ROW_TEXT]
    parts = [f"{name}: {text}" if name else text for name, text in short if text]
    for start in range(0, len(parts), _MAX_ROW_VALUES):
        yield Block("row", ROW_SEPARATOR.join(parts[start : start + _MAX_ROW_VALUES]))
    for name, text in leaves:
        if len(text) > _MAX_ROW_TEXT:
            for number, paragraph in enumerate(filter(None, map(squeeze, text.split("\n")))):
                yield Block("paragraph", f"{name}: {paragraph}" if name and not number else paragraph)
