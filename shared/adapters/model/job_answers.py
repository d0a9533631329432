"""What answers about jobs have in common: which status means what, and safe ways to pick values out of any JSON."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.errors import DEFAULT_RETRY_AFTER_S, LONGEST_REASON
from shared.domain.errors import MODEL_REFUSED, Permanent, RateLimited, RequestRejected, Transient
from shared.domain.text import clean

OK = range(200, 300)
_PASSING = frozenset({408, 409, 425})
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


@dataclass(frozen=True, slots=True)
class Given:
    """An answer: its status, headers, and the JSON of its body."""

    status: int
    headers: Mapping[str, str]
    data: object


def judge_status(given: Given, endpoint: Endpoint, key: str) -> None:
    """Raise what a status other than success means; the key never appears in the reason."""
    if given.status in OK:
        return
    told = reason_in(given.data) or f"status {given.status}"
    reason = line(told.replace(key, "…") if key else told)
    if given.status == 402 or code_in(given.data) in _NO_CREDIT:
        raise Permanent(f"{MODEL_REFUSED}credit", f"The account at the provider has no credit left: {reason}")
    if given.status == 429:
        wait = _retry_after_s(given.headers)
        raise RateLimited(f"{MODEL_REFUSED}rate_limited", f"The provider asks to wait: {reason}", wait)
    if given.status >= 500 or given.status in _PASSING:
        raise Transient(f"{MODEL_REFUSED}unavailable", f"The provider could not answer: {reason}")
    if given.status in (401, 403):
        detail = f"The provider does not accept the key ({endpoint.key_name}): {reason}"
        raise Permanent(f"{MODEL_REFUSED}key", detail)
    if given.status == 404:
        raise Permanent(f"{MODEL_REFUSED}unknown", f"The provider does not know what it was asked for: {reason}")
    raise RequestRejected(f"The provider refused the request: {reason}")


def reason_in(data: object) -> str | None:
    """Return the message of an error in a body, wherever providers put it."""
    if isinstance(data, list):
        return next((found for item in data[:5] if (found := reason_in(item)) is not None), None)
    if not isinstance(data, Mapping):
        return None
    message = data.get("message")
    return message if isinstance(message, str) and message.strip() else reason_in(data.get("error"))


def code_in(data: object) -> str | None:
    """Return the code of an error in a body."""
    error = data.get("error") if isinstance(data, Mapping) else None
    code = error.get("code") if isinstance(error, Mapping) else None
    return code if isinstance(code, str) else None


def line(told: str) -> str:
    """Return a text as one line that ends, short enough to be shown."""
    text = " ".join(clean(told).split())
    text = text if len(text) <= LONGEST_REASON else text[:LONGEST_REASON].rstrip() + "…"
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def text_of(data: Mapping[str, Any], name: str) -> str:
    """Return a string of an object, empty where there is none."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def number_of(data: object, name: str) -> int:
    """Return a count of an object, 0 where there is none."""
    value = data.get(name) if isinstance(data, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def objects_in(data: object) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list, whatever else stands in it."""
    for item in data if isinstance(data, list) else ():
        if isinstance(item, Mapping):
            yield item


def _retry_after_s(headers: Mapping[str, str]) -> float:
    told = headers.get("retry-after", "").strip()
    if told.isdecimal():
        return float(told)
    try:
        at = parsedate_to_datetime(told)
    except ValueError:
        return DEFAULT_RETRY_AFTER_S
    return max((at - datetime.now(UTC)).total_seconds(), 0.0) if at.tzinfo else DEFAULT_RETRY_AFTER_S
