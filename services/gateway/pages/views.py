"""The pages that people open: runs, one run, documents."""

from typing import get_args

from flask import Blueprint, Response, request

from services.gateway import handlers
from services.gateway.api.exchange import read_query
from services.gateway.capabilities import capabilities
from services.gateway.deps import Deps
from services.gateway.identity import current_owner
from services.gateway.pages.assets import asset
from services.gateway.pages.rendering import page
from services.gateway.parameters import DocumentsQuery, HomeQuery
from shared.contracts.plan import Endpoint
from shared.domain.engines import is_managed
from shared.domain.file_kinds import FILE_KINDS
from shared.domain.states import FINAL_RUN, RunStatus

RUNS_PER_PAGE = 20


def blueprint(deps: Deps) -> Blueprint:
    """Return the routes of pages and of the files that they load."""
    routes = Blueprint("pages", __name__)
    reads, with_keys = deps.reads, deps.keys is not None

    @routes.get("/")
    def home() -> Response:
        query, owner = read_query(request, HomeQuery), current_owner()
        status = query.status or None
        found = reads.runs(owner, session_id=None, status=status, cursor=query.cursor, limit=RUNS_PER_PAGE)
        return page(
            "home.html",
            here="/",
            with_keys=with_keys,
            runs=found.runs,
            next_cursor=found.next_cursor,
            status=status,
            first_page=query.cursor is None,
            statuses=tuple(RunStatus),
            final=FINAL_RUN,
            offers=capabilities(deps),
            file_kinds=FILE_KINDS,
            has_documents=bool(reads.documents(owner, None, 1).documents),
        )

    @routes.get("/runs/<run_id>")
    def run(run_id: str) -> Response:
        found = reads.run(current_owner(), handlers.checked_run_id(run_id))
        policy, searches = found.source_policy, not is_managed(found.engine)
        endpoints = [name for name in get_args(Endpoint) if searches and policy.allows_endpoint(name)]
        return page("run.html", here="/runs", with_keys=with_keys, run=found, endpoints=endpoints)

    @routes.get("/documents")
    def documents() -> Response:
        query = read_query(request, DocumentsQuery)
        return page(
            "documents.html",
            here="/documents",
            with_keys=with_keys,
            library=reads.documents(current_owner(), query.cursor, query.limit),
            first_page=query.cursor is None,
            offers=capabilities(deps),
            file_kinds=FILE_KINDS,
        )

    @routes.get("/static/<tag>/<name>")
    def static_file(tag: str, name: str) -> Response:
        return asset(tag, name)

    return routes
