"""Slots of sites over real Postgres: one at a time, a delay apart, a line that everybody gets through."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from services.fetcher.net.messages import FetchRequest, OpenGate
from services.fetcher.web import WayOut, fetch
from shared.db.engine import Transactions
from shared.db.sites import EARLY_S, FORGOTTEN_S, MARGIN_S, PATIENCE_S, PostgresRobots, PostgresSites
from shared.domain.urls import parse_url
from shared.guards.addresses import Allowance, parse_networks
from shared.ports.sites import Busy, RobotsEntry, Taken, Visitor
from tests.support.site import Site, gaps, overlaps, running_site

SITE = "harbor.test"

ARRIVAL_S = 0.1
"""How much later than it was sent a request may reach the site on a busy machine; the one after it may not."""


@pytest.fixture
def slots(transactions: Transactions) -> PostgresSites:
    """Slots over the test's database."""
    return PostgresSites(transactions)


@pytest.fixture
def site() -> Iterator[Site]:
    """A site with one page."""
    with running_site() as made:
        made.answer(SITE, "/", "home")
        yield made


def visitor(name: str) -> Visitor:
    """Return a step in its first try."""
    return Visitor(f"stp_{name}", f"token_{name}")


def test_a_slot_is_taken_once(slots: PostgresSites) -> None:
    """While one asks, everybody else is told when to come back; other sites are not concerned."""
    assert slots.take(SITE, visitor("a"), delay_s=1, hold_s=30) == Taken(0.0)
    waits = [slots.take(SITE, visitor(name), delay_s=1, hold_s=30) for name in "bcd"]
    assert [round(w.after_s + EARLY_S) for w in waits if isinstance(w, Busy)] == [1, 2, 3]
    assert slots.take("other.test", visitor("b"), delay_s=1, hold_s=30) == Taken(0.0)


def test_a_step_keeps_its_place_in_the_line(slots: PostgresSites) -> None:
    """Coming too early changes nothing for oneself or for the others."""
    slots.take(SITE, visitor("a"), delay_s=5, hold_s=30)
    first = slots.take(SITE, visitor("b"), delay_s=5, hold_s=30)
    slots.take(SITE, visitor("c"), delay_s=5, hold_s=30)
    again = slots.take(SITE, Visitor("stp_b", "token_of_another_try"), delay_s=5, hold_s=30)
    assert isinstance(first, Busy)
    assert isinstance(again, Busy)
    assert again.after_s <= first.after_s


def test_the_next_start_is_waited_for_in_place(slots: PostgresSites) -> None:
    """A free slot whose next start is near is given at once, with the rest of the delay to sleep through."""
    slots.take(SITE, visitor("a"), delay_s=1, hold_s=30)
    slots.release(SITE, visitor("a"), delay_s=1, since_sent_s=0.0)
    taken = slots.take(SITE, visitor("b"), delay_s=1, hold_s=30)
    assert isinstance(taken, Taken)
    assert 0.8 < taken.wait_s <= 1 + MARGIN_S


def test_a_newcomer_does_not_take_the_place_of_one_who_waits(slots: PostgresSites) -> None:
    """Whoever lined up is served before somebody who happens to come when the slot is free."""
    slots.take(SITE, visitor("a"), delay_s=1, hold_s=30)
    slots.take(SITE, visitor("b"), delay_s=1, hold_s=30)
    slots.release(SITE, visitor("a"), delay_s=1, since_sent_s=0.0)
    late = slots.take(SITE, visitor("c"), delay_s=1, hold_s=30)
    assert isinstance(late, Busy)
    assert isinstance(slots.take(SITE, visitor("b"), delay_s=1, hold_s=30), Taken)


def test_the_delay_counts_from_the_request(slots: PostgresSites) -> None:
    """A request that was sent late pushes the next start back."""
    slots.take(SITE, visitor("a"), delay_s=0.5, hold_s=30)
    slots.release(SITE, visitor("a"), delay_s=5, since_sent_s=0.0)
    assert isinstance(slots.take(SITE, visitor("b"), delay_s=0.5, hold_s=30), Busy)


def test_whoever_comes_late_is_the_next_one(slots: PostgresSites, transactions: Transactions) -> None:
    """A step whose turn has come while the slot is held is not sent to the end of the line."""
    slots.take(SITE, visitor("a"), delay_s=1, hold_s=30)
    for name in "bcdef":
        slots.take(SITE, visitor(name), delay_s=1, hold_s=30)
    past = "update site_waits set at = clock_timestamp() - interval '1 second' where step_id = 'stp_b'"
    transactions.run(lambda s: s.connection().exec_driver_sql(past))
    late = slots.take(SITE, visitor("b"), delay_s=1, hold_s=30)
    assert isinstance(late, Busy)
    assert late.after_s < 2


