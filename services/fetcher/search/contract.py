"""What every search provider is: a request made of a query, and hits read from the answer. No provider does I/O."""

from dataclasses import dataclass
from typing import Literal, Protocol

from services.fetcher.net.messages import Fetched, FetchRequest
from shared.domain.urls import Url

WebEndpoint = Literal["web", "news", "scholar"]


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to search for; ``domains`` are those that alone are wanted, none for all."""

    text: str
    endpoint: WebEndpoint = "web"
    domains: tuple[str, ...] = ()
    language: str | None = None
    """BCP 47 tag."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that a provider found; ``published_at`` in ISO 8601 if the provider tells it."""

    url: str
    title: str
    snippet: str
    published_at: str | None = None


class Provider(Protocol):
    """A search provider."""

    @property
    def name(self) -> str:
        """The name in settings, receipts and the slot that all workers share."""
        ...

    @property
    def endpoint(self) -> Url:
        """The address at which the provider is asked; its host and port are the operator's choice."""
        ...

    @property
    def advice(self) -> str:
        """A sentence that says what to do when the provider cannot be reached."""
        ...

    def request(self, query: SearchQuery) -> FetchRequest:
        """Return the request that asks for a query."""
        ...

    def hits(self, fetched: Fetched) -> tuple[Hit, ...]:
        """Return what was found, best first. Raise a `StepError` that says what to do when the answer is no result."""
        ...
