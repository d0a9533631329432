"""The description of the API: as an OpenAPI document, and as a page for people."""

import functools
import json

from flask import Blueprint, Response

from services.gateway.api.exchange import JSON
from services.gateway.openapi import document, page


def blueprint() -> Blueprint:
    """Return the routes that describe the others."""
    routes = Blueprint("reference", __name__)

    @routes.get("/openapi.json")
    def openapi() -> Response:
        return Response(_described(), content_type=JSON)

    @routes.get("/docs")
    def docs() -> Response:
        return Response(page(), content_type="text/html; charset=utf-8")

    return routes


@functools.cache
def _described() -> str:
    """Return the document as text; making it takes a tenth of a second, so that it is made once and when asked for."""
    return json.dumps(document())
