"""Problems as pages: what a person opened in a browser and cannot be shown."""

from flask import Flask, Request, Response, request

from services.gateway.pages.rendering import page
from services.gateway.problems import MEDIA_TYPE
from shared.contracts.runs import Problem

NOT_PAGES = ("/api/", "/static/", "/openapi.json", "/healthz", "/readyz", "/metrics")
KEPT = ("Allow", "Retry-After", "Location")
UNAUTHORIZED = 401


def install(app: Flask) -> None:
    """Turn the problem details of a page into a page; the API's stay what they are."""

    @app.after_request
    def leave(response: Response) -> Response:
        if response.mimetype != MEDIA_TYPE or not _is_for_people(request):
            return response
        if response.status_code == UNAUTHORIZED:
            return Response(status=303, headers={"Location": "/login"})
        problem = Problem.model_validate_json(response.get_data())
        answer = page("problem.html", problem.status, here="", with_keys=False, problem=problem)
        for name in KEPT:
            if name in response.headers:
                answer.headers[name] = response.headers[name]
        return answer


def _is_for_people(asked: Request) -> bool:
    """Tell whether a browser asked for a page: it names HTML before all else, programs do not."""
    if asked.method not in ("GET", "HEAD") or asked.path.startswith(NOT_PAGES):
        return False
    return asked.accept_mimetypes.best_match([MEDIA_TYPE, "application/json", "text/html"]) == "text/html"
