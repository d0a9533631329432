"""A slow worker that has lost its step finishes its call all the same: whoever has the step now makes it no more."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from services.fetcher import handlers
from services.fetcher.deps import Deps
from shared.db.engine import Transactions
from shared.domain.errors import PutOff, Transient
from shared.domain.states import StepKind
from shared.ports.ledger import Lease, Receipts
from shared.ports.sites import Taken, Visitor
from tests.integration.test_web_sources import HOST, PAGE, World
from tests.support.search_desk import SearchStage
from tests.support.site import Reply, running_site
from tests.support.stage import Stage


class Late:
    """Receipts that are not there yet when a worker looks for the first time, and are once it has the slot."""

    def __init__(self, receipts: Receipts) -> None:
        self._receipts, self._there = receipts, False

    def arrive(self, waited_s: float) -> None:
        """Be there from now on."""
        self._there = True

    def find(self, lease: Lease, request_hash: str) -> Mapping[str, Any] | None:
        """Find nothing too early."""
        return self._receipts.find(lease, request_hash) if self._there else None

    def keep(self, lease: Lease, request_hash: str, kind: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer."""
        self._receipts.keep(lease, request_hash, kind, answer)


def too_early(deps: Deps) -> Deps:
    """Return the dependencies of a worker that looks for receipts right before they are kept."""
    late = Late(deps.receipts)
    return replace(deps, receipts=late, web=replace(deps.web, sleep=late.arrive))


@pytest.fixture
def world(transactions: Transactions) -> Iterator[World]:
    """A ledger and a site with one page that is moved."""
    with running_site() as site:
        site.answer(HOST, "/basin", PAGE)
        site.redirect(HOST, "/old", site.url(HOST, "/basin"))
        yield World(Stage(transactions), site)


@pytest.mark.parametrize("path", ["/basin", "/old"])
def test_a_page_that_was_fetched_meanwhile(world: World, path: str) -> None:
    """Nothing is sent, the slot is free again, the step comes back at once and finds the page and its redirects."""
    run_id = world.run(urls=[world.site.url(HOST, path)])
    lease, deps = world.stage.claim(world.step(run_id, StepKind.READ_SOURCE)), world.deps()
    first = handlers.read_source(deps, lease)
    asked = world.site.paths(HOST)
    with pytest.raises(PutOff, match="has answered another try"):
        handlers.read_source(too_early(deps), lease)
    assert world.site.paths(HOST) == asked
    assert isinstance(deps.web.slots.take(HOST, Visitor("stp_else", "else"), delay_s=0, hold_s=1), Taken)
    assert handlers.read_source(deps, lease) == first


def test_a_slot_is_held_until_the_page_is_kept(world: World) -> None:
    """Nobody else gets the slot between the answer of the site and its place among the receipts."""
    run_id = world.run(urls=[world.site.url(HOST, "/basin")])
    lease, deps = world.stage.claim(world.step(run_id, StepKind.READ_SOURCE)), world.deps()
    other = Visitor("stp_else", "else")
    seen: list[object] = []

    class Watched(Late):
        def keep(self, lease: Lease, request_hash: str, kind: str, answer: Mapping[str, Any]) -> None:
            seen.append(deps.web.slots.take(HOST, other, delay_s=0, hold_s=0))
            super().keep(lease, request_hash, kind, answer)

    handlers.read_source(replace(deps, receipts=Watched(deps.receipts)), lease)
    assert [isinstance(got, Taken) for got in seen] == [False]


def test_a_search_that_was_made_meanwhile(transactions: Transactions) -> None:
    """A provider that has answered is not asked again for the same query, and its slot is free again."""
    with running_site() as site:
        desk = SearchStage(Stage(transactions), site)
        tavily = desk.provider("tavily")
        lease, deps = desk.claim(desk.run()), desk.deps()
        first = handlers.search(deps, lease)
        with pytest.raises(PutOff, match="has answered another try"):
            handlers.search(too_early(deps), lease)
        assert len(tavily.asked) == 1
        visitor = Visitor("stp_else", "else")
        assert isinstance(deps.web.slots.take("search:tavily", visitor, delay_s=0, hold_s=1), Taken)
        assert handlers.search(deps, lease) == first


def test_a_search_that_failed_meanwhile(transactions: Transactions) -> None:
    """A failure counts once, whoever met it."""
    with running_site() as site:
        desk = SearchStage(Stage(transactions), site)
        tavily = desk.provider("tavily")
        tavily.reply = Reply("{}", 500)
        lease, deps = desk.claim(desk.run()), desk.deps()
        with pytest.raises(Transient):
            handlers.search(deps, lease)
        with pytest.raises(PutOff, match="has answered another try"):
            handlers.search(too_early(deps), lease)
        assert len(tavily.asked) == 1
