"""Migrations expand: what runs on a schema also runs on the next one, so that old and new code can work together."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from shared.contracts.events import Event
from shared.db.engine import Transactions, open_engine
from shared.db.migrate import migrate
from shared.db.schema import SchemaBehind, check_schema, wait_for_schema
from shared.domain.errors import RateLimited
from shared.ports.ledger import Outcome, WakeUp
from shared.queues.sweeper import Sweeper
from tests.support.servers import fresh_database
from tests.support.stage import ALL_KINDS, Stage, plan

MIGRATIONS = Path(__file__).parents[2] / "shared" / "db" / "migrations"


@dataclass(frozen=True)
class Column:
    """A column as those see it who write without knowing more: its type, and whether they may leave it out."""

    type: str
    optional: bool
    nullable: bool


def schema(url: str) -> dict[str, dict[str, Column]]:
    """Return the columns of every table."""
    engine = create_engine(url)
    try:
        found = inspect(engine)
        return {
            table: {
                str(c["name"]): Column(str(c["type"]), c["nullable"] or c["default"] is not None, bool(c["nullable"]))
                for c in found.get_columns(table)
            }
            for table in found.get_table_names()
        }
    finally:
        engine.dispose()


def contractions(before: dict[str, dict[str, Column]], after: dict[str, dict[str, Column]]) -> list[str]:
    """Return what the code of the schema before would trip over in the one after."""
    found = [f"the table {table} is gone" for table in before if table not in after]
    for table in before.keys() & after.keys():
        for name, column in before[table].items():
            now = after[table].get(name)
            if now is None:
                found.append(f"{table}.{name} is gone")
            elif now.type != column.type:
                found.append(f"{table}.{name} was {column.type} and is {now.type}")
            elif column.nullable and not now.nullable:
                found.append(f"{table}.{name} must be given now")
        new = after[table].keys() - before[table].keys()
        found += [f"{table}.{name} is new and has no default" for name in new if not after[table][name].optional]
    return found


def known_revisions() -> list[str]:
    """Return all revisions, the first one first."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return [r.revision for r in reversed(list(ScriptDirectory.from_config(config).walk_revisions()))]


def test_every_migration_only_adds(postgres: str) -> None:
    """Nothing is dropped, renamed, retyped or newly required from one revision to the next."""
    revisions = known_revisions()
    broken: dict[str, list[str]] = {}
    with fresh_database(postgres) as url:
        migrate(url, revisions[0])
        before = schema(url)
        for revision in revisions[1:]:
            migrate(url, revision)
            after = schema(url)
            if wrong := contractions(before, after):
                broken[revision] = wrong
            before = after
    assert broken == {}


def test_a_contraction_is_seen() -> None:
    """The check itself: each thing that old code would trip over is named."""
    text = Column("TEXT", optional=False, nullable=False)
    loose = Column("TEXT", optional=True, nullable=True)
    before = {"a": {"x": text, "y": loose, "z": text}, "gone": {}}
    after = {"a": {"x": Column("INTEGER", optional=False, nullable=False), "y": text, "w": text, "v": loose}}
    assert sorted(contractions(before, after)) == [
        "a.w is new and has no default",
        "a.x was TEXT and is INTEGER",
        "a.y must be given now",
        "a.z is gone",
        "the table gone is gone",
    ]


def test_code_that_meets_an_older_schema_says_so(postgres: str) -> None:
    """A table that a migration has still to make is no bug: the error says what to run, until it has been run."""
    missing = text("select * from a_table_of_tomorrow")
    with fresh_database(postgres) as url:
        transactions = Transactions(open_engine(url, pool_size=1))
        for revision in (None, *known_revisions()[:-1]):
            if revision is not None:
                migrate(url, revision)
            with pytest.raises(SchemaBehind, match=f"at schema {revision or 'none'}, .* run `python -m"):
                transactions.run(lambda session: session.execute(missing))
        migrate(url)
        with pytest.raises(ProgrammingError):
            transactions.run(lambda session: session.execute(missing))
        transactions.close()


def test_waiting_for_the_schema_ends_with_the_migration_or_the_process(database: str) -> None:
    """The sentence is logged, the wait goes on by itself, and a process that is to stop does not wait."""
    transactions = Transactions(open_engine(database, pool_size=1))
    stop = threading.Event()
    assert wait_for_schema(lambda: transactions.run(check_schema), stop)
    stop.set()

    def behind() -> None:
        raise SchemaBehind("0001")

    assert not wait_for_schema(behind, stop)
    transactions.close()


def test_a_migration_does_not_hold_up_the_queries_behind_it(postgres: str) -> None:
    """A table in use makes it give up soon: what waits for the table in line behind a migration would wait too."""
    revisions = known_revisions()
    with fresh_database(postgres) as url:
        migrate(url, revisions[-4])
        engine = create_engine(url)
        with engine.connect() as connection:
            connection.execute(text("lock table owners, runs, steps, model_calls, evidence in access exclusive mode"))
            with pytest.raises(OperationalError, match="lock timeout"):
                migrate(url, lock_timeout_ms=50)
            connection.rollback()
            migrate(url)
        engine.dispose()


def newer_step(stage: Stage, run_id: Any) -> None:
    """Insert a step of a kind that only newer code knows."""
    stage.scalar(
        "insert into steps (id, run_id, epoch, kind, key, iteration, subject, inputs, status, attempts, errors, "
        "interruptions, wakes) values ('stp_newer', :run, 1, 'newer', 'newer', 1, '', '{}', 'pending', 0, 0, 0, 0) "
        "returning 1",
        run=run_id,
    )


class Silent:
    """Signals that go nowhere."""

    def wake(self, wake_ups: Sequence[WakeUp]) -> int:
        """Take them."""
        return len(wake_ups)

    def publish(self, events: Sequence[Event]) -> None:
        """Take them."""


def test_steps_of_unknown_kinds_are_left_to_newer_workers(transactions: Transactions) -> None:
    """Old workers and sweepers neither claim nor send such a step, and go on with everything else."""
    stage = Stage(transactions)
    run_id, _ = stage.researching()
    newer_step(stage, run_id)
    other, created = stage.create()
    assert stage.ledger.claim("stp_newer", ALL_KINDS, "old") is None  # type: ignore[arg-type]
    stage.lapse(60)
    assert "stp_newer" not in stage.due()
    waiting: dict[str, int] = {}
    Sweeper(stage.sweep, Silent(), lambda: waiting, 1.0).look()
    stage.finish(created.wake_ups[0].step_id, Outcome("planned", plan=plan()))
    assert stage.status(other) == "awaiting_plan_approval"


def test_a_run_that_newer_code_has_moved_on_is_left_to_it(transactions: Transactions) -> None:
    """Old rules cannot judge a run with a step that they do not know: its steps are put off, at no cost of a try."""
    stage = Stage(transactions)
    run_id, _ = stage.researching()
    [search] = stage.pending(run_id, "search")
    lease = stage.claim(search)
    newer_step(stage, run_id)
    error: Exception | None = None
    try:
        stage.ledger.commit(lease, Outcome("found"))
    except RateLimited as raised:
        error = raised
    assert error is not None
    assert stage.ledger.fail(lease, error) is not None
    assert stage.rows("select status, errors from steps where id = :id", id=search) == [("pending", 0)]
    assert stage.rows("select outcome from attempts where step_id = :id", id=search) == [("postponed",)]
