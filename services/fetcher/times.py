"""Times in HTTP headers."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"\d{1,9}")
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age=\"?(\d{1,9})")


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a Retry-After header asks for, given as a number or a date; None when it does not say.

    A date is taken relative to the answer's own Date header (RFC 9110, 10.2.3 and 6.6.1).
    """
    value = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    until, now = _date(value), _date(headers.get("date", ""))
    return max((until - now).total_seconds(), 0.0) if until and now else None


def max_age_s(headers: Mapping[str, str]) -> float | None:
    """Return for how many seconds a Cache-Control header lets an answer be kept; None when it does not say."""
    control = headers.get("cache-control", "").lower()
    if "no-store" in control or "no-cache" in control:
        return 0.0
    match = _MAX_AGE.search(control)
    return float(match[1]) if match else None


def _date(text: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed
