"""What the fetcher's handlers are given."""

from collections.abc import Callable
from dataclasses import dataclass

from services.fetcher.net.messages import Fetch
from services.fetcher.rendering.browser import Browser
from services.fetcher.search.contract import Provider
from services.fetcher.search.reranking import Reranker
from shared.domain.search import serving
from shared.ports.ledger import Receipts
from shared.ports.materials import Blobs, DocumentIndex, Materials
from shared.ports.services import NO_STATES, ServiceStates
from shared.ports.sites import RobotsCache, SiteSlots


@dataclass(frozen=True, slots=True)
class Web:
    """The web as the operator lets us use it. ``fetch`` reaches public sites and the networks that were opened."""

    fetch: Fetch
    slots: SiteSlots
    robots: RobotsCache
    agent: str
    """The product token that robots.txt files may name."""
    delay_s: float
    """Least time between two requests to one site."""
    sleep: Callable[[float], None]


@dataclass(frozen=True, slots=True)
class SearchSeat:
    """A search provider with the way to it: ``fetch`` reaches the address that the operator named for it."""

    provider: Provider
    fetch: Fetch


@dataclass(frozen=True, slots=True)
class RankingSeat:
    """A reranker with the way to it."""

    reranker: Reranker
    fetch: Fetch


@dataclass(frozen=True, slots=True)
class SearchDesk:
    """The search providers that are configured, in the order in which they are asked, and who ranks what they find."""

    seats: tuple[SearchSeat, ...]
    ranking: RankingSeat | None = None
    """None when Leadline ranks by itself."""

    def serving(self, endpoint: str) -> tuple[SearchSeat, ...]:
        """Return the providers to ask at an endpoint."""
        names = serving(tuple(seat.provider.name for seat in self.seats), endpoint)
        return tuple(seat for seat in self.seats if seat.provider.name in names)


@dataclass(frozen=True, slots=True)
class Deps:
    """The fetcher's ports."""

    materials: Materials
    index: DocumentIndex
    receipts: Receipts
    blobs: Blobs
    web: Web
    desk: SearchDesk | None = None
    """None when no provider for the web is configured."""
    browser: Browser | None = None
    """None where pages are not read in a browser."""
    states: ServiceStates = NO_STATES
