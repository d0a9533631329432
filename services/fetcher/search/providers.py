"""The search providers that there are, by name."""

from collections.abc import Callable

from services.fetcher.search.contract import Provider
from services.fetcher.search.searxng import SearXNG

PROVIDERS: dict[str, Callable[[str], Provider]] = {"searxng": SearXNG}
"""Each factory takes the provider's base URL."""
