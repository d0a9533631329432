"""Owners and their keys, over real Postgres and the whole application: nobody reaches what is somebody else's."""

import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from flask.testing import FlaskClient
from sqlalchemy import text

from services.gateway.app import Deps, create_app, hub_of
from services.gateway.deps import Limits
from services.gateway.routes import ROUTES
from shared.contracts.runs import ControlRequest, CreateRun, SourcePolicy
from shared.db.engine import Transactions
from shared.db.keys import PostgresKeys
from shared.domain.errors import NotFound
from shared.domain.keys import read_key
from shared.ports.gateway import Upload
from tests.fakes.gateway import Desk, FakeSignals, FakeWatch
from tests.support.stage import ALL_KINDS, Stage

OPEN = ("/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/api/v1/capabilities")


@dataclass(frozen=True)
class House:
    """An application with keys, and what one of its owners has."""

    client: FlaskClient
    mine: str
    theirs: str
    run_id: str
    document_id: str


@pytest.fixture
def house(transactions: Transactions) -> Iterator[House]:
    """Two owners, each with a key; the first has a run and a document."""
    stage, keys = Stage(transactions), PostgresKeys(transactions)
    mine, theirs = keys.create("ada", "laptop", None), keys.create("bob", "", 30)
    holder = keys.holder_of(mine)
    assert holder is not None
    owner = holder.owner_id
    ingest, _ = stage.controls.add_documents(owner, [Upload("a.txt", b"Some words.")])
    policy = SourcePolicy(document_ids=ingest.document_ids)
    run_id, _ = stage.controls.create_run(owner, CreateRun(objective="What?", source_policy=policy), None, "extractive")
    desk = Desk()
    app = create_app(
        Deps(
            controls=stage.controls,
            reads=stage.reads,
            signals=FakeSignals(desk),
            watch=FakeWatch(desk),
            limits=Limits(ping_s=0.2, poll_s=0.1),
            keys=keys,
        )
    )
    yield House(app.test_client(), mine, theirs, run_id, ingest.document_ids[0])
    hub_of(app).close()
    for reader in (t for t in threading.enumerate() if t.name.startswith("events-")):
        reader.join(10)  # else it may still read when the database is gone, and leave its connection open


def bearer(key: str) -> dict[str, str]:
    """Return the header that carries a key."""
    return {"Authorization": f"Bearer {key}"}


GUARDED = [r for r in ROUTES if r.path not in OPEN]


@pytest.mark.parametrize("route", GUARDED, ids=lambda r: f"{r.method} {r.path}")
def test_every_route_keeps_strangers_out(house: House, route: object) -> None:
    """Without a key, with a malformed, unknown or revoked one: 401. With another owner's: 404, never 403."""
    method, path = route.method, route.path  # type: ignore[attr-defined]
    path = path.replace("{run_id}", house.run_id).replace("{document_id}", house.document_id)
    path = path.replace("{source_id}", "src_0")
    for headers in ({}, bearer("nonsense"), bearer(house.mine[:-1] + ("a" if house.mine[-1] != "a" else "b"))):
        assert house.client.open(path, method=method, headers=headers).status_code == 401
    if "{" in route.path:  # type: ignore[attr-defined]
        answer = house.client.open(path, method=method, headers=bearer(house.theirs), json={})
        assert answer.status_code in (404, 422), answer.text
        if answer.status_code == 422:
            assert house.run_id not in answer.text


def test_lists_hold_only_ones_own(house: House) -> None:
    """Each owner lists runs and documents of its own, and can neither use nor delete the other's."""
    for key, count in ((house.mine, 1), (house.theirs, 0)):
        assert len(house.client.get("/api/v1/research-runs", headers=bearer(key)).json["runs"]) == count
        assert len(house.client.get("/api/v1/documents", headers=bearer(key)).json["documents"]) == count
    body = {"objective": "What?", "source_policy": {"document_ids": [house.document_id]}}
    assert house.client.post("/api/v1/research-runs", json=body, headers=bearer(house.theirs)).status_code == 422
    gone = house.client.delete(f"/api/v1/documents/{house.document_id}", headers=bearer(house.theirs))
    assert gone.status_code == 404
    cancel = house.client.post(
        f"/api/v1/research-runs/{house.run_id}/actions", json={"action": "cancel"}, headers=bearer(house.theirs)
    )
    assert cancel.status_code == 404


