"""Owners and their keys, over real Postgres and the whole application: nobody reaches what is somebody else's."""

from dataclasses import dataclass

import pytest
from flask.testing import FlaskClient
from sqlalchemy import text

from services.gateway.app import Deps, create_app
from services.gateway.routes import ROUTES
from shared.contracts.runs import CreateRun, SourcePolicy
from shared.db.engine import Transactions
from shared.db.keys import PostgresKeys
from shared.domain.errors import NotFound
from shared.domain.keys import read_key
from shared.ports.gateway import Upload
from tests.fakes.gateway import Desk, FakeSignals, FakeWatch
from tests.support.stage import Stage

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
def house(transactions: Transactions) -> House:
    """Two owners, each with a key; the first has a run and a document."""
    stage, keys = Stage(transactions), PostgresKeys(transactions)
    mine, theirs = keys.create("ada", "laptop", None), keys.create("bob", "", 30)
    owner = keys.owner_of(mine)
    assert owner is not None
    ingest, _ = stage.controls.add_documents(owner, [Upload("a.txt", b"Some words.")])
    policy = SourcePolicy(document_ids=ingest.document_ids)
    run_id, _ = stage.controls.create_run(owner, CreateRun(objective="What?", source_policy=policy), None, "extractive")
    desk = Desk()
    app = create_app(
        Deps(controls=stage.controls, reads=stage.reads, signals=FakeSignals(desk), watch=FakeWatch(desk), keys=keys)
    )
    return House(app.test_client(), mine, theirs, run_id, ingest.document_ids[0])


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
    assert keys.owner_of(one) == keys.owner_of(two)
    keys.revoke(spelt.key_id)
    keys.revoke(spelt.key_id)
    assert keys.owner_of(one) is None
    with pytest.raises(NotFound):
        keys.revoke("nothing0")
    transactions.run(lambda s: s.execute(text("update api_keys set expires_at = clock_timestamp()")))
    assert keys.owner_of(two) is None
    assert {f.owner for f in keys.every()} == {"ada"}


def test_the_database_holds_no_key(transactions: Transactions) -> None:
    """A dump of every row of the keys holds neither a key nor its secret part."""
    key = PostgresKeys(transactions).create("ada", "", None)
    dump = str(transactions.run(lambda s: s.execute(text("select k::text from api_keys k")).all()))
    assert key not in dump
    assert key.rpartition("_")[2] not in dump
