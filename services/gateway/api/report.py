"""What a run came to: the report in each format, its bundle, and the verdicts on its statements."""

from flask import Blueprint, Response, request

from services.gateway import handlers
from services.gateway.api.exchange import one, read_query
from services.gateway.deps import Deps
from services.gateway.identity import current_holder, current_owner
from services.gateway.parameters import ReportQuery
from shared.domain.ids import RunId

REPORT_PAGE_CSP = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)
"""A report page brings its styles along and runs nothing."""


def blueprint(deps: Deps) -> Blueprint:
    """Return the routes of reports."""
    routes = Blueprint("report", __name__, url_prefix="/api/v1/research-runs/<run_id>")
    reads = deps.reads

    @routes.get("/report")
    def report(run_id: str) -> Response:
        query = read_query(request, ReportQuery)
        run = handlers.checked_run_id(run_id)
        if query.format == "json":
            return one(reads.report(current_owner(), run))
        return _rendered(deps, run, query.format)

    @routes.get("/bundle")
    def bundle(run_id: str) -> Response:
        return _rendered(deps, handlers.checked_run_id(run_id), "bundle")

    @routes.get("/verification")
    def verification(run_id: str) -> Response:
        run = handlers.checked_run_id(run_id)
        return one(reads.verification(current_owner(), run))

    @routes.post("/reverify")
    def reverify(run_id: str) -> Response:
        started = handlers.reverify(deps, current_holder(), handlers.checked_run_id(run_id))
        answer = one(started, 202)
        answer.headers["Location"] = f"/api/v1/research-runs/{started.run_id}"
        return answer

    return routes


def _rendered(deps: Deps, run_id: RunId, name: str) -> Response:
    data, media_type = deps.reads.rendered(current_owner(), run_id, name)
    answer = Response(data, content_type=media_type)
    if name == "html":
        answer.headers["Content-Security-Policy"] = REPORT_PAGE_CSP
    if name == "bundle":
        answer.headers["Content-Disposition"] = f'attachment; filename="{run_id}.zip"'
    return answer
