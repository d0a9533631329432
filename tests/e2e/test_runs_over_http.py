"""Runs over HTTP with the real processes: approval, idempotency, events, live progress, cancelling."""

import json
import threading

import psycopg
import redis
import requests
from psycopg.types.json import Jsonb

from tests.support.api import Api
from tests.support.stack import Stack, wait_until

QUESTION = "How deep below datum does bedrock lie under the outer sill of Sollander Lock?"


def body(documents: list[str], **changes: object) -> dict[str, object]:
    """Return a request that waits for approval."""
    return {"objective": QUESTION, "depth": "quick", "source_policy": {"document_ids": documents}, **changes}


def waiting(api: Api, documents: list[str]) -> str:
    """Create a run and wait until its plan is up for approval."""
    run_id = str(api.call("POST", "/research-runs", json=body(documents)).json()["run_id"])
    wait_until(lambda: api.run(run_id)["status"] == "awaiting_plan_approval", "the plan is ready")
    return run_id


def act(api: Api, run_id: str, action: str, **more: object) -> requests.Response:
    """Post an action."""
    return api.call("POST", f"/research-runs/{run_id}/actions", json={"action": action, **more})


def test_a_plan_waits_for_approval_and_may_be_edited(api: Api, documents: list[str]) -> None:
    """An edit makes a new version; approving or editing a stale one is a 409 that names the current version."""
    run_id = waiting(api, documents)
    plan = api.run(run_id)["plan"]
    edited = {**plan, "title": "Edited"}
    path = f"/research-runs/{run_id}/plan"
    assert api.call("PATCH", path, json={"expected_version": 1, "plan": edited}).json()["plan_version"] == 2
    stale = api.call("PATCH", path, json={"expected_version": 1, "plan": edited})
    assert (stale.status_code, stale.json()["current_version"]) == (409, 2)
    assert act(api, run_id, "approve_plan", expected_version=1).status_code == 409
    assert act(api, run_id, "approve_plan", expected_version=2).status_code == 200
    run = api.finish(run_id)
    assert (run["status"], run["plan"]["title"]) == ("completed", "Edited")
    refused = act(api, run_id, "cancel")
    assert (refused.status_code, refused.json()["allowed"]) == (409, [])


def test_an_idempotency_key_over_http(api: Api, documents: list[str]) -> None:
    """Same key and body: the same run; another body: 409."""
    headers = {"Idempotency-Key": "harbor-1"}
    answers = [api.call("POST", "/research-runs", json=body(documents), headers=headers) for _ in range(3)]
    assert {a.status_code for a in answers} == {202}
    assert len({a.json()["run_id"] for a in answers}) == 1
    other = api.call("POST", "/research-runs", json=body(documents, depth="standard"), headers=headers)
    assert other.status_code == 409
    act(api, answers[0].json()["run_id"], "cancel")


def test_cancel_ends_a_run_for_good(api: Api, documents: list[str]) -> None:
    """Nothing is recorded after the cancellation, and the stream of events ends with it."""
    run_id = waiting(api, documents)
    assert act(api, run_id, "cancel").json()["status"] == "cancelled"
    last = api.run(run_id)["last_seq"]
    assert api.events(run_id)[-1]["to"] == "cancelled"
    assert api.run(run_id)["last_seq"] == last


def test_a_plain_redis_client_sees_live_progress(api: Api, documents: list[str], stack: Stack) -> None:
    """Whoever subscribes to the run's channel gets the events as JSON, the same as the table holds."""
    run_id = waiting(api, documents)
    with redis.Redis.from_url(stack.redis_url) as client, client.pubsub(ignore_subscribe_messages=True) as pubsub:
        pubsub.subscribe(f"leadline:runs:{run_id}")
        wait_until(lambda: client.pubsub_numsub(f"leadline:runs:{run_id}")[0][1] == 1, "the subscription holds")
        act(api, run_id, "approve_plan")
        seen: list[dict[str, object]] = []

        def heard() -> bool:
            message = pubsub.get_message(timeout=0.2)
            if message:
                seen.append(json.loads(message["data"]))
            return any(e.get("to") == "completed" for e in seen)

        wait_until(heard, "the run is seen to complete")
    table = {e["seq"]: e for e in api.events(run_id)}
    assert all(table[e["seq"]] == e for e in seen)
    assert {"progress", "evidence_added", "report_ready"} <= {e["type"] for e in seen}


def stream(address: str, run_id: str, after: int, limit: int | None = None) -> list[tuple[int, str]]:
    """Read server-sent events after a sequence number, to the end or for a number of events; return ids and types."""
    url = f"{address}/api/v1/research-runs/{run_id}/events"
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
    got: list[tuple[int, str]] = []
    number, kind = 0, ""
    with requests.get(url, headers=headers, stream=True, timeout=60) as answer:
        for line in answer.iter_lines(decode_unicode=True):
            field, _, value = line.partition(":")
            if field == "id":
                number = int(value)
            elif field == "event":
                kind = value.strip()
            elif not line and kind:
                if kind == "end":
                    return got
                got.append((number, kind))
                kind = ""
                if limit is not None and len(got) == limit:
                    return got
    return got


