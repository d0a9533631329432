"""New code and the schema before its own: it waits, loses nothing, and goes on by itself once somebody has migrated."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import requests
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, inspect, text

from evals.graders.facts import load_cases
from shared.db.engine import Transactions, open_engine
from shared.db.migrate import migrate
from shared.db.schema import REVISION, SchemaBehind, check_schema
from tests.support.api import Api
from tests.support.harbor_site import CASES_FILE, CORPUS
from tests.support.invariants import broken_invariants
from tests.support.servers import fresh_database
from tests.support.stack import MODULES, ROOT, Stack, wait_until

QUESTION = next(c.question for c in load_cases(CASES_FILE) if c.kind == "multi_document")
WAITS = "nothing is done yet"

Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture
def stack(postgres: str, template_database: str, valkey: str, tmp_path: Path) -> Iterator[Stack]:
    """A stack over a database of the test's own, nothing of it started."""
    with fresh_database(postgres, template_database) as url:
        stack = Stack(url, valkey, tmp_path)
        try:
            yield stack
        finally:
            stack.stop()


@pytest.fixture
def engine(stack: Stack) -> Iterator[Engine]:
    """Connections to its database."""
    made = create_engine(stack.database_url)
    yield made
    made.dispose()


def scripts() -> Config:
    """Return where the migrations are."""
    config = Config()
    config.set_main_option("script_location", str(ROOT / "shared" / "db" / "migrations"))
    return config


def revisions() -> list[str]:
    """Return all revisions, the first one first."""
    return [r.revision for r in reversed(list(ScriptDirectory.from_config(scripts()).walk_revisions()))]


def go_back(connection: Connection, revision: str) -> None:
    """Undo migrations down to a revision."""
    config = scripts()
    config.attributes["connection"] = connection
    command.downgrade(config, revision)
    connection.commit()


def rows_of(connection: Connection) -> Rows:
    """Return everything that stands in the database, by table."""
    tables = [name for name in inspect(connection).get_table_names() if name != "alembic_version"]
    found: Rows = {}
    for table in tables:
        rows = connection.execute(text(f'select to_jsonb(t) from "{table}" t order by to_jsonb(t)::text')).scalars()
        found[table] = list(rows)
    connection.commit()
    return found


def columns_of(connection: Connection) -> dict[str, set[str]]:
    """Return the names of the columns of every table."""
    found = inspect(connection)
    return {
        t: {str(c["name"]) for c in found.get_columns(t)} for t in found.get_table_names() if t != "alembic_version"
    }


def only(rows: Rows, columns: dict[str, set[str]]) -> Rows:
    """Return what of the rows stands in these columns, in an order that does not depend on others."""
    return {
        table: sorted(({k: v for k, v in row.items() if k in columns[table]} for row in rows[table]), key=repr)
        for table in columns
    }


def says_that_it_waits(stack: Stack, name: str, revision: str) -> bool:
    """Tell whether a process has said what it waits for."""
    told = stack.log(name)
    return WAITS in told and f"at schema {revision}, this version needs {REVISION}" in told


def ask_whether_ready(stack: Stack, answers: list[requests.Response]) -> None:
    """Add the answer of the gateway, if there is one."""
    with suppress(requests.ConnectionError):
        answers.append(requests.get(f"{stack.address}/readyz", timeout=5))


def test_new_processes_wait_for_the_schema(stack: Stack, engine: Engine) -> None:
    """They take no step and touch no run, say which migration they wait for, and go on without a restart."""
    stack.start("gateway")
    api = Api(stack.address)
    run_id = api.ask(QUESTION, [], auto_approve=False, source_policy={"urls": ["https://example.org/"]})
    stack.stop()
    before = revisions()[-2]
    with engine.connect() as connection:
        go_back(connection, before)
    for name in MODULES:
        stack.begin(name)
    started = dict(stack.processes)
    for name in MODULES:
        if name != "gateway":
            wait_until(lambda name=name: says_that_it_waits(stack, name, before), f"the {name} waits")  # type: ignore[misc]

    answers: list[requests.Response] = []
    wait_until(lambda: answers or ask_whether_ready(stack, answers), "the gateway answers")
    assert (answers[0].status_code, answers[0].json()["type"]) == (503, "/problems/unavailable")
    assert "run `python -m shared.db.migrate`" in answers[0].json()["detail"]
    with engine.connect() as connection:
        assert connection.execute(text("select count(*) from attempts")).scalar_one() == 0
    migrate(stack.database_url)
    wait_until(lambda: api.run(run_id)["status"] == "awaiting_plan_approval", "the plan")
    assert all(process.poll() is None for process in started.values())
    assert broken_invariants(stack.database_url) == {}


def test_every_migration_there_and_back_keeps_what_was_there(stack: Stack, engine: Engine) -> None:
    """Down to the first schema and up again, step by step: no row of a finished run is lost, and it reads as before."""
    stack.start()
    api = Api(stack.address)
    run_id = api.ask(QUESTION, api.upload(CORPUS))
    api.complete(run_id)
    report, events = api.json(f"/research-runs/{run_id}/report"), api.events(run_id)
    stack.stop()
    with engine.connect() as connection:
        wanted = rows_of(connection)
        for revision in reversed(revisions()[:-1]):
            go_back(connection, revision)
            assert rows_of(connection).keys() == columns_of(connection).keys()
            assert only(rows_of(connection), columns_of(connection)) == only(wanted, columns_of(connection)), revision
            assert refuses(stack.database_url) == f"at schema {revision}", "code that needs more must say so"
        for revision in revisions()[1:]:
            kept = columns_of(connection)
            connection.commit()
            migrate(stack.database_url, revision)
            assert only(rows_of(connection), kept) == only(wanted, kept), revision
    stack.start("gateway")
    assert api.json(f"/research-runs/{run_id}/report") == report
    assert api.events(run_id) == events
    assert broken_invariants(stack.database_url) == {}


def refuses(url: str) -> str:
    """Return which schema the code of today finds too old."""
    transactions = Transactions(open_engine(url, pool_size=1))
    try:
        with pytest.raises(SchemaBehind) as raised:
            transactions.run(check_schema)
    finally:
        transactions.close()
    return str(raised.value).partition(",")[0].removeprefix("The database is ")
