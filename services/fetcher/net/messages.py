"""What is asked of the network and what comes back; plain values, so that handlers need no HTTP client."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from shared.domain.urls import Url

PAGE_TYPES = "text/html,application/xhtml+xml,application/pdf,text/plain,text/markdown;q=0.9,*/*;q=0.5"


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Seconds for a connection, for silence and for all hops together; bytes of a header and of a decoded body."""

    connect_s: float = 5.0
    silence_s: float = 15.0
    total_s: float = 30.0
    header_bytes: int = 64 * 1024
    body_bytes: int = 20_000_000
    inflate_ratio: int = 200
    """How many decoded bytes one received byte may give, judged from 64 KiB on."""
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A GET, or a POST of ``body``. ``earlier`` are the addresses that led here by redirects followed before."""

    url: Url
    earlier: tuple[Url, ...] = ()
    accept: str = PAGE_TYPES
    limits: FetchLimits = FetchLimits()
    cut: bool = False
    """Keep the first ``body_bytes`` of a longer body instead of refusing it."""
    unwanted: tuple[str, ...] = ()
    """Beginnings of media types whose body is not read at all."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Sent beside ours, such as a key. What carries headers or a body is not sent on after a redirect."""
    body: bytes | None = field(default=None, repr=False)
    error_bytes: int = 0
    """How many bytes of an error's body are kept."""

    @property
    def is_plain(self) -> bool:
        """Tell whether nothing is sent that is meant for the one address alone."""
        return not self.headers and self.body is None


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer that is no redirect. ``hops`` are all addresses asked, in order; the last one answered."""

    hops: tuple[Url, ...]
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """By lower-case name; of a name that came twice, the last one."""
    body: bytes = b""
    """Empty for an error, unless the request wanted some of it."""
    cut: bool = False

    @property
    def url(self) -> Url:
        """The address that answered."""
        return self.hops[-1]

    @property
    def content_type(self) -> str | None:
        """The header as it was sent."""
        return self.headers.get("content-type")

    @property
    def ok(self) -> bool:
        """Tell whether the status is one of success."""
        return 200 <= self.status < 300


class Gate(Protocol):
    """Decides about every hop before it is asked; it may wait, and refuses or postpones by raising a `StepError`."""

    def enter(self, url: Url, earlier: tuple[Url, ...]) -> None:
        """Let the request to ``url`` begin; ``earlier`` are the hops before it."""
        ...

    def leave(self, url: Url, since_sent_s: float | None) -> None:
        """Hear that the hop has ended, so long after its request was sent; None when none was sent."""
        ...


class OpenGate:
    """Lets every hop pass."""

    def enter(self, url: Url, earlier: tuple[Url, ...]) -> None:
        """Let it begin."""

    def leave(self, url: Url, since_sent_s: float | None) -> None:
        """Need nothing."""


Fetch = Callable[[FetchRequest, Gate], Fetched]
"""Gets an address, following redirects through the gate. Raises StepErrors:

NotAllowed     refused for safety, or by the gate
Transient      no name, no connection, an answer that broke off
LimitExceeded  too slow, too large, too many redirects
Permanent      an answer that cannot be read: certificate, encoding, not HTTP, an unwanted type
"""
