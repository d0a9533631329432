"""Slots whose holder died are free early, those of a holder that is merely frozen are not: with real processes."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from infra.standalone import system
from shared.db.engine import Transactions, open_engine
from shared.db.presence import Presence
from shared.db.sites import MARGIN_S, RESTART_S, PostgresSites
from shared.ports.ledger import Lease
from shared.ports.sites import Busy, Taken, Visitor
from tests.support.stack import ROOT
from tests.support.stage import Stage
from tests.support.waiting import wait_until

SITE = "harbor.test"
DELAY_S = 1.0
OTHER = Visitor("stp_other", "other")
# Takes the slot as a worker does and stays.
HOLDER = """
import sys, time
from shared.db.engine import Transactions, open_engine
from shared.db.presence import Presence
from shared.db.sites import PostgresSites
from shared.ports.sites import Visitor
url, site, step, token = sys.argv[1:]
engine = open_engine(url, pool_size=1)
slots = PostgresSites(Transactions(engine), Presence(engine))
print(slots.take(site, Visitor(step, token), delay_s=1, hold_s=60), flush=True)
time.sleep(600)
"""

Hold = Callable[[Lease], subprocess.Popen[str]]


@dataclass(frozen=True)
class Others:
    """A ledger, and the slots as another worker of the site uses them."""

    stage: Stage
    slots: PostgresSites

    def lease(self) -> Lease:
        """Return the lease of a step that is worked on."""
        _, created = self.stage.create()
        return self.stage.claim(created.wake_ups[0].step_id)

    def expire(self) -> None:
        """Let every lease run out."""
        self.stage.rows("update steps set leased_until = clock_timestamp() where leased_until is not null returning 1")

    def ask(self, visitor: Visitor = OTHER) -> Taken | Busy:
        """Ask for the slot, as a step of another run unless it is said who asks."""
        return self.slots.take(SITE, visitor, delay_s=DELAY_S, hold_s=60)


@pytest.fixture
def others(transactions: Transactions) -> Others:
    """Those who wait, on a server that has not just been started."""
    made = Others(Stage(transactions), PostgresSites(transactions))
    age = f"select clock_timestamp() - pg_postmaster_start_time() > interval '{RESTART_S} seconds'"
    wait_until(lambda: made.stage.scalar(age), "the server has run for a while")
    return made


@pytest.fixture
def hold(database: str) -> Iterator[Hold]:
    """Let a process of its own take the slot for a lease."""
    started: list[subprocess.Popen[str]] = []

    def start(lease: Lease) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLDER, database, SITE, lease.step_id, lease.token]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "Taken(wait_s=0.0)\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=10)


def test_a_slot_is_free_once_its_holder_is_dead_and_its_lease_is_over(others: Others, hold: Hold) -> None:
    """Killed while its lease lives: held. Then the lease runs out: free, and the delay counts from that moment."""
    lease = others.lease()
    process = hold(lease)
    process.kill()
    process.wait(10)
    assert isinstance(others.ask(), Busy)
    others.expire()
    wait_until(lambda: session_is_gone(others), "the session of the dead process ends")
    got = others.ask()
    assert isinstance(got, Taken)
    assert DELAY_S <= got.wait_s <= DELAY_S + MARGIN_S + 0.01


def test_a_slot_is_free_once_a_worker_that_handed_back_is_gone(others: Others, hold: Hold) -> None:
    """A worker that is told to stop hands its step back, and its slot is free as soon as the process has ended."""
    lease = others.lease()
    process = hold(lease)
    others.stage.ledger.hand_back(lease)
    assert isinstance(others.ask(), Busy)
    process.terminate()
    process.wait(10)
    wait_until(lambda: isinstance(others.ask(), Taken), "the slot is free")


def test_a_frozen_holder_keeps_its_slot(others: Others, hold: Hold) -> None:
    """Its connection to the site is still open, whoever has its step by now; once it is dead the slot is free."""
    lease = others.lease()
    process = hold(lease)
    process.send_signal(signal.SIGSTOP)
    others.expire()
    again = others.stage.claim(lease.step_id)
    assert again.token != lease.token
    retry = Visitor(again.step_id, again.token)
    assert isinstance(others.ask(retry), Busy)
    assert isinstance(others.ask(), Busy)
    process.kill()
    process.wait(10)
    assert system.birth(process.pid) is None
    wait_until(lambda: isinstance(others.ask(retry), Taken), "the slot is free")


def test_a_session_that_somebody_ended_proves_nothing(others: Others, hold: Hold) -> None:
    """As long as its step's lease lives, a holder is alive, with or without the session that shows it."""
    lease = others.lease()
    hold(lease)
    assert others.stage.rows(f"select pg_terminate_backend(pid) from pg_locks where {_LOCKS}") == [(True,)]
    wait_until(lambda: session_is_gone(others), "the session ends")
    assert isinstance(others.ask(), Busy)


def test_a_restart_of_the_server_proves_nothing(others: Others, hold: Hold) -> None:
    """It ends all sessions: what was taken before is held for its full time, and then free."""
    lease = others.lease()
    process = hold(lease)
    process.kill()
    process.wait(10)
    others.expire()
    wait_until(lambda: session_is_gone(others), "the session of the dead process ends")
    before = "pg_postmaster_start_time() - interval '1 second'"
    others.stage.rows(f"update sites set held_since = {before} returning 1")
    assert isinstance(others.ask(), Busy)
    others.stage.rows("update sites set held_until = clock_timestamp() returning 1")
    assert isinstance(others.ask(), Taken)


def test_a_holder_without_a_session_is_held_for_its_time(others: Others) -> None:
    """Slots that an older worker took, or one that could not show that it lives, name a token alone."""
    lease = others.lease()
    assert isinstance(others.slots.take(SITE, Visitor(lease.step_id, lease.token), delay_s=0, hold_s=60), Taken)
    others.expire()
    assert isinstance(others.ask(), Busy)


def test_a_process_shows_that_it_lives_through_a_lost_session(database: str, others: Others) -> None:
    """The session is opened again, under the same key or another one; without a database there is none to show."""
    engine = open_engine(database, pool_size=1)
    presence = Presence(engine)
    assert presence.key() == presence.key()
    others.stage.rows(f"select pg_terminate_backend(pid) from pg_locks where {_LOCKS}")
    key = presence.key()
    assert key is not None
    assert others.stage.rows("select pg_try_advisory_xact_lock_shared(:key)", key=key) == [(False,)]
    presence.close()
    wait_until(lambda: session_is_gone(others), "the session ends")
    engine.dispose()
    away = open_engine("postgresql+psycopg://x:x@127.0.0.1:1/x", pool_size=1)
    assert Presence(away).key() is None
    away.dispose()


_LOCKS = "locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())"


def session_is_gone(others: Others) -> bool:
    """Tell whether nobody shows that it lives."""
    return others.stage.rows(f"select 1 from pg_locks where {_LOCKS}") == []
