"""The gateway's routes over a real database: what is kept, what races, what odd input does."""

from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

import pytest
from flask.testing import FlaskClient

from services.gateway.app import create_app
from services.gateway.deps import Deps
from shared.db.controls import PostgresControls
from shared.db.engine import DatabaseUnreachable, Transactions, open_engine
from shared.db.read_model import PostgresReadModel
from tests.factories.reports import a_plan
from tests.fakes.gateway import Desk, FakeSignals, FakeWatch

RUNS = "/api/v1/research-runs"
DOCUMENTS = "/api/v1/documents"
BODY: dict[str, Any] = {"objective": "When was the channel dredged?", "source_policy": {"documents_all": True}}


def gateway(transactions: Transactions) -> FlaskClient:
    """Return a client of the gateway over a database; what it sends after commits goes nowhere."""
    desk = Desk()
    deps = Deps(
        controls=PostgresControls(transactions),
        reads=PostgresReadModel(transactions),
        signals=FakeSignals(desk),
        watch=FakeWatch(desk),
        outages=(DatabaseUnreachable,),
    )
    return create_app(deps).test_client()


@pytest.fixture
def http(transactions: Transactions) -> FlaskClient:
    """The gateway, with one document in its library."""
    made = gateway(transactions)
    assert send(made, (b"The channel was dredged in 2021.", "a.txt")).status_code == 202
    return made


def send(http: FlaskClient, *files: tuple[bytes, str]) -> Any:
    """Send files as a form."""
    return http.post(DOCUMENTS, data={"files": [(BytesIO(data), name) for data, name in files]})


def test_a_run_is_kept_with_what_was_asked(http: FlaskClient) -> None:
    """The object that is answered is the one that is shown later."""
    answer = http.post(RUNS, json={**BODY, "as_of": "2024-06", "depth": "quick", "budget": {"searches": 3}})
    assert answer.status_code == 202, answer.text
    run = http.get(answer.headers["Location"]).json
    assert (run["objective"], run["as_of"], run["depth"], run["budget"]["searches"]) == (
        BODY["objective"],
        "2024-06",
        "quick",
        3,
    )
    assert http.get(f"{RUNS}/{run['run_id']}/events").json["last_seq"] == run["last_seq"]


def test_requests_with_one_key_at_once_make_one_run(http: FlaskClient) -> None:
    """Whoever loses the race gets the winner's run."""

    def post(_: int) -> str:
        answer = http.application.test_client().post(RUNS, json=BODY, headers={"Idempotency-Key": "k"})
        assert answer.status_code == 202, answer.text
        return str(answer.json["run_id"])

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(post, range(8)))) == 1
    assert len(http.get(RUNS).json["runs"]) == 1
    other = http.post(RUNS, json={**BODY, "objective": "Another?"}, headers={"Idempotency-Key": "k"})
    assert (other.status_code, other.json["type"]) == (409, "/problems/key-reused")


@pytest.mark.parametrize(
    "objective", ["Wie tief?\u0000 \ud83d\ude00", "حفر القناة", "a\u200bb?", "'; drop table runs; --"]
)
def test_text_of_any_kind_can_be_asked(http: FlaskClient, objective: str) -> None:
    """What cannot be stored is cleaned away, the rest comes back as it was."""
    answer = http.post(RUNS, json={**BODY, "objective": objective, "session_id": "s\u0000é"})
    assert answer.status_code == 202, answer.text
    assert answer.json["session_id"] == "sé"
    assert "\u0000" not in answer.json["objective"]


@pytest.mark.parametrize(
    "query",
    ["cursor=garbage", "cursor=%27", "limit=1&cursor=run_zzz", "session_id=%F0%9F%98%80", "session_id=%ED%A0%80"],
)
def test_odd_parameters_are_no_server_error(http: FlaskClient, query: str) -> None:
    """A page, maybe an empty one, or a refusal."""
    for path in (RUNS, DOCUMENTS):
        assert http.get(f"{path}?{query}").status_code in (200, 422)


@pytest.mark.parametrize(("after", "status"), [(0, 200), (2**31 - 1, 200), (2**31, 422), (10**15, 422), (10**40, 422)])
def test_any_sequence_number_may_be_asked_after(http: FlaskClient, after: int, status: int) -> None:
    """Beyond the last one there is nothing; a number that none can have is refused, also where a client resumes."""
    run_id = http.post(RUNS, json=BODY).json["run_id"]
    assert http.get(f"{RUNS}/{run_id}/events?after={after}").status_code == status
    if status == 422:
        resuming = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        assert http.get(f"{RUNS}/{run_id}/events", headers=resuming).status_code == status


def test_actions_out_of_order_are_conflicts(http: FlaskClient) -> None:
    """A plan that is not there yet cannot be approved or changed; cancelling works, twice."""
    run_id = http.post(RUNS, json=BODY).json["run_id"]
    early = http.post(f"{RUNS}/{run_id}/actions", json={"action": "approve_plan"})
    assert early.status_code == 409, early.text
    assert "cancel" in early.json["allowed"]
    plan = {"expected_version": 0, "plan": a_plan().model_dump(mode="json")}
    assert http.patch(f"{RUNS}/{run_id}/plan", json=plan).status_code == 409
    for _ in range(2):
        answer = http.post(f"{RUNS}/{run_id}/actions", json={"action": "cancel"})
        assert (answer.status_code, answer.json["status"]) == (200, "cancelled")


def test_a_deleted_run_leaves_no_route(http: FlaskClient) -> None:
    """404 everywhere, and its key may be used again."""
    headers = {"Idempotency-Key": "k"}
    run_id = http.post(RUNS, json=BODY, headers=headers).json["run_id"]
    assert http.delete(f"{RUNS}/{run_id}").status_code == 204
    for path in ("", "/steps", "/sources", "/evidence", "/fetches", "/events", "/report", "/bundle", "/verification"):
        assert http.get(f"{RUNS}/{run_id}{path}").status_code == 404
    assert http.delete(f"{RUNS}/{run_id}").status_code == 404
    assert http.post(RUNS, json=BODY, headers=headers).json["run_id"] != run_id


def test_documents_are_kept_once(http: FlaskClient) -> None:
    """The same file again, alone or twice in a request, has the id it had."""
    first = http.get(DOCUMENTS).json["documents"][0]["document_id"]
    again = send(http, (b"The channel was dredged in 2021.", "a.txt"), (b"new", "b.txt"), (b"new", "b.txt"))
    assert again.status_code == 202, again.text
    ids = again.json["document_ids"]
    assert ids[0] == first
    assert ids[1] == ids[2]
    assert len(http.get(DOCUMENTS).json["documents"]) == 2
    assert http.delete(f"{DOCUMENTS}/{first}").status_code == 204
    assert http.get(f"{DOCUMENTS}/{first}").status_code == 404


def test_a_database_that_is_away_is_said_quickly() -> None:
    """503 with a time to come back; the process stays healthy."""
    transactions = Transactions(open_engine("postgresql+psycopg://x:x@127.0.0.1:1/x", pool_size=1), patience_s=0.1)
    http = gateway(transactions)
    for answer in (http.get("/readyz"), http.get(RUNS), http.post(RUNS, json=BODY)):
        assert (answer.status_code, answer.json["type"]) == (503, "/problems/unavailable")
        assert answer.headers["Retry-After"]
    assert http.get("/healthz").status_code == 200
    transactions.close()