def test_a_cookie_carries_a_browsers_key(house: House) -> None:
    """A browser, which cannot send a header with an event stream, sends its key as a cookie."""
    house.client.set_cookie("leadline_key", house.mine)
    assert house.client.get(f"/api/v1/research-runs/{house.run_id}").status_code == 200


def test_keys_end(transactions: Transactions) -> None:
    """A revoked or expired key opens nothing; revoking twice is fine, an unknown id is not."""
    keys = PostgresKeys(transactions)
    one, two = keys.create("ada", "", None), keys.create("ada", "", 1)
    spelt = read_key(one)
    assert spelt is not None
    first, second = keys.holder_of(one), keys.holder_of(two)
    assert first is not None
    assert second is not None
    assert first.owner_id == second.owner_id
    assert first.key_id == spelt.key_id != second.key_id
    assert keys.living(spelt.key_id)
    keys.revoke(spelt.key_id)
    keys.revoke(spelt.key_id)
    assert keys.holder_of(one) is None
    assert not keys.living(spelt.key_id)
    with pytest.raises(NotFound):
        keys.revoke("nothing0")
    transactions.run(lambda s: s.execute(text("update api_keys set expires_at = clock_timestamp()")))
    assert keys.holder_of(two) is None
    assert {f.owner for f in keys.every()} == {"ada"}


def test_the_database_holds_no_key(transactions: Transactions) -> None:
    """A dump of every row of the keys holds neither a key nor its secret part."""
    key = PostgresKeys(transactions).create("ada", "", None)
    dump = str(transactions.run(lambda s: s.execute(text("select k::text from api_keys k")).all()))
    assert key not in dump
    assert key.rpartition("_")[2] not in dump


def test_a_run_pauses_when_its_key_is_revoked(transactions: Transactions) -> None:
    """No step starts under a revoked key; whoever holds a living one may let the run go on."""
    stage, keys = Stage(transactions), PostgresKeys(transactions)
    one, two = (keys.holder_of(keys.create("ada", "", None)) for _ in range(2))
    assert one is not None
    assert two is not None
    ingest, _ = stage.controls.add_documents(one.owner_id, [Upload("a.txt", b"Some words.")], one.key_id)
    policy = SourcePolicy(document_ids=ingest.document_ids)
    request = CreateRun(objective="What?", source_policy=policy)
    run_id, created = stage.controls.create_run(one.owner_id, request, None, "extractive", one.key_id)
    [wake_up] = created.wake_ups
    keys.revoke(str(one.key_id))
    assert stage.ledger.claim(wake_up.step_id, ALL_KINDS, "w1") is None
    run = stage.reads.run(one.owner_id, run_id)
    assert (run.status, run.resume_phase) == ("paused", "planning")
    last = stage.reads.events(one.owner_id, run_id, 0, 100)[-1]
    assert (last.type, last.payload["reason"]) == ("status_changed", "authority_revoked")
    assert stage.due() == []
    stage.controls.act(two.owner_id, run_id, ControlRequest(action="resume"), two.key_id)
    assert stage.claim(wake_up.step_id).run_id == run_id


def test_an_expired_key_lets_its_run_end(transactions: Transactions) -> None:
    """A key that runs out while its run goes on stops nothing: only revoking does."""
    stage, keys = Stage(transactions), PostgresKeys(transactions)
    holder = keys.holder_of(keys.create("ada", "", 1))
    assert holder is not None
    ingest, _ = stage.controls.add_documents(holder.owner_id, [Upload("a.txt", b"Words.")], holder.key_id)
    transactions.run(lambda s: s.execute(text("update api_keys set expires_at = clock_timestamp()")))
    [step_id] = stage.pending(ingest.run_id, "parse")
    assert stage.claim(step_id).owner_id == holder.owner_id


def test_a_stream_ends_when_its_key_is_revoked(house: House, transactions: Transactions) -> None:
    """An open event stream asks from time to time whether its key still lives."""
    spelt = read_key(house.mine)
    assert spelt is not None
    path = f"/api/v1/research-runs/{house.run_id}/events"
    headers = {**bearer(house.mine), "Accept": "text/event-stream"}
    with house.client.get(path, headers=headers, buffered=False) as answer:
        frames = iter(answer.response)
        assert b"event: run_created" in b"".join(itertools.islice(frames, 2))
        PostgresKeys(transactions).revoke(spelt.key_id)
        rest = b"".join(frames)
    assert b"event: end" not in rest
    assert house.client.get(path, headers=headers).status_code == 401
