"""What this installation is configured for."""

from flask import Blueprint, Response

from services.gateway.api.exchange import one
from services.gateway.capabilities import capabilities
from services.gateway.deps import Deps


def blueprint(deps: Deps) -> Blueprint:
    """Return the route of capabilities."""
    routes = Blueprint("capabilities", __name__)

    @routes.get("/api/v1/capabilities")
    def show_capabilities() -> Response:
        return one(capabilities(deps))

    return routes
