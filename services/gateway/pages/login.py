"""Signing in with a key, where keys are asked for: the key becomes a cookie that scripts cannot read."""

from flask import Blueprint, Response, request
from pydantic import Field

from services.gateway.api.exchange import read_body
from services.gateway.deps import Deps
from services.gateway.identity import COOKIE
from services.gateway.pages.rendering import page
from services.gateway.problems import Unauthorized
from shared.contracts.base import Contract

HOME = "/"


class SignIn(Contract):
    """The body of ``POST /login``."""

    key: str = Field(min_length=1, max_length=200)


def blueprint(deps: Deps) -> Blueprint:
    """Return the routes by which a browser signs in and out."""
    routes = Blueprint("login", __name__)

    @routes.get("/login")
    def login() -> Response:
        if deps.keys is None:
            return Response(status=303, headers={"Location": HOME})
        return page("login.html", here="/login", with_keys=False)

    @routes.post("/login")
    def sign_in() -> Response:
        key = read_body(request, SignIn, deps.limits.max_json_bytes).key.strip()
        if deps.keys is not None and deps.keys.holder_of(key) is None:
            raise Unauthorized("This key is unknown, expired or revoked: ask for a new one.")
        answer = Response(status=204)
        if deps.keys is not None:
            answer.set_cookie(COOKIE, key, httponly=True, samesite="Strict", secure=request.is_secure, path=HOME)
        return answer

    @routes.delete("/login")
    def sign_out() -> Response:
        answer = Response(status=204)
        answer.delete_cookie(COOKIE, httponly=True, samesite="Strict", secure=request.is_secure, path=HOME)
        return answer

    return routes
