"""Counts every request by the template of its route, its method and its status."""

import time

from flask import Flask, Response, g, request

from shared.ports.observer import Answered, Observer

NO_ROUTE = "none"
"""The route of a path that there is not; paths themselves are never counted, anybody can make up more of them."""


def install(app: Flask, observer: Observer) -> None:
    """Start the clock before, and count after, whatever else is done with a request: to be installed first."""

    @app.before_request
    def enter() -> None:
        g.entered = time.monotonic()

    @app.after_request
    def leave(response: Response) -> Response:
        rule = request.url_rule
        route = rule.rule.replace("<", "{").replace(">", "}") if rule is not None else NO_ROUTE
        method = request.method if rule is not None else NO_ROUTE
        observer.answered(Answered(route, method, response.status_code, time.monotonic() - g.entered))
        return response
