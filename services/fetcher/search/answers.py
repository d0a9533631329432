"""Reading the answers of providers: JSON or an error that says what to do, texts cleaned, dates as far as known."""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from services.fetcher.net.messages import Fetched
from shared.domain.text import clean

TITLE_CHARS = 500
SNIPPET_CHARS = 2000
NAME_CHARS = 200
_MOST_AUTHORS = 3

_TAG = re.compile(r"<[^<>]{0,500}>")
_ISO = re.compile(r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?)?(?!\d|\s*[A-Za-z]{3})")
_SPELT = ("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%Y %b %d", "%Y %b")


class NotJson(ValueError):
    """The body is no JSON object."""


def json_object(body: bytes) -> Mapping[str, Any]:
    """Read a JSON object; raise `NotJson`."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotJson from error
    if not isinstance(answer, dict):
        raise NotJson
    return answer


def at(value: Any, *path: str | int) -> Any:
    """Return what lies at a path of keys and indices, None when there is no such thing."""
    for step in path:
        if isinstance(step, str) and isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def rows(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list; anything else has none."""
    return (item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else iter(())


def text(value: Any, most: int = SNIPPET_CHARS) -> str:
    """Return a text cleaned and in one line; empty for what is none."""
    return " ".join(clean(value).split())[:most] if isinstance(value, str) else ""


def name(value: Any) -> str | None:
    """Return a name of somebody, None when there is none."""
    return text(value, NAME_CHARS) or None


def names(values: Iterable[Any]) -> str | None:
    """Return the first few of several names in one line."""
    known = [found for value in values if (found := name(value))]
    more = " et al." if len(known) > _MOST_AUTHORS else ""
    return ", ".join(known[:_MOST_AUTHORS]) + more if known else None


def unmarked(value: Any, most: int = SNIPPET_CHARS) -> str:
    """Return a text without its markup."""
    return text(html.unescape(_TAG.sub("", value)), most) if isinstance(value, str) else ""


def date(value: Any) -> str | None:
    """Return a date as a year, month or day in ISO 8601, as far as the text is one that stands by itself.

    "2 days ago" is none: it says nothing without a clock.
    """
    if not isinstance(value, str):
        return None
    stripped = value.strip()
    match = _ISO.match(stripped)
    if match is not None:
        return date_of(int(part) for part in match.groups() if part is not None)
    for form in _SPELT:
        found = _parsed(stripped, form)
        if found is not None:
            return found
    try:
        return parsedate_to_datetime(stripped).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def date_of(parts: Iterable[Any]) -> str | None:
    """Return the date of a year, a month and a day, as many as there are; None for what no calendar has."""
    known = [part for part in list(parts)[:3] if isinstance(part, int) and not isinstance(part, bool)]
    try:
        datetime(*_full(known))  # noqa: DTZ001  only the calendar is asked
    except (ValueError, TypeError, OverflowError):
        return None
    year, *rest = known
    return "-".join([f"{year:04}", *(f"{part:02}" for part in rest)])


def _full(known: Sequence[int]) -> tuple[int, int, int]:
    if not known:
        raise ValueError("no year")
    year, month, day = (*known, 1, 1)[:3]
    return year, month, day


def _parsed(value: str, form: str) -> str | None:
    try:
        found = datetime.strptime(value, form)  # noqa: DTZ007  a day has no time zone
    except ValueError:
        return None
    return found.strftime("%Y-%m-%d" if "%d" in form else "%Y-%m")


def told(fetched: Fetched, *paths: tuple[str | int, ...]) -> str:
    """Return what an error's body says at the first of these paths that holds a text; empty when it says nothing."""
    try:
        answer = json_object(fetched.body)
    except NotJson:
        return ""
    found = (text(at(answer, *path), 200) for path in paths)
    return next(filter(None, found), "")
