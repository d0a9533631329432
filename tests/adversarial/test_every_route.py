"""Every route of the OpenAPI description over a real database, with what fits it and what does not.

Ids exist before, so that routes below a run and a document are reached; examples are the same each time. No answer is
a server's error, and each has a status, media type and shape that the description names.
"""

import functools
from io import BytesIO
from typing import Any

import pytest
from flask import Flask
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from services.gateway.app import create_app
from services.gateway.deps import Deps
from services.gateway.openapi import document
from services.gateway.parameters import NoParameters
from services.gateway.routes import ROUTES
from shared.db.controls import PostgresControls
from shared.db.engine import DatabaseUnreachable, Transactions, open_engine
from shared.db.read_model import PostgresReadModel
from tests.fakes.gateway import Desk, FakeSignals, FakeWatch
from tests.support.servers import fresh_database

schemathesis: Any = pytest.importorskip("schemathesis", reason="Schemathesis is not installed.")

RUNS = "/api/v1/research-runs"
DOCUMENTS = "/api/v1/documents"
EXAMPLES = 8
EDGES = ("no-such-id", "%00", "a\x00b", "ü/../..", "run_" + "0" * 26)
HOST = {"Host": "127.0.0.1"}


@pytest.fixture(scope="module")
def app(postgres: str, template_database: str) -> Any:
    """The gateway over a database that no other test uses."""
    with fresh_database(postgres, template_database) as url:
        yield from gateway_over(url)


def gateway_over(url: str) -> Any:
    """Yield the gateway over a database, and close what it holds."""
    transactions = Transactions(open_engine(url, pool_size=4))
    desk = Desk()
    yield create_app(
        Deps(
            controls=PostgresControls(transactions),
            reads=PostgresReadModel(transactions),
            signals=FakeSignals(desk),
            watch=FakeWatch(desk),
            outages=(DatabaseUnreachable,),
        )
    )
    transactions.close()


def ids(app: Flask) -> dict[str, str]:
    """Make a document and a run, and return what names them."""
    http = app.test_client()
    sent = http.post(DOCUMENTS, data={"files": [(BytesIO(b"The channel was dredged in 2021."), "a.txt")]})
    body = {"objective": "When was the channel dredged?", "source_policy": {"documents_all": True}}
    run = http.post(RUNS, json=body)
    assert (sent.status_code, run.status_code) == (202, 202), (sent.text, run.text)
    return {
        "run_id": run.json["run_id"],  # type: ignore[index]
        "document_id": sent.json["document_ids"][0],  # type: ignore[index]
        "source_id": "src_" + "0" * 26,
    }


@functools.lru_cache(1)
def described_by(app: Flask) -> Any:
    """Return the description, read once."""
    schema = schemathesis.openapi.from_dict(document())
    schema.app = app
    return schema


MISFITTING = [route for route in ROUTES if route.body or route.uploads or route.query is not NoParameters]
"""Routes that something may not fit: any text is an id and a header."""
ASKED = [*((route, "POSITIVE") for route in ROUTES), *((route, "NEGATIVE") for route in MISFITTING)]


@pytest.mark.parametrize(("route", "mode"), ASKED, ids=[f"{r.method} {r.path} {mode}" for r, mode in ASKED])
def test_every_answer_is_as_described(app: Flask, route: Any, mode: str) -> None:
    """Few examples of each route, of requests that fit and of ones that do not."""
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    operation = described_by(app)[route.path][route.method]
    generation = getattr(schemathesis.GenerationMode, mode)
    named = ids(app)
    wanted = [name for name in named if f"{{{name}}}" in route.path]
    paths = st.fixed_dictionaries({n: st.sampled_from([*[named[n]] * 6, *EDGES]) for n in wanted})
    described = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def fuzz(data: Any) -> None:
        case = data.draw(operation.as_strategy(generation_mode=generation))
        if wanted:
            case.path_parameters = data.draw(paths)
        answer = case.call(headers=HOST)
        case.validate_response(answer, checks=described)

    fuzz()


@pytest.mark.parametrize(
    "parts",
    [
        [(None, None, "x"), (None, None, "y"), ("", None, "z")],
        [(None, "a.txt", "x"), ("a", None, "y"), (None, None, "z")],
        [("a\x00b", None, "y"), (None, None, "z")],
        [(None, "a.txt", "x"), (None, "b.txt", "y")],
    ],
)
def test_forms_with_parts_that_have_no_name(app: Flask, parts: list[tuple[str | None, str | None, str]]) -> None:
    """They are refused, or their files taken, and never a server's error."""
    body = ""
    for name, filename, text in parts:
        named = "" if name is None else f'; name="{name}"'
        filed = "" if filename is None else f'; filename="{filename}"'
        body += f"--x\r\nContent-Disposition: form-data{named}{filed}\r\n\r\n{text}\r\n"
    body += "--x--\r\n"
    sent = app.test_client().post(DOCUMENTS, data=body, content_type="multipart/form-data; boundary=x")
    assert sent.status_code in (202, 422), sent.text


@pytest.mark.parametrize("field", ["objective", "session_id", "client_request_id", "as_of"])
def test_a_nul_in_a_text_is_left_out_or_refused(app: Flask, field: str) -> None:
    """In the middle and at the ends of a text of the body."""
    body = {"objective": "When was it dredged?", "source_policy": {"documents_all": True}}
    ids(app)
    for text in ("ab\x00cd", "\x00", "2024\x00"):
        sent = app.test_client().post(RUNS, json={**body, field: text})
        assert sent.status_code in (202, 409, 422), sent.text
        assert "\x00" not in sent.text
        assert "\\u0000" not in sent.text
    for query in ("session_id=a%00b", "cursor=%00", "status=%00"):
        assert app.test_client().get(f"{RUNS}?{query}").status_code in (200, 422)


def test_a_key_is_one_by_header_and_by_field(app: Flask) -> None:
    """The same request sent again, its key in the other place, gives the same run."""
    ids(app)
    body = {"objective": "When was it dredged?", "source_policy": {"documents_all": True}}
    http = app.test_client()
    by_header = http.post(RUNS, json=body, headers={"Idempotency-Key": "one-key"})
    by_field = http.post(RUNS, json={**body, "client_request_id": "one-key"})
    by_both = http.post(RUNS, json={**body, "client_request_id": "one-key"}, headers={"Idempotency-Key": "one-key"})
    assert [a.status_code for a in (by_header, by_field, by_both)] == [202, 202, 202], by_field.text
    assert len({a.json["run_id"] for a in (by_header, by_field, by_both)}) == 1  # type: ignore[index]
