"""The transaction wrapper: what the server breaks off is done again, what it has no room for is told by name."""

import threading

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from shared.db.engine import DatabaseUnreachable, StorageFull, Transactions, open_engine


def test_transactions_outlive_a_broken_connection(transactions: Transactions) -> None:
    """A session that the server ends is replaced, and the work goes on."""
    broken: list[int] = []

    def work(session: Session) -> int:
        pid = session.execute(text("select pg_backend_pid()")).scalar_one()
        if not broken:
            broken.append(pid)
            session.execute(text("select pg_terminate_backend(pg_backend_pid())"))
        return int(pid)

    assert transactions.run(work) != broken[0]


def test_a_deadlock_is_broken_and_both_sides_work(transactions: Transactions) -> None:
    """Two transactions that lock two rows in opposite order both commit, the victim in its second try."""
    transactions.run(lambda s: s.execute(text("insert into owners (id) values ('own_a'), ('own_b')")))
    barrier, calls = threading.Barrier(2, timeout=20), {"own_a": 0, "own_b": 0}

    def lock(first: str, second: str) -> None:
        def work(session: Session) -> None:
            calls[first] += 1
            session.execute(text("select 1 from owners where id = :id for update"), {"id": first})
            if calls[first] == 1:
                barrier.wait()
            session.execute(text("update owners set name = :n where id = :id"), {"id": second, "n": f"by {first}"})

        transactions.run(work)

    threads = [threading.Thread(target=lock, args=pair) for pair in (("own_a", "own_b"), ("own_b", "own_a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    names = transactions.run(lambda s: s.execute(text("select id, name from owners where name is not null")).all())
    assert {tuple(row) for row in names} == {("own_a", "by own_b"), ("own_b", "by own_a")}
    assert sum(calls.values()) == 3


@pytest.mark.parametrize("state", ["40001", "55P03", "57014", "57P03"])
def test_what_may_work_the_next_time_is_tried_again(transactions: Transactions, state: str) -> None:
    """A serialization failure, a lock or statement timeout and a server that starts are waited out."""
    calls: list[int] = []

    def work(session: Session) -> str:
        calls.append(1)
        if len(calls) < 3:
            session.execute(text(f"do $$ begin raise exception 'not now' using errcode = '{state}'; end $$"))
        return "done"

    assert transactions.run(work) == "done"
    assert len(calls) == 3


def test_a_full_disk_is_told_by_name_and_leaves_nothing(transactions: Transactions) -> None:
    """What was written before in the same transaction is undone."""

    def work(session: Session) -> None:
        session.execute(text("insert into owners (id) values ('own_half')"))
        session.execute(text("do $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$"))

    with pytest.raises(StorageFull, match="could not extend file"):
        transactions.run(work)
    assert transactions.run(lambda s: s.scalar(text("select count(*) from owners where id = 'own_half'"))) == 0


def test_a_mistake_is_not_repeated(transactions: Transactions) -> None:
    """What would fail again is raised at once."""
    calls: list[int] = []

    def work(session: Session) -> None:
        calls.append(1)
        session.execute(text("select 1 / 0"))

    with pytest.raises(DBAPIError):
        transactions.run(work)
    assert len(calls) == 1


def test_patience_has_an_end() -> None:
    """A server that is not there is given up by name."""
    engine = open_engine("postgresql+psycopg://nobody@127.0.0.1:1/nothing", pool_size=1)
    with pytest.raises(DatabaseUnreachable, match="cannot be reached"):
        Transactions(engine, patience_s=0.2).run(lambda s: s.execute(text("select 1")))
    engine.dispose()
