"""The plan and the actions of a run: change, approve, cancel."""

from flask import Blueprint, Response, request

from services.gateway import handlers
from services.gateway.api.exchange import one, read_body
from services.gateway.deps import Deps
from services.gateway.identity import current_holder, current_owner
from shared.contracts.runs import ControlRequest, EditPlan


def blueprint(deps: Deps) -> Blueprint:
    """Return the routes that steer a run."""
    routes = Blueprint("plan", __name__, url_prefix="/api/v1/research-runs/<run_id>")

    @routes.patch("/plan")
    def edit_plan(run_id: str) -> Response:
        body = read_body(request, EditPlan, deps.limits.max_json_bytes)
        return one(handlers.edit_plan(deps, current_owner(), handlers.checked_run_id(run_id), body))

    @routes.post("/actions")
    def act(run_id: str) -> Response:
        body = read_body(request, ControlRequest, deps.limits.max_json_bytes)
        return one(handlers.act(deps, current_holder(), handlers.checked_run_id(run_id), body))

    return routes
