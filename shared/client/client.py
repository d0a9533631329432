"""A gateway as a Python object."""

import secrets
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Literal

import requests

from shared.client.following import follow
from shared.client.wire import Wire
from shared.contracts.events import Event
from shared.contracts.plan import Plan
from shared.contracts.report import Report
from shared.contracts.runs import (
    ControlRequest,
    CreateRun,
    Document,
    DocumentPage,
    Ingest,
    Reverification,
    Run,
    RunPage,
    SourcePolicy,
)

ReportFormat = Literal["json", "md", "html", "bundle"]

RUNS = "/api/v1/research-runs"
DOCUMENTS = "/api/v1/documents"
DEFAULT_TIMEOUT_S = 60.0


class LeadlineClient:
    """The gateway at ``address``; every method raises `ClientError` or `Unreachable`."""

    def __init__(
        self,
        address: str,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        session: requests.Session | None = None,
        key: str | None = None,
    ) -> None:
        self.address = address
        self._wire = Wire(address, timeout_s, session, key)

    def ready(self) -> None:
        """Return when the gateway can do its work; raise otherwise."""
        self._wire.call("GET", "/readyz", repeatable=False)

    def create_run(self, request: CreateRun, idempotency_key: str | None = None) -> Run:
        """Start a run; it is started once, also when an answer gets lost and the request is sent again."""
        key = idempotency_key or request.client_request_id or secrets.token_hex(16)
        body = request.model_dump(mode="json", exclude_unset=True)
        return self._wire.one(Run, "POST", RUNS, json=body, headers={"Idempotency-Key": key})

    def run(self, run_id: str) -> Run:
        """Return a run."""
        return self._wire.one(Run, "GET", f"{RUNS}/{run_id}")

    def runs(self, status: str | None = None, limit: int = 100) -> Iterator[Run]:
        """Yield at most ``limit`` runs, newest first, page by page."""
        cursor: str | None = None
        while limit > 0:
            query = {"status": status, "cursor": cursor, "limit": min(limit, 100)}
            page = self._wire.one(RunPage, "GET", RUNS, params=query)
            yield from page.runs
            limit, cursor = limit - len(page.runs), page.next_cursor
            if cursor is None:
                return

    def edit_plan(
        self, run_id: str, expected_version: int, plan: Plan, source_policy: SourcePolicy | None = None
    ) -> Run:
        """Replace the plan that waits for approval, and the source policy if one is given."""
        body = {"expected_version": expected_version, "plan": plan.model_dump(mode="json")}
        if source_policy is not None:
            body["source_policy"] = source_policy.model_dump(mode="json")
        return self._wire.one(Run, "PATCH", f"{RUNS}/{run_id}/plan", json=body)

    def act(self, run_id: str, control: ControlRequest) -> Run:
        """Carry out an action; return the run after it."""
        body = control.model_dump(mode="json", exclude_none=True)
        return self._wire.one(Run, "POST", f"{RUNS}/{run_id}/actions", json=body)

    def events(self, run_id: str, after: int = 0) -> Iterator[Event]:
        """Yield the run's events over ``after`` as they happen, each once and in order, until the run has ended."""
        return follow(self._wire, f"{RUNS}/{run_id}/events", after)

    def wait(self, run_id: str) -> Run:
        """Return the run when it has ended."""
        for _ in self.events(run_id):
            continue
        return self.run(run_id)

    def report(self, run_id: str) -> Report:
        """Return the newest report."""
        return self._wire.one(Report, "GET", f"{RUNS}/{run_id}/report")

    def reverify(self, run_id: str) -> Reverification:
        """Have the newest report checked again; return the run that does it, which `wait` waits for."""
        return self._wire.one(Reverification, "POST", f"{RUNS}/{run_id}/reverify")

    def rendered(self, run_id: str, fmt: ReportFormat) -> bytes:
        """Return the newest report as a file."""
        path = f"{RUNS}/{run_id}/report"
        return self._wire.call("GET", path, repeatable=True, params={"format": fmt}).content

    def upload(self, files: Sequence[tuple[str, bytes | BinaryIO]]) -> Ingest:
        """Send files under their names; return the run that reads them, which `wait` waits for, and their ids."""
        parts = [("files", (name, data)) for name, data in files]
        return self._wire.one(Ingest, "POST", DOCUMENTS, files=parts)

    def documents(self) -> Iterator[Document]:
        """Yield all documents, newest first, page by page."""
        cursor: str | None = None
        while True:
            page = self._wire.one(DocumentPage, "GET", DOCUMENTS, params={"cursor": cursor, "limit": 200})
            yield from page.documents
            cursor = page.next_cursor
            if cursor is None:
                return

    def document(self, document_id: str) -> Document:
        """Return a document."""
        return self._wire.one(Document, "GET", f"{DOCUMENTS}/{document_id}")
