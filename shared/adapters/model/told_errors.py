"""Errors that an endpoint tells with the status of success: found in the body, and given the status that they mean.

Routers and gateways answer 200 before they know what becomes of a call, and then have only the body to say it in.
"""

import json
from collections.abc import Mapping
from typing import Any

ANSWERS = ("choices", "candidates", "content", "output", "response")
"""Under these names an answer stands; a body that has one is no error, whatever else it holds."""

_SAYS = ("message", "error", "detail", "error_message", "msg", "status_msg")
_NAMES = ("code", "status", "type", "status_code", "error_code", "http_code")

NO_REASON = 502
"""What an error counts as that does not say what kind it is: the endpoint has failed, which may pass."""

_STATUS_OF: Mapping[str, int] = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "unauthenticated": 401,
    "unauthorized": 401,
    "billing_error": 402,
    "insufficient_quota": 402,
    "insufficient_credits": 402,
    "payment_required": 402,
    "permission_error": 403,
    "permission_denied": 403,
    "forbidden": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "not_found": 404,
    "request_too_large": 413,
    "invalid_request_error": 400,
    "invalid_argument": 400,
    "bad_request": 400,
    "badrequesterror": 400,
    "content_filter": 400,
    "context_length_exceeded": 400,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "resource_exhausted": 429,
    "too_many_requests": 429,
    "overloaded_error": 503,
    "unavailable": 503,
}
"""The statuses of the names that providers give to kinds of errors."""


def told_error(body: bytes) -> tuple[int, bytes] | None:
    """Return the status and body of the error that a body of a successful answer tells, or None for an answer."""
    if body.lstrip()[:1] != b"{":
        return None
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    error = _error_in(found) if isinstance(found, Mapping) else None
    if error is None:
        return None
    status = _status(error)
    told = {**error, "message": _message(error), "code": error.get("code") or status}
    return status, json.dumps({"type": "error", "error": told}).encode()


def _error_in(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the error of a body as an object: beside no answer, or inside the only choice of one."""
    inside = _error_of_choice(body.get("choices"))
    if inside is not None:
        return inside
    if any(body.get(name) for name in ANSWERS):
        return None
    error = body.get("error") or body.get("base_resp")
    if isinstance(error, Mapping) and error:
        return error
    if isinstance(error, str):
        return {**{name: body[name] for name in _NAMES if name in body}, "message": error}
    return body if _is_bare_error(body) else None


def _is_bare_error(body: Mapping[str, Any]) -> bool:
    """Tell whether a body is an error itself: it says something, and has no place for an answer."""
    says = any(isinstance(body.get(name), str) for name in ("message", "detail", "msg"))
    return says and not any(name in body for name in ANSWERS)


def _error_of_choice(choices: Any) -> Mapping[str, Any] | None:
    """Return the error that stands inside the only choice of an answer."""
    one = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    error = one.get("error") if isinstance(one, Mapping) else None
    return dict(error) if isinstance(error, Mapping) else None


def _status(error: Mapping[str, Any]) -> int:
    """Return the status that an error names: as a number, else by the name of its kind."""
    told = [error[name] for name in _NAMES if isinstance(error.get(name), int | str)]
    numbers = (int(t) for t in told if str(t).isascii() and str(t).isdigit())
    named = (_STATUS_OF[str(t).lower()] for t in told if str(t).lower() in _STATUS_OF)
    return next((n for n in numbers if 400 <= n <= 599), None) or next(named, NO_REASON)


def _message(error: Mapping[str, Any]) -> str:
    """Return what an error says; one that says nothing is shown as it is."""
    said = (error[name] for name in _SAYS if isinstance(error.get(name), str) and error[name].strip())
    inner = next((error[name] for name in _SAYS if isinstance(error.get(name), Mapping)), None)
    return next(said, None) or (_message(inner) if inner is not None else json.dumps(dict(error))[:300])
