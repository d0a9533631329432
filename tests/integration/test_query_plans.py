"""The queries that run all the time find their rows by an index, on tables as full as they get."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import event, text

from shared.db.engine import Transactions, open_engine
from shared.db.sites import PostgresSites
from shared.domain.ids import LOCAL_OWNER, RunId, StepId
from shared.ports.sites import Visitor
from tests.support.stage import ALL_KINDS, Stage

LARGE = frozenset({"runs", "steps", "attempts", "events", "sites", "site_waits", "receipts"})
FILL = """
insert into runs (id, owner_id, kind, status, engine, epoch, iteration, plan_version, report_version, last_seq,
                  auto_approve, queued_at)
  select 'run_' || r, 'own_local', 'research', case when r <= 20 then 'researching' else 'completed' end, 'extractive',
         1, 1, 1, 0, 100, true, now() from generate_series(1, 2000) r;
insert into run_requests (run_id, body, limits) select 'run_' || r, '{"depth": "quick"}', '{}'
  from generate_series(1, 2000) r;
insert into steps (id, run_id, epoch, kind, key, iteration, subject, inputs, status, attempts, errors, interruptions,
                   wakes, wake_at, leased_until)
  select 'stp_' || r || '_' || s, 'run_' || r, 1, 'search', 'k' || s, 1, '', '{}',
         case when r > 20 then 'completed' when s = 1 then 'pending' when s = 2 then 'running' else 'completed' end,
         1, 0, 0, 0, now(), now()
  from generate_series(1, 2000) r, generate_series(1, 20) s;
insert into attempts (step_id, number, lease_token, worker, leased_until, outcome)
  select id, 1, 't', 'w.1@h', now(), case when status = 'running' then null else 'done' end from steps;
insert into events (run_id, seq, type, payload)
  select 'run_' || r, s, 'progress', '{}' from generate_series(1, 2000) r, generate_series(1, 50) s;
insert into sites (key, last_hold_s) select 's' || n || '.test', 0 from generate_series(1, 20000) n;
insert into site_waits (key, step_id, at) select 's' || n || '.test', 'stp_x' || n, now()
  from generate_series(1, 20000) n;
analyze;
"""


@pytest.fixture(scope="module")
def full(postgres: str, template_database: str) -> Iterator[Stage]:
    """A ledger with thousands of runs, most of which have ended."""
    from tests.support.servers import fresh_database

    with fresh_database(postgres, template_database) as url:
        transactions = Transactions(open_engine(url, pool_size=4))
        for statement in FILL.split(";\n"):
            if statement.strip():
                transactions.run(lambda session, sql=statement: session.execute(text(sql)))  # type: ignore[misc]
        yield Stage(transactions)
        transactions.close()


QUERIES: dict[str, Callable[[Stage], object]] = {
    "queues with due steps": lambda stage: stage.sweep.due_queues(),
    "due steps": lambda stage: stage.sweep.take_due("fetcher", 10),
    "expired leases": lambda stage: stage.sweep.expired(10),
    "runs to look at": lambda stage: stage.sweep.due_runs(10),
    "runs to admit": lambda stage: stage.sweep.owners_with_room(10),
    "admission": lambda stage: stage.sweep.admit(LOCAL_OWNER),
    "the next thing due": lambda stage: stage.sweep.seconds_to_next(1.0),
    "claim": lambda stage: stage.ledger.claim(StepId("stp_5_1"), ALL_KINDS, "w"),
    "steps that wait for a place": lambda stage: stage.ledger.waiting(ALL_KINDS),
    "replay of events": lambda stage: stage.reads.events(LOCAL_OWNER, RunId("run_700"), 40, 100),
    "a site's slot": lambda stage: PostgresSites(stage.transactions).take(
        "s77.test", Visitor(StepId("stp_1_1"), "t"), delay_s=1.0, hold_s=1.0
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_hot_query_reads_no_whole_table(full: Stage, name: str) -> None:
    """No statement of it scans a large table from end to end."""
    seen: list[tuple[str, Any]] = []

    def note(*args: Any) -> None:
        seen.append((args[2], args[3]))

    engine = full.transactions._engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        QUERIES[name](full)
    finally:
        event.remove(engine, "before_cursor_execute", note)
    assert seen
    scans = {sql: found for sql, values in seen if (found := scanned(full, sql, values))}
    assert scans == {}


def scanned(stage: Stage, sql: str, values: Any) -> set[str]:
    """Return the large tables that the plan of a statement reads as a whole."""
    if not sql.lstrip().upper().startswith(("SELECT", "UPDATE", "DELETE")):
        return set()

    values = values[0] if isinstance(values, list) else values

    def explain(session: Any) -> list[dict[str, Any]]:
        plan = session.connection().exec_driver_sql(f"EXPLAIN (FORMAT JSON) {sql}", values).scalar_one()
        found: list[dict[str, Any]] = json.loads(plan) if isinstance(plan, str) else plan
        return found

    return {node["Relation Name"] for node in nodes(stage.transactions.run(explain)[0]["Plan"]) if whole(node)}


def whole(node: dict[str, Any]) -> bool:
    """Tell whether a node of a plan scans a large table."""
    return node["Node Type"] == "Seq Scan" and node["Relation Name"] in LARGE


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all nodes of a plan."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)