def test_a_stream_resumes_without_gap_or_repeat(api: Api, documents: list[str], stack: Stack) -> None:
    """Two clients see the same; one that reconnects with Last-Event-ID misses nothing and sees nothing twice."""
    run_id = waiting(api, documents)
    whole: list[tuple[int, str]] = []
    follower = threading.Thread(target=lambda: whole.extend(stream(stack.address, run_id, 0)))
    follower.start()
    first = stream(stack.address, run_id, 0, limit=4)
    act(api, run_id, "approve_plan")
    second = stream(stack.address, run_id, first[-1][0], limit=3)
    rest = stream(stack.address, run_id, second[-1][0])
    follower.join(60)
    table = [(e["seq"], e["type"]) for e in api.events(run_id)]
    assert first + second + rest == table == whole
    assert [seq for seq, _ in table] == list(range(1, len(table) + 1))


def test_bad_requests_are_problems_that_say_what_to_do(api: Api, documents: list[str]) -> None:
    """Wrong bodies, unknown runs and unknown documents are problem details with a sentence."""
    for changes, status in (
        ({"objective": ""}, 422),
        ({"objective": "x" * 4001}, 422),
        ({"source_policy": {}}, 422),
        ({"source_policy": {"document_ids": ["doc_nothing"]}}, 422),
        ({"budget": {"searches": 10_000}}, 422),
        ({"surprise": 1}, 422),
    ):
        answer = api.call("POST", "/research-runs", json=body(documents, **changes))
        assert answer.status_code == status, answer.text
        assert answer.headers["Content-Type"].startswith("application/problem+json")
        assert answer.json()["detail"].endswith((".", "!", "?"))
    assert api.call("GET", "/research-runs/run_nothing").status_code == 404


def test_two_documents_with_the_same_bytes_are_read_once(api: Api, stack: Stack) -> None:
    """A document that comes again is the same document; under another name it shares the snapshot."""
    data = b"The quay of Lorrimouth is 310 metres long. It was lengthened in 2018 by the port authority.\n"
    first = api.call("POST", "/documents", files=[("files", ("quay.txt", data))]).json()
    api.finish(first["run_id"])
    again = api.call("POST", "/documents", files=[("files", ("quay.txt", data)), ("files", ("copy.txt", data))]).json()
    api.finish(again["run_id"])
    assert again["document_ids"][0] == first["document_ids"][0]
    one, two = (api.json(f"/documents/{i}") for i in again["document_ids"])
    assert one["snapshot_sha256"] == two["snapshot_sha256"]
    assert one["document_id"] != two["document_id"]


def test_a_report_is_checked_again(api: Api, documents: list[str], stack: Stack) -> None:
    """All verdicts come out the same; once a cited text is gone, what rests on it can be resolved no more."""
    run_id = waiting(api, documents)
    path = f"/research-runs/{run_id}/reverify"
    assert api.call("POST", path).status_code == 404
    act(api, run_id, "approve_plan")
    api.complete(run_id)
    first = reverified(api, run_id)
    assert (first["run_id"], first["report_version"], first["changed"]) == (run_id, 1, [])
    kept = api.json(f"/research-runs/{run_id}/verification")
    assert first["verdicts"] == kept["verdicts"] != []
    lost = next(v for v in kept["verdicts"] if v["emitted"])
    evidence = {e["evidence_id"]: e for e in api.json(f"/research-runs/{run_id}/evidence")["evidence"]}
    snapshot = evidence[lost["evidence_ids"][0]]["snapshot_sha256"]
    with psycopg.connect(stack.database_url.replace("+psycopg", "")) as connection:
        row = connection.execute("select to_jsonb(s) from snapshots s where sha256 = %s", [snapshot]).fetchone()
        connection.execute("delete from snapshots where sha256 = %s", [snapshot])
    second = reverified(api, run_id)
    verdicts = {v["statement_id"]: v["verdict"] for v in second["verdicts"]}
    assert lost["statement_id"] in second["changed"]
    assert {verdicts[i] for i in second["changed"]} == {"unresolvable"}
    assert api.run(run_id)["status"] == "completed"
    assert len(api.json(f"/research-runs/{run_id}/verification")["reverifications"]) == 2
    with psycopg.connect(stack.database_url.replace("+psycopg", "")) as connection:  # other tests cite it too
        back = "insert into snapshots select * from jsonb_populate_record(null::snapshots, %s)"
        connection.execute(back, [Jsonb(row[0] if row else {})])


def reverified(api: Api, run_id: str) -> dict[str, object]:
    """Have a report checked again; return what came of it."""
    answer = api.call("POST", f"/research-runs/{run_id}/reverify")
    assert answer.status_code == 202, answer.text
    again = answer.json()["run_id"]
    assert answer.headers["Location"].endswith(again)
    api.complete(again)
    assert api.run(again)["of_run_id"] == run_id
    return dict(api.json(f"/research-runs/{again}/verification"))
