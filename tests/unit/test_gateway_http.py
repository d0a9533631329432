"""The HTTP semantics of the gateway, over in-memory ports."""

import json
from io import BytesIO
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from services.gateway.app import Limits, create_app
from services.gateway.doors import CONTENT_SECURITY_POLICY
from shared.domain.ids import OwnerId, RunId
from shared.domain.states import RunStatus, StepKind
from tests.factories.reports import a_plan
from tests.fakes.gateway import Desk, fake_deps

RUNS = "/api/v1/research-runs"
DOCUMENTS = "/api/v1/documents"
FORM = "multipart/form-data; boundary=x"
BODY: dict[str, Any] = {"objective": "When was the channel dredged?", "source_policy": {"documents_all": True}}


@pytest.fixture
def desk() -> Desk:
    """The state behind the gateway."""
    return Desk()


@pytest.fixture
def http(desk: Desk) -> FlaskClient:
    """A client of the gateway, which takes documents of up to 1,000 bytes."""
    return create_app(fake_deps(desk, Limits(max_document_bytes=1000))).test_client()


def start(http: FlaskClient, **changes: Any) -> str:
    """Start a run and return its id."""
    answer = http.post(RUNS, json={**BODY, **changes})
    assert answer.status_code == 202, answer.text
    return str(answer.json["run_id"])


def problem(answer: TestResponse, status: int, slug: str) -> dict[str, Any]:
    """Check that an answer is problem details of this kind, and return them."""
    assert (answer.status_code, answer.mimetype) == (status, "application/problem+json"), answer.text
    body: dict[str, Any] = answer.json
    assert body["type"] == f"/problems/{slug}"
    assert body["status"] == status
    assert body["detail"].endswith(".")
    return body


def test_a_run_is_accepted_with_its_place_and_its_wake_up_sent(http: FlaskClient, desk: Desk) -> None:
    """202, Location, the run object; what the commit gave was sent."""
    answer = http.post(RUNS, json=BODY)
    run = answer.json
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"{RUNS}/{run['run_id']}"
    assert (run["status"], run["engine"], run["plan_version"]) == ("awaiting_plan_approval", "extractive", 1)
    assert [wake_up.kind for wake_up in desk.sent] == [StepKind.PLAN]
    assert [event.seq for event in desk.published] == [1, 2, 3, 4]
    assert http.get(answer.headers["Location"]).json == run


def test_the_same_key_and_body_give_the_same_run(http: FlaskClient, desk: Desk) -> None:
    """A repeated request makes no second run, whether the key is a header or a field."""
    first = http.post(RUNS, json=BODY, headers={"Idempotency-Key": "k1"}).json["run_id"]
    assert http.post(RUNS, json=BODY, headers={"Idempotency-Key": "k1"}).json["run_id"] == first
    field = {**BODY, "client_request_id": "k2"}
    assert start(http, client_request_id="k2") == http.post(RUNS, json=field).json["run_id"]
    assert len(desk.runs) == 2


def test_the_same_key_with_another_body_is_a_conflict(http: FlaskClient) -> None:
    """409, and no run."""
    http.post(RUNS, json=BODY, headers={"Idempotency-Key": "k"})
    other = {**BODY, "objective": "Something else?"}
    problem(http.post(RUNS, json=other, headers={"Idempotency-Key": "k"}), 409, "key-reused")


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"objective": ""}, "objective", "empty"),
        ({"objective": " \n\t "}, "objective", "empty"),
        ({"objective": "\u0000\u200b"}, "objective", "empty"),
        ({"objective": "x" * 4001}, "objective", "4,001 characters"),
        ({"objective": 7}, "objective", "string"),
        ({"depth": "deep"}, "depth", "standard"),
        ({"as_of": "2023-13"}, "as_of", "2023-13"),
        ({"as_of": "spring"}, "as_of", "pattern"),
        ({"source_policy": {}}, "source_policy", "no sources"),
        ({"source_policy": {"document_ids": ["doc_x"]}}, "source_policy.document_ids", "doc_x"),
        ({"colour": "red", "budget": {"luck": 1}}, "budget.luck", "Unknown fields: budget.luck, colour"),
    ],
)
def test_what_cannot_be_carried_out_names_its_field(
    http: FlaskClient, desk: Desk, change: dict[str, Any], field: str, says: str
) -> None:
    """422 with the field and a sentence, and no run."""
    body = problem(http.post(RUNS, json={**BODY, **change}), 422, "invalid")
    assert body["field"] == field
    assert says in body["detail"]
    assert not desk.runs


