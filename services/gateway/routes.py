"""Every route of the API in one table: what it takes, what it answers, and a sentence about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel

from services.gateway.parameters import DocumentsQuery, EventsQuery, HomeQuery, NoParameters, ReportQuery, RunsQuery
from shared.contracts.capabilities import Capabilities
from shared.contracts.evidence import Evidence, Fetch, Source, SourceDetail
from shared.contracts.report import Report, Verification
from shared.contracts.runs import (
    ControlRequest,
    CreateRun,
    Document,
    DocumentPage,
    EditPlan,
    Ingest,
    Reverification,
    Run,
    RunPage,
    StepObject,
)

RUNS = "/api/v1/research-runs"
RUN = f"{RUNS}/{{run_id}}"
SOURCE = f"{RUN}/sources/{{source_id}}"
CAPABILITIES = "/api/v1/capabilities"
DOCUMENTS = "/api/v1/documents"
DOCUMENT = f"{DOCUMENTS}/{{document_id}}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a route answers: one ``model``, a list of them under the name ``many``, or another media type."""

    model: type[BaseModel] | None = None
    many: str | None = None
    media: tuple[str, ...] = ("application/json",)


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path; ``problems`` are the statuses of the errors that it may answer with besides 500, 503."""

    method: str
    path: str
    summary: str
    status: int
    answer: Answer = Answer(media=())
    body: type[BaseModel] | None = None
    uploads: bool = False
    query: type[BaseModel] = NoParameters
    headers: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[int, ...] = ()


_ANY_JSON = Answer()
_KEY = {"Idempotency-Key": "The same key with the same body gives the same run."}
_RESUME = {"Last-Event-ID": "The id of the last event that the client has seen; wins over `after`."}
_REPORTS = ("application/json", "text/markdown", "text/html", "application/zip")

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        RUNS,
        "Start a research run.",
        202,
        Answer(Run),
        CreateRun,
        headers=_KEY,
        problems=(400, 403, 409, 413, 415, 422),
    ),
    Route("GET", RUNS, "List runs, newest first.", 200, Answer(RunPage), query=RunsQuery, problems=(422,)),
    Route("GET", RUN, "Show a run.", 200, Answer(Run), problems=(404,)),
    Route("DELETE", RUN, "Cancel a run and remove everything of it.", 204, problems=(403, 404)),
    Route(
        "PATCH",
        f"{RUN}/plan",
        "Replace the plan that waits for approval.",
        200,
        Answer(Run),
        EditPlan,
        problems=(400, 403, 404, 409, 413, 415, 422),
    ),
    Route(
        "POST",
        f"{RUN}/actions",
        "Approve, pause, resume, refine, retry, cancel, or raise the budget.",
        200,
        Answer(Run),
        ControlRequest,
        problems=(400, 403, 404, 409, 413, 415, 422),
    ),
    Route("GET", f"{RUN}/steps", "List the steps, oldest first.", 200, Answer(StepObject, "steps"), problems=(404,)),
    Route("GET", f"{RUN}/sources", "List the sources.", 200, Answer(Source, "sources"), problems=(404,)),
    Route("GET", SOURCE, "Show a source and what was found in it.", 200, Answer(SourceDetail), problems=(404,)),
    Route(
        "GET",
        f"{SOURCE}/snapshot",
        "Show the text that was read; evidence counts its code points.",
        200,
        Answer(media=("text/plain",)),
        problems=(404,),
    ),
    Route("GET", f"{RUN}/evidence", "List the evidence.", 200, Answer(Evidence, "evidence"), problems=(404,)),
    Route("GET", f"{RUN}/fetches", "Show the fetch log.", 200, Answer(Fetch, "fetches"), problems=(404,)),
    Route(
        "GET",
        f"{RUN}/events",
        "List the events of a run, or follow them with Accept: text/event-stream.",
        200,
        Answer(media=("application/json", "text/event-stream")),
        query=EventsQuery,
        headers=_RESUME,
        problems=(404, 422),
    ),
    Route(
        "GET",
        f"{RUN}/report",
        "Show the newest report.",
        200,
        Answer(Report, media=_REPORTS),
        query=ReportQuery,
        problems=(404, 422),
    ),
    Route(
        "GET",
        f"{RUN}/bundle",
        "Download the newest report with all that is needed to check it.",
        200,
        Answer(media=("application/zip",)),
        problems=(404,),
    ),
    Route(
        "GET",
        f"{RUN}/verification",
        "Show how every drafted statement fared.",
        200,
        Answer(Verification),
        problems=(404,),
    ),
    Route(
        "POST",
        f"{RUN}/reverify",
        "Check the newest report again against what is kept today; a run of kind reverify does it.",
        202,
        Answer(Reverification),
        problems=(403, 404, 409),
    ),
    Route(
        "POST",
        DOCUMENTS,
        "Send documents; a run of kind ingest reads them.",
        202,
        Answer(Ingest),
        uploads=True,
        problems=(403, 411, 413, 415, 422),
    ),
    Route("GET", DOCUMENTS, "List documents, newest first.", 200, Answer(DocumentPage), query=DocumentsQuery),
    Route("GET", DOCUMENT, "Show a document.", 200, Answer(Document), problems=(404,)),
    Route("DELETE", DOCUMENT, "Remove a document from the library.", 204, problems=(403, 404)),
    Route("GET", CAPABILITIES, "Show what this installation is configured for.", 200, Answer(Capabilities)),
    Route("GET", "/healthz", "Tell whether the process lives.", 200, _ANY_JSON),
    Route("GET", "/readyz", "Tell whether the database answers and its schema is current.", 200, _ANY_JSON),
    Route("GET", "/metrics", "Show figures about this process.", 200, Answer(media=("text/plain",))),
    Route("GET", "/openapi.json", "This description as OpenAPI 3.1.", 200, _ANY_JSON),
    Route("GET", "/docs", "This description as a page.", 200, Answer(media=("text/html",))),
)

_PAGE = Answer(media=("text/html",))

PAGES: tuple[Route, ...] = (
    Route("GET", "/", "Runs, and the form for a new one.", 200, _PAGE, query=HomeQuery),
    Route("GET", "/runs/{run_id}", "One run: plan, progress, sources, report.", 200, _PAGE),
    Route("GET", "/documents", "The library.", 200, _PAGE, query=DocumentsQuery),
    Route("GET", "/login", "The form that asks for a key.", 200, _PAGE),
    Route("POST", "/login", "Sign a browser in.", 204),
    Route("DELETE", "/login", "Sign a browser out.", 204),
    Route("GET", "/static/{tag}/{name}", "Scripts and styles of the pages.", 200),
)
"""What the web pages consist of; they are for people and no part of the API's description."""

BY_METHOD_AND_PATH: Mapping[tuple[str, str], Route] = {(route.method, route.path): route for route in (*ROUTES, *PAGES)}
