"""One source of a run: what is known of it, and the text that was read."""

from flask import Blueprint, Response

from services.gateway import handlers
from services.gateway.api.exchange import one
from services.gateway.deps import Deps
from services.gateway.identity import current_owner


def blueprint(deps: Deps) -> Blueprint:
    """Return the routes of single sources."""
    routes = Blueprint("sources", __name__, url_prefix="/api/v1/research-runs/<run_id>/sources/<source_id>")

    @routes.get("")
    def show_source(run_id: str, source_id: str) -> Response:
        return one(handlers.source(deps, current_owner(), handlers.checked_run_id(run_id), source_id))

    @routes.get("/snapshot")
    def show_snapshot(run_id: str, source_id: str) -> Response:
        text = handlers.snapshot(deps, current_owner(), handlers.checked_run_id(run_id), source_id)
        return Response(text, content_type="text/plain; charset=utf-8")

    return routes