def test_a_missing_objective_is_named(http: FlaskClient) -> None:
    """The field that lacks is in the answer."""
    body = problem(http.post(RUNS, json={}), 422, "invalid")
    assert (body["field"], body["detail"]) == ("objective", "The field objective is missing.")


@pytest.mark.parametrize("data", ["", "{", "[" * 60_000, '{"objective": NaN}', '{"objective": "\\ud800"}', b"\xff{}"])
def test_a_body_that_is_no_json_is_malformed(http: FlaskClient, data: str | bytes) -> None:
    """400, also for nesting without end and for what JSON does not allow."""
    problem(http.post(RUNS, data=data, content_type="application/json"), 400, "malformed")


def test_a_body_that_is_no_object_is_refused(http: FlaskClient) -> None:
    """A list is JSON, but no request."""
    problem(http.post(RUNS, data="[]", content_type="application/json"), 422, "invalid")


def test_a_body_of_another_media_type_is_refused(http: FlaskClient) -> None:
    """415 tells which one to send."""
    answer = http.post(RUNS, data=json.dumps(BODY), content_type="text/plain")
    assert "application/json" in problem(answer, 415, "wrong-media-type")["detail"]


def test_a_body_over_64_kilobytes_is_too_large(http: FlaskClient) -> None:
    """413, with a declared length and without."""
    data = json.dumps({**BODY, "session_id": "x" * 65_536}).encode()
    problem(http.post(RUNS, data=data, content_type="application/json"), 413, "too-large")
    chunked = {"wsgi.input_terminated": True, "CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}
    answer = http.post(RUNS, input_stream=BytesIO(data), content_type="application/json", environ_overrides=chunked)
    problem(answer, 413, "too-large")


@pytest.mark.parametrize("path", ["", "/plan", "/actions", "/steps", "/events", "/report", "/bundle", "/verification"])
@pytest.mark.parametrize("run_id", ["run_00000000000000000000000000", "x", "%00", "a'b", "x" * 500])
def test_a_run_that_does_not_exist_is_not_found(http: FlaskClient, run_id: str, path: str) -> None:
    """404 on every route below a run, whatever the id looks like."""
    bodies: dict[str, Any] = {
        "/plan": {"expected_version": 1, "plan": a_plan().model_dump(mode="json")},
        "/actions": {"action": "cancel"},
    }
    method = {"/plan": "PATCH", "/actions": "POST"}.get(path, "GET")
    problem(http.open(f"{RUNS}/{run_id}{path}", method=method, json=bodies.get(path)), 404, "not-found")


def test_another_owners_run_is_not_found(http: FlaskClient, desk: Desk) -> None:
    """404, not 403: ids of others tell nothing."""
    run_id = start(http)
    desk.owners[run_id] = OwnerId("own_other")
    for path in ("", "/steps", "/sources", "/evidence", "/fetches", "/events", "/report", "/verification"):
        problem(http.get(f"{RUNS}/{run_id}{path}"), 404, "not-found")
    problem(http.delete(f"{RUNS}/{run_id}"), 404, "not-found")


def test_runs_are_listed_by_page_newest_first(http: FlaskClient) -> None:
    """The cursor of one page asks for the next; the last has none."""
    made = [start(http) for _ in range(5)]
    seen, cursor = [], None
    while True:
        page = http.get(RUNS, query_string={"limit": 2, **({"cursor": cursor} if cursor else {})}).json
        seen += [run["run_id"] for run in page["runs"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == made[::-1]
    assert http.get(RUNS, query_string={"status": "completed"}).json["runs"] == []


@pytest.mark.parametrize(
    ("path", "field"),
    [
        (f"{RUNS}?limit=0", "limit"),
        (f"{RUNS}?limit=many", "limit"),
        (f"{RUNS}?status=happy", "status"),
        (f"{RUNS}?session_id=%00", "session_id"),
        (f"{RUNS}?cursor=%00", "cursor"),
        (f"{RUNS}?limit=1&limit=2", "limit"),
        (f"{RUNS}?colour=red", "colour"),
        (f"{RUNS}/x/report?format=docx", "format"),
        (f"{RUNS}/x/steps?after=1", "after"),
        (f"{RUNS}/x/events?after=-1", "after"),
        ("/healthz?x=1", "x"),
    ],
)
def test_odd_or_unknown_parameters_are_refused_by_name(http: FlaskClient, path: str, field: str) -> None:
    """422 names the parameter before anything is looked up."""
    assert problem(http.get(path), 422, "invalid")["field"] == field


def test_a_plan_is_edited_by_version(http: FlaskClient) -> None:
    """The right version replaces the plan, an older one is stale and told the current."""
    run_id = start(http)
    plan = {**a_plan().model_dump(mode="json"), "title": "Another title"}
    run = http.patch(f"{RUNS}/{run_id}/plan", json={"expected_version": 1, "plan": plan}).json
    assert (run["plan_version"], run["plan"]["title"]) == (2, "Another title")
    stale = problem(
        http.patch(f"{RUNS}/{run_id}/plan", json={"expected_version": 1, "plan": plan}), 409, "stale-version"
    )
    assert stale["current_version"] == 2


def test_limits_are_edited_with_the_plan(http: FlaskClient, desk: Desk) -> None:
    """Those that are named change, all others stay; an unknown name is refused."""
    run_id = start(http)
    change = {"expected_version": 1, "plan": a_plan().model_dump(mode="json"), "budget": {"searches": 3}}
    assert http.patch(f"{RUNS}/{run_id}/plan", json=change).json["budget"] == {"searches": 3}
    odd = {**change, "expected_version": 2, "budget": {"luck": 1}}
    assert problem(http.patch(f"{RUNS}/{run_id}/plan", json=odd), 422, "invalid")["field"] == "budget.luck"


def test_a_plan_whose_ids_do_not_resolve_is_refused(http: FlaskClient) -> None:
    """422 says which question is unknown."""
    plan = a_plan().model_dump(mode="json")
    plan["search_tasks"][0]["question_ids"] = ["q7"]
    answer = http.patch(f"{RUNS}/{start(http)}/plan", json={"expected_version": 1, "plan": plan})
    assert "q7" in problem(answer, 422, "invalid")["detail"]


def test_actions_are_carried_out_and_may_be_repeated(http: FlaskClient, desk: Desk) -> None:
    """Approving twice and cancelling twice answers 200 both times and happens once."""
    run_id = start(http)
    approve = {"action": "approve_plan", "expected_version": 1}
    for _ in range(2):
        assert http.post(f"{RUNS}/{run_id}/actions", json=approve).json["status"] == "queued"
    for _ in range(2):
        answer = http.post(f"{RUNS}/{run_id}/actions", json={"action": "cancel"})
        assert (answer.status_code, answer.json["status"]) == (200, "cancelled")
    statuses = [event.payload["to"] for event in desk.events[RunId(run_id)] if event.type == "status_changed"]
    assert statuses == ["planning", "awaiting_plan_approval", "queued", "cancelled"]


def test_approving_after_the_end_of_an_approved_run_is_no_error(http: FlaskClient, desk: Desk) -> None:
    """A client that repeats its approval late gets the run as it is."""
    desk.ending = (RunStatus.COMPLETED, "finished")
    run_id = start(http)
    for _ in range(2):
        answer = http.post(f"{RUNS}/{run_id}/actions", json={"action": "approve_plan"})
        assert (answer.status_code, answer.json["status"]) == (200, "completed")


def test_an_action_that_is_not_possible_says_what_is(http: FlaskClient, desk: Desk) -> None:
    """409 lists the allowed actions."""
    run_id = start(http)
    desk.move(RunId(run_id), RunStatus.FAILED)
    body = problem(http.post(f"{RUNS}/{run_id}/actions", json={"action": "cancel"}), 409, "illegal-action")
    assert body["allowed"] == ["retry"]
    stale = http.post(f"{RUNS}/{start(http)}/actions", json={"action": "approve_plan", "expected_version": 9})
    assert problem(stale, 409, "stale-version")["current_version"] == 1
    unknown = http.post(f"{RUNS}/{run_id}/actions", json={"action": "fly"})
    assert problem(unknown, 422, "invalid")["field"] == "action"


def test_a_second_open_run_of_a_session_is_a_conflict(http: FlaskClient) -> None:
    """409 names the field."""
    start(http, session_id="s")
    assert problem(http.post(RUNS, json={**BODY, "session_id": "s"}), 409, "conflict")["field"] == "session_id"


def test_a_deleted_run_is_gone(http: FlaskClient) -> None:
    """204 without a body, then 404."""
    run_id = start(http)
    answer = http.delete(f"{RUNS}/{run_id}")
    assert (answer.status_code, answer.data) == (204, b"")
    problem(http.get(f"{RUNS}/{run_id}"), 404, "not-found")


def test_rows_of_a_run_come_under_their_name(http: FlaskClient) -> None:
    """Each list is an object with one field."""
    run_id = start(http)
    for noun in ("steps", "sources", "evidence", "fetches"):
        assert http.get(f"{RUNS}/{run_id}/{noun}").json == {noun: []}


def test_events_are_listed_after_a_sequence_number(http: FlaskClient) -> None:
    """Without the event-stream media type the answer is JSON; `last_seq` asks for the rest."""
    run_id = start(http)
    body = http.get(f"{RUNS}/{run_id}/events?after=1&limit=2").json
    assert [event["seq"] for event in body["events"]] == [2, 3]
    assert body["last_seq"] == 3
    assert body["events"][0]["to"] == "planning"
    assert http.get(f"{RUNS}/{run_id}/events?after=9").json == {"events": [], "last_seq": 9}


def test_a_report_is_given_in_each_format(http: FlaskClient, desk: Desk) -> None:
    """404 while there is none; then data, text, page and bundle, the page with a policy that runs nothing."""
    desk.ending = (RunStatus.COMPLETED, "finished")
    run_id = start(http)
    for path in ("report", "report?format=md", "bundle", "verification"):
        problem(http.get(f"{RUNS}/{run_id}/{path}"), 404, "not-found")
    http.post(f"{RUNS}/{run_id}/actions", json={"action": "approve_plan"})
    report = http.get(f"{RUNS}/{run_id}/report")
    assert report.json["title"] == "The channel"
    assert http.get(f"{RUNS}/{run_id}/report?format=md").mimetype == "text/markdown"
    page = http.get(f"{RUNS}/{run_id}/report?format=html")
    assert page.mimetype == "text/html"
    assert "sandbox" in page.headers["Content-Security-Policy"]
    for path in ("bundle", "report?format=bundle"):
        bundle = http.get(f"{RUNS}/{run_id}/{path}")
        assert bundle.data.startswith(b"PK")
        assert bundle.headers["Content-Disposition"] == f'attachment; filename="{run_id}.zip"'
    verification = http.get(f"{RUNS}/{run_id}/verification").json
    assert (verification["summary"]["emitted"], verification["verdicts"]) == (1, [])


def send(http: FlaskClient, *files: tuple[bytes, str], **fields: str) -> TestResponse:
    """Send files as a form."""
    return http.post(DOCUMENTS, data={"files": [(BytesIO(data), name) for data, name in files], **fields})


def test_documents_are_taken_in_listed_shown_and_deleted(http: FlaskClient) -> None:
    """One request with two files gives two ids in their order; sending one again gives the same id."""
    answer = send(http, (b"one", "a.txt"), (b"two", "sub/b.md"))
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"{RUNS}/{answer.json['run_id']}"
    first, second = answer.json["document_ids"]
    assert send(http, (b"one", "a.txt")).json["document_ids"] == [first]
    assert [d["document_id"] for d in http.get(DOCUMENTS).json["documents"]] == [second, first]
    assert http.get(f"{DOCUMENTS}/{second}").json["name"] == "sub/b.md"
    assert http.delete(f"{DOCUMENTS}/{second}").status_code == 204
    problem(http.get(f"{DOCUMENTS}/{second}"), 404, "not-found")
    problem(http.delete(f"{DOCUMENTS}/%00"), 404, "not-found")


def test_uploads_that_hold_nothing_are_refused(http: FlaskClient, desk: Desk) -> None:
    """No file, an empty file beside a full one, or another field: 422 and nothing is kept."""
    problem(http.post(DOCUMENTS, data=b"--x--\r\n", content_type=FORM), 422, "invalid")
    assert "b.txt" in problem(send(http, (b"x", "a.txt"), (b"", "b.txt")), 422, "invalid")["detail"]
    assert problem(send(http, (b"x", "a.txt"), colour="red"), 422, "invalid")["field"] == "colour"
    assert not desk.documents


def test_uploads_that_are_too_large_are_refused(http: FlaskClient, desk: Desk) -> None:
    """One file over the limit of a document, or a request over that of uploads: 413."""
    assert "big.txt" in problem(send(http, (b"x" * 1001, "big.txt")), 413, "too-large")["detail"]
    problem(http.post(DOCUMENTS, data=b"x" * 2_000_000, content_type=FORM), 413, "too-large")
    assert not desk.documents


def test_uploads_that_are_no_form_are_refused(http: FlaskClient) -> None:
    """A form with a declared length, or nothing."""
    problem(http.post(DOCUMENTS, data=b"x", content_type="text/plain"), 415, "wrong-media-type")
    unsized = {"input_stream": BytesIO(b"--x--"), "environ_overrides": {"HTTP_TRANSFER_ENCODING": "chunked"}}
    problem(http.post(DOCUMENTS, content_type=FORM, **unsized), 411, "length-required")


def test_an_unreachable_database_is_unavailable_for_now(http: FlaskClient, desk: Desk) -> None:
    """503 with Retry-After on requests and readiness; the process itself stays healthy."""
    desk.down = True
    for answer in (http.post(RUNS, json=BODY), http.get(f"{RUNS}/run_1"), http.get("/readyz")):
        problem(answer, 503, "unavailable")
        assert answer.headers["Retry-After"] == "2"
    assert http.get("/healthz").json == {"status": "ok", "streams": 0}
    desk.down = False
    assert http.get("/readyz").json == {"status": "ready"}


def test_an_unforeseen_error_shows_no_internals(
    http: FlaskClient, desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """500 with a request id; the cause stands in the log under it."""
    run_id = start(http)
    del desk.runs[RunId(run_id)]
    answer = http.get(f"{RUNS}/{run_id}")
    body = problem(answer, 500, "internal")
    assert "KeyError" not in answer.text
    assert answer.headers["X-Request-Id"] in body["detail"]
    assert answer.headers["X-Request-Id"] in caplog.text
    assert "KeyError" in caplog.text


def test_unknown_paths_and_methods_are_problems_too(http: FlaskClient) -> None:
    """404, and 405 with the methods that there are."""
    problem(http.get("/api/v1/nothing"), 404, "not-found")
    answer = http.put(RUNS)
    problem(answer, 405, "method-not-allowed")
    assert "POST" in answer.headers["Allow"]


def test_every_answer_carries_the_security_headers(http: FlaskClient) -> None:
    """Pages, data, problems and refusals alike."""
    for path in ("/healthz", "/docs", RUNS, "/nothing", f"{RUNS}?x=1"):
        headers = http.get(path).headers
        assert headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in CONTENT_SECURITY_POLICY


def test_only_loopback_names_are_answered_on_loopback(http: FlaskClient) -> None:
    """A name that was pointed here gets 403, also for reading; this machine's own names are served."""
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
        problem(http.get(RUNS, headers={"Host": host}), 403, "forbidden")
    for host in ("127.0.0.1:8000", "localhost", "[::1]:8000"):
        assert http.get(RUNS, headers={"Host": host}).status_code == 200


def test_pages_of_other_sites_may_change_nothing(http: FlaskClient, desk: Desk) -> None:
    """A foreign Origin or fetch context gets 403 on every method that changes something."""
    foreign = [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
    for headers in foreign:
        problem(http.post(RUNS, json=BODY, headers=headers), 403, "forbidden")
        problem(http.delete(f"{RUNS}/x", headers=headers), 403, "forbidden")
    assert not desk.runs
    assert http.post(RUNS, json=BODY, headers={"Origin": "http://localhost"}).status_code == 202