def test_a_slot_runs_out_with_its_holder(slots: PostgresSites, transactions: Transactions) -> None:
    """After its time a slot is free again, and the late release of its old holder changes nothing."""
    slots.take(SITE, visitor("a"), delay_s=0, hold_s=0)
    assert isinstance(slots.take(SITE, visitor("b"), delay_s=0, hold_s=30), Taken)
    slots.release(SITE, visitor("a"), delay_s=0, since_sent_s=0.0)
    assert isinstance(slots.take(SITE, visitor("c"), delay_s=0, hold_s=30), Busy)


def test_taking_twice_in_one_try_is_taking_once(slots: PostgresSites) -> None:
    """A try whose answer was lost finds its own slot again."""
    slots.take(SITE, visitor("a"), delay_s=60, hold_s=30)
    assert slots.take(SITE, visitor("a"), delay_s=60, hold_s=30) == Taken(0.0)


def test_a_site_may_ask_for_a_rest(slots: PostgresSites) -> None:
    """After a penalty nobody starts before its end."""
    slots.take(SITE, visitor("a"), delay_s=0, hold_s=30)
    slots.penalise(SITE, 120)
    slots.release(SITE, visitor("a"), delay_s=0, since_sent_s=0.0)
    busy = slots.take(SITE, visitor("b"), delay_s=0, hold_s=30)
    assert isinstance(busy, Busy)
    assert 119 < busy.after_s <= 120


def test_places_that_nobody_came_for_are_given_up(slots: PostgresSites, transactions: Transactions) -> None:
    """A step that was cancelled while it waited does not hold up the line."""
    slots.take(SITE, visitor("a"), delay_s=1, hold_s=30)
    slots.take(SITE, visitor("gone"), delay_s=1, hold_s=30)
    age = f"update site_waits set at = clock_timestamp() - interval '{FORGOTTEN_S + 1} seconds'"
    transactions.run(lambda s: s.connection().exec_driver_sql(age))
    slots.take(SITE, visitor("b"), delay_s=1, hold_s=30)
    left = transactions.run(lambda s: s.connection().exec_driver_sql("select step_id from site_waits").all())
    assert [row[0] for row in left] == ["stp_b"]


def test_many_workers_never_meet_at_a_site(slots: PostgresSites, site: Site) -> None:
    """Never two at once, never sent closer than the delay, by the site's log too, and everybody gets through."""
    delay, steps = 0.2, 24
    site.latency[SITE] = 0.05
    out = WayOut(Allowance(parse_networks("127.0.0.1")), lambda host, timeout_s: ["127.0.0.1"])
    url = parse_url(site.url(SITE))
    put_off: Counter[str] = Counter()
    sent: list[float] = []

    def visit(name: str) -> None:
        tries = 0
        while True:
            me = Visitor(f"stp_{name}", f"{name}-{tries}")
            got = slots.take(SITE, me, delay_s=delay, hold_s=30)
            if isinstance(got, Taken):
                break
            tries += 1
            put_off[name] += 1
            time.sleep(got.after_s)
        time.sleep(got.wait_s)
        before = time.monotonic()
        sent.append(before)
        fetch(FetchRequest(url), OpenGate(), out)
        slots.release(SITE, me, delay_s=delay, since_sent_s=time.monotonic() - before)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(visit, [str(n) for n in range(steps)]))
    visits = site.visits(SITE)
    assert len(visits) == steps
    assert overlaps(visits) == 0
    assert min(later - earlier for earlier, later in pairwise(sent)) >= delay
    assert min(gaps(visits)) >= delay - ARRIVAL_S
    assert sum(put_off.values()) < 8 * steps


def test_a_race_for_a_free_slot_has_one_winner(slots: PostgresSites) -> None:
    """Of many that ask at the same moment exactly one gets it, and the others different places in the line."""
    start = threading.Barrier(6)

    def ask(name: str) -> Taken | Busy:
        start.wait(10)
        return slots.take(SITE, visitor(name), delay_s=2, hold_s=30)

    with ThreadPoolExecutor(6) as pool:
        got = list(pool.map(ask, "abcdef"))
    waits = sorted(g.after_s for g in got if isinstance(g, Busy))
    assert len(waits) == 5
    assert all(later - earlier > 1.5 for earlier, later in pairwise(waits))
    assert waits[0] > PATIENCE_S - EARLY_S


def test_robots_are_kept_until_they_expire(transactions: Transactions) -> None:
    """The cache gives the last answer, how long it still holds, and how often in a row there was none."""
    robots = PostgresRobots(transactions)
    assert robots.find("http://a.test") is None
    robots.keep("http://a.test", RobotsEntry(200, b"User-agent: *\nDisallow: /\0", 3600))
    found = robots.find("http://a.test")
    assert found is not None
    assert (found.status, found.body, found.failures) == (200, b"User-agent: *\nDisallow: /\0", 0)
    assert 3590 < found.fresh_s <= 3600
    robots.keep("http://a.test", RobotsEntry(None, b"", -1, failures=2))
    stale = robots.find("http://a.test")
    assert stale is not None
    assert (stale.status, stale.failures, stale.fresh_s < 0) == (None, 2, True)
