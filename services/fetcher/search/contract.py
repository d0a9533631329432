"""What every search provider is: requests made of a query, and hits read from the answers. No provider does I/O."""

from dataclasses import dataclass
from typing import Literal, Protocol

from services.fetcher.net.messages import Fetched, FetchLimits, FetchRequest
from shared.domain.redaction import without_secret
from shared.domain.urls import Url

WebEndpoint = Literal["web", "news", "scholar"]
HitKind = Literal["page", "news", "paper"]

LIMITS = FetchLimits(connect_s=5, silence_s=12, total_s=15, body_bytes=5_000_000, redirects=0)
"""What one call may take, unless a provider is known to be slower."""

MOST_DOMAINS = 5
"""How many domains are named to a provider that takes them as words of the query."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to search for; ``domains`` are those that alone are wanted, none for all.

    ``since`` and ``until`` are a year, month or day in ISO 8601. ``page`` counts from 1, each of about ``results``.
    """

    text: str
    endpoint: WebEndpoint = "web"
    domains: tuple[str, ...] = ()
    language: str | None = None
    """BCP 47 tag."""
    excluded: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    page: int = 1
    results: int = 20

    @property
    def first_day(self) -> str | None:
        """Return the first day of the time asked for, in full."""
        return None if self.since is None else (self.since + "-01-01")[:10]

    @property
    def last_day(self) -> str | None:
        """Return the last day of the time asked for, in full."""
        return None if self.until is None else last_day(self.until)


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that a provider found; what it does not tell is None. ``published_at`` is a year, month or day."""

    url: str
    title: str
    snippet: str
    published_at: str | None = None
    author: str | None = None
    publisher: str | None = None
    kind: HitKind = "page"


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """How long a query may be: in characters, in words, and once it is escaped for a URL (0 for no limit)."""

    chars: int
    words: int = 0
    escaped: int = 1400


@dataclass(frozen=True, slots=True)
class Account:
    """Where a service is asked, and the key that it is asked with."""

    base_url: str
    key: str | None = None

    def __repr__(self) -> str:
        return f"Account({self.base_url!r})"

    def hidden(self, sentence: str) -> str:
        """Return a sentence in which the key does not stand."""
        return without_secret(sentence, self.key)


class Provider(Protocol):
    """A search provider."""

    @property
    def name(self) -> str:
        """The name in settings, receipts and the slot that all workers share."""
        ...

    @property
    def label(self) -> str:
        """The name for people."""
        ...

    @property
    def endpoint(self) -> Url:
        """The address at which the provider is asked; its host and port may be the operator's choice."""
        ...

    @property
    def advice(self) -> str:
        """A sentence that says what to do when the provider cannot be reached."""
        ...

    @property
    def delay_s(self) -> float:
        """The least time between two calls that the provider asks for."""
        ...

    @property
    def pages(self) -> int:
        """How many pages of results can be asked for."""
        ...

    def covers(self, query: SearchQuery) -> bool:
        """Tell whether the provider can have anything on the domains that are wanted."""
        ...

    def words(self, query: SearchQuery) -> str:
        """Return the words that are sent: the query's, as far as they fit, with what restricts them."""
        ...

    def request(self, query: SearchQuery) -> FetchRequest:
        """Return the request that asks for a query."""
        ...

    def read(self, fetched: Fetched, query: SearchQuery) -> tuple[Hit, ...] | Url:
        """Return what was found, best first, or the address to ask next.

        Raise a `StepError` that says what to do when the answer is no result.
        """
        ...


def last_day(date: str) -> str:
    """Return the last day of a year, month or day in ISO 8601."""
    if len(date) == 4:
        return f"{date}-12-31"
    if len(date) > 7:
        return date
    year, month = int(date[:4]), int(date[5:7])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = 30 if month in (4, 6, 9, 11) else 31 if month != 2 else 28 + leap
    return f"{date}-{days}"
