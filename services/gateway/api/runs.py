"""Runs: start, list, show, delete, and what each did."""

from flask import Blueprint, Response, request

from services.gateway import handlers, rules
from services.gateway.api.exchange import many, one, read_body, read_query
from services.gateway.deps import Deps
from services.gateway.identity import current_holder, current_owner
from services.gateway.parameters import RunsQuery
from shared.contracts.runs import CreateRun


def blueprint(deps: Deps) -> Blueprint:
    """Return the routes about runs."""
    routes = Blueprint("runs", __name__, url_prefix="/api/v1/research-runs")
    reads = deps.reads

    @routes.post("")
    def create_run() -> Response:
        body = read_body(request, CreateRun, deps.limits.max_json_bytes)
        key = rules.idempotency_key(request.headers.get("Idempotency-Key"), body.client_request_id)
        run = handlers.create_run(deps, current_holder(), body, key)
        answer = one(run, 202)
        answer.headers["Location"] = f"/api/v1/research-runs/{run.run_id}"
        return answer

    @routes.get("")
    def list_runs() -> Response:
        query = read_query(request, RunsQuery)
        return one(
            reads.runs(
                current_owner(),
                session_id=query.session_id,
                status=query.status,
                cursor=query.cursor,
                limit=query.limit,
            )
        )

    @routes.get("/<run_id>")
    def show_run(run_id: str) -> Response:
        return one(reads.run(current_owner(), handlers.checked_run_id(run_id)))

    @routes.delete("/<run_id>")
    def delete_run(run_id: str) -> Response:
        deps.controls.delete_run(current_owner(), handlers.checked_run_id(run_id))
        return Response(status=204)

    @routes.get("/<run_id>/steps")
    def list_steps(run_id: str) -> Response:
        return many("steps", reads.steps(current_owner(), handlers.checked_run_id(run_id)))

    @routes.get("/<run_id>/sources")
    def list_sources(run_id: str) -> Response:
        return many("sources", reads.sources(current_owner(), handlers.checked_run_id(run_id)))

    @routes.get("/<run_id>/evidence")
    def list_evidence(run_id: str) -> Response:
        return many("evidence", reads.evidence(current_owner(), handlers.checked_run_id(run_id)))

    @routes.get("/<run_id>/fetches")
    def list_fetches(run_id: str) -> Response:
        return many("fetches", reads.fetches(current_owner(), handlers.checked_run_id(run_id)))

    return routes
