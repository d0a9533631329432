"""The owner's documents: send, list, show, delete."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from flask import Blueprint, Request, Response, request

from services.gateway import handlers, rules
from services.gateway.api.exchange import check_upload, one, read_query
from services.gateway.deps import Deps
from services.gateway.identity import current_holder, current_owner
from services.gateway.parameters import DocumentsQuery
from services.gateway.problems import Busy
from shared.domain.errors import Invalid
from shared.ports.gateway import Upload

WAIT_S = 30.0
"""How long an upload waits for those before it."""


def blueprint(deps: Deps) -> Blueprint:
    """Return the routes of documents."""
    routes = Blueprint("documents", __name__, url_prefix="/api/v1/documents")
    reads = deps.reads
    gate = threading.BoundedSemaphore(deps.limits.max_uploads_at_once)

    @routes.post("")
    def add_documents() -> Response:
        check_upload(request, deps.limits.max_upload_bytes)
        with _turn(gate):
            ingest = handlers.add_documents(deps, current_holder(), _uploads(request))
        answer = one(ingest, 202)
        answer.headers["Location"] = f"/api/v1/research-runs/{ingest.run_id}"
        return answer

    @routes.get("")
    def list_documents() -> Response:
        query = read_query(request, DocumentsQuery)
        return one(reads.documents(current_owner(), query.cursor, query.limit))

    @routes.get("/<document_id>")
    def show_document(document_id: str) -> Response:
        return one(reads.document(current_owner(), handlers.checked_document_id(document_id)))

    @routes.delete("/<document_id>")
    def delete_document(document_id: str) -> Response:
        deps.controls.delete_document(current_owner(), handlers.checked_document_id(document_id))
        return Response(status=204)

    return routes


@contextmanager
def _turn(gate: threading.BoundedSemaphore) -> Iterator[None]:
    """Hold one of the places for uploads, so that few are in memory at once."""
    if not gate.acquire(timeout=WAIT_S):
        raise Busy("Too many uploads are under way: send the files again in a moment.")
    try:
        yield
    finally:
        gate.release()


def _uploads(sent: Request) -> list[Upload]:
    """Return the files of the form, whatever their fields are called; other fields are refused."""
    if sent.form:
        named = sorted({rules.clean_name(name) for name in sent.form})  # a part may have no name at all
        raise Invalid(f"Unknown fields: {', '.join(named)}. The form holds files only.", field=named[0])
    files = [file for _, file in sent.files.items(multi=True)]
    return [
        Upload(rules.document_name(file.filename, ordinal), file.read()) for ordinal, file in enumerate(files, start=1)
    ]
