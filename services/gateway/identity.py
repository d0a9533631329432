"""Who asks: the local owner, or whoever's bearer key came with the request."""

from typing import cast

from flask import Flask, g, request

from services.gateway.problems import Unauthorized
from shared.domain.ids import OwnerId
from shared.ports.keys import Holder, Keys

COOKIE = "leadline_key"
"""Name of the cookie that carries the key of a browser, which cannot send a header with an event stream."""

OPEN_PATHS = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs", "/metrics", "/login"})
OPEN_PREFIXES = ("/static/",)


def install(app: Flask, keys: Keys | None, local_owner: OwnerId) -> None:
    """Put the owner of each request in its context; without ``keys`` everybody is the local owner."""

    @app.before_request
    def identify() -> None:
        if keys is None:
            g.holder = Holder(local_owner)
        elif request.url_rule is not None and not _is_open(request.path):
            g.holder = _holder_of(keys)


def current_owner() -> OwnerId:
    """Return the owner of the request that is being answered."""
    return current_holder().owner_id


def current_holder() -> Holder:
    """Return the owner of the request that is being answered, with the key that it came with."""
    return cast(Holder, g.holder)


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_PREFIXES)


def _holder_of(keys: Keys) -> Holder:
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    key = sent.strip() if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")
    if not key:
        raise Unauthorized("Send your key as `Authorization: Bearer ldl_…`; `leadline keys create` makes one.")
    holder = keys.holder_of(key)
    if holder is None:
        raise Unauthorized("This key is unknown, expired or revoked: ask for a new one.")
    return holder
