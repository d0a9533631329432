"""What the fetcher's handlers are given."""

from collections.abc import Callable
from dataclasses import dataclass

from services.fetcher.net.messages import Fetch
from services.fetcher.rendering.browser import Browser
from services.fetcher.search.contract import Provider
from shared.ports.ledger import Receipts
from shared.ports.materials import Blobs, DocumentIndex, Materials
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
class SearchDesk:
    """A search provider with the way to it: ``fetch`` reaches the provider's own endpoint beside the public web."""

    provider: Provider
    fetch: Fetch


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
