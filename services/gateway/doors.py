"""What every request passes on its way in and every answer on its way out."""

import secrets

from flask import Flask, Request, Response, g, request

from services.gateway import rules
from services.gateway.api.exchange import read_query
from services.gateway.problems import Forbidden
from services.gateway.routes import BY_METHOD_AND_PATH

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def install(app: Flask, *, loopback_only: bool) -> None:
    """Put the checks before and the headers after every route."""

    @app.before_request
    def enter() -> None:
        g.request_id = secrets.token_hex(8)
        _check_host(request, loopback_only)
        _check_origin(request)
        _check_parameters(request)

    @app.after_request
    def leave(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers["X-Request-Id"] = g.request_id
        return response


def _check_host(asked: Request, loopback_only: bool) -> None:
    """Refuse a host name that does not mean this machine: a page may have had its name pointed here (DNS rebinding)."""
    if loopback_only and not rules.is_loopback(rules.host_of(asked.headers.get("Host", ""))):
        raise Forbidden("This server answers to localhost only: use http://127.0.0.1 or http://localhost.")


def _check_origin(asked: Request) -> None:
    """Refuse a change that a page of another site asks for."""
    if asked.method in SAFE_METHODS:
        return
    origin = asked.headers.get("Origin")
    if origin is not None and not rules.same_origin(origin, asked.scheme, asked.headers.get("Host", "")):
        raise Forbidden(f"Pages of {origin[:100]} may not change anything here.")
    if asked.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        raise Forbidden("Pages of other sites may not change anything here.")


def _check_parameters(asked: Request) -> None:
    """Refuse query parameters that the route does not know."""
    if asked.url_rule is None:
        return
    path = asked.url_rule.rule.replace("<", "{").replace(">", "}")
    route = BY_METHOD_AND_PATH.get(("GET" if asked.method == "HEAD" else asked.method, path))
    if route is not None:
        read_query(asked, route.query)
