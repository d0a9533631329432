"""Errors as RFC 9457 problem details: one table says which status and type each error has."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from flask import Flask, Response, g
from werkzeug.exceptions import HTTPException

from shared.contracts.runs import Problem
from shared.domain.errors import (
    Conflict,
    IllegalAction,
    Invalid,
    KeyReused,
    LeadlineError,
    NewerRun,
    NotFound,
    Refused,
    StaleVersion,
    TooLarge,
)

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 2


class Malformed(Refused):
    """The body is not what its media type says."""


class WrongMediaType(Refused):
    """The body has a media type that this route does not read."""


class LengthRequired(Refused):
    """The body has no declared length."""


class Forbidden(Refused):
    """The request comes from where requests are not taken from."""


class Unauthorized(Refused):
    """The request carries no key that says whose it is."""


class Busy(LeadlineError):
    """The gateway serves as much at once as it can; the same request will work soon."""


class TooSlow(Refused):
    """The request did not come within its time."""


class HeadTooLarge(Refused):
    """The head of the request is larger than any real one."""


class TooMany(LeadlineError):
    """This address has as many connections open as it may."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How an error appears: its HTTP status, the last part of its type URI, and its title."""

    status: int
    slug: str
    title: str

    @property
    def type(self) -> str:
        """Return the type URI."""
        return f"/problems/{self.slug}"


KINDS: Mapping[type[Exception], Kind] = {
    NotFound: Kind(404, "not-found", "Not found"),
    Invalid: Kind(422, "invalid", "The request cannot be carried out with these values"),
    StaleVersion: Kind(409, "stale-version", "The plan has changed"),
    IllegalAction: Kind(409, "illegal-action", "The run cannot do this now"),
    KeyReused: Kind(409, "key-reused", "The idempotency key was used for another request"),
    Conflict: Kind(409, "conflict", "The request contradicts the present state"),
    TooLarge: Kind(413, "too-large", "Too large"),
    Malformed: Kind(400, "malformed", "The body cannot be read"),
    LengthRequired: Kind(411, "length-required", "The body needs a Content-Length"),
    WrongMediaType: Kind(415, "wrong-media-type", "The body has the wrong media type"),
    Unauthorized: Kind(401, "unauthorized", "A key is needed"),
    Forbidden: Kind(403, "forbidden", "Requests from there are not taken"),
    TooSlow: Kind(408, "too-slow", "The request came too slowly"),
    TooMany: Kind(429, "too-many-connections", "Too many connections"),
    HeadTooLarge: Kind(431, "head-too-large", "The head of the request is too large"),
    Refused: Kind(400, "refused", "The request was refused"),
    Busy: Kind(503, "busy", "Too much at once"),
    NewerRun: Kind(503, "newer-run", "A newer version has to go on with the run"),
}
"""Every error that the gateway explains; one that is not here counts as its nearest base that is."""

ADVICE: Mapping[int, Mapping[str, str]] = {
    401: {"WWW-Authenticate": "Bearer"},
    429: {"Retry-After": str(RETRY_AFTER_S)},
    503: {"Retry-After": str(RETRY_AFTER_S)},
}
"""Headers that go with a status and tell a client what to do."""

UNAVAILABLE = Kind(503, "unavailable", "The database cannot be used now")
INTERNAL = Kind(500, "internal", "Something went wrong on the server")


def kind_of(error: Exception) -> Kind:
    """Return how an error appears."""
    return next((KINDS[base] for base in type(error).__mro__ if base in KINDS), INTERNAL)


def problem_of(error: Exception) -> Problem:
    """Return the problem details of an error that the table holds."""
    kind = kind_of(error)
    return Problem(
        type=kind.type,
        title=kind.title,
        status=kind.status,
        detail=str(error),
        field=error.field if isinstance(error, Refused) else None,
        allowed=error.allowed if isinstance(error, IllegalAction) else None,
        current_version=error.current if isinstance(error, StaleVersion) else None,
    )


def install(app: Flask, outages: tuple[type[Exception], ...]) -> None:
    """Answer every error with problem details; ``outages`` say that the database cannot be reached."""
    app.register_error_handler(LeadlineError, _answer_known)
    app.register_error_handler(HTTPException, _answer_http)
    app.register_error_handler(Exception, _answer_unknown)
    for outage in outages:
        app.register_error_handler(outage, answer_unavailable)


def answer(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return problem details as a response."""
    body = problem.model_dump_json(exclude_none=True)
    return Response(body, status=problem.status, content_type=MEDIA_TYPE, headers=dict(headers or {}))


def answer_unavailable(error: Exception) -> Response:
    """Answer that the database cannot be used now, why, and when to try again."""
    log.warning("request %s: %s", g.request_id, error)
    kind = UNAVAILABLE
    problem = Problem(type=kind.type, title=kind.title, status=kind.status, detail=str(error))
    return answer(problem, {"Retry-After": str(RETRY_AFTER_S)})


def _answer_known(error: Exception) -> Response:
    kind = kind_of(error)
    if kind is INTERNAL:
        return _answer_unknown(error)
    return answer(problem_of(error), ADVICE.get(kind.status))


def _answer_http(error: HTTPException) -> Response:
    """Answer what Flask itself refused, such as an unknown path or method."""
    status = error.code or 500
    slug = error.name.lower().replace(" ", "-")
    problem = Problem(
        type=f"/problems/{slug}", title=error.name, status=status, detail=error.description or f"{error.name}."
    )
    headers = {name: value for name, value in error.get_headers() if name in ("Allow", "Retry-After", "Location")}
    return answer(problem, headers)


def _answer_unknown(error: Exception) -> Response:
    """Answer an error that nobody foresaw: its details go to the log and nowhere else."""
    log.error("request %s failed", g.request_id, exc_info=error)
    problem = Problem(
        type=INTERNAL.type,
        title=INTERNAL.title,
        status=INTERNAL.status,
        detail=f"The server failed to answer; its log has the cause under request {g.request_id}.",
    )
    return answer(problem)
