"""Whether the process lives, and whether it can do its work."""

import json

from flask import Blueprint, Response

from services.gateway.api.exchange import JSON
from services.gateway.deps import Deps
from services.gateway.hub import Hub
from services.gateway.problems import answer_unavailable
from shared.domain.errors import LeadlineError


def blueprint(deps: Deps, hub: Hub) -> Blueprint:
    """Return the routes for whoever watches over the process."""
    routes = Blueprint("health", __name__)

    @routes.get("/healthz")
    def healthz() -> Response:
        return Response(json.dumps({"status": "ok", "streams": hub.streams()}), content_type=JSON)

    @routes.get("/readyz")
    def readyz() -> Response:
        try:
            deps.reads.ready()
        except LeadlineError as error:
            return answer_unavailable(error)
        return Response(json.dumps({"status": "ready"}), content_type=JSON)

    @routes.get("/metrics")
    def metrics() -> Response:
        deps.observer.streams(hub.streams())
        return Response(deps.exposition.text(), content_type=deps.exposition.media_type)

    return routes
