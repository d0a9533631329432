"""The one function that opens outside connections: for pages, their redirects, robots.txt and search providers."""

import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from services.fetcher.net.connection import Deadline, Route, trusted
from services.fetcher.net.messages import Fetched, FetchRequest, Gate
from services.fetcher.net.resolver import Resolver, system_resolver
from services.fetcher.net.transfer import REDIRECTS, exchange
from shared.domain.errors import LimitExceeded, Permanent
from shared.domain.urls import Url, resolve
from shared.guards.addresses import Allowance

PRODUCT = "Leadline"


def user_agent(version: str, contact_url: str | None) -> str:
    """Return the name under which sites see us, with the address where their owners learn more."""
    short = ".".join(version.split(".")[:2])
    return f"{PRODUCT}/{short} (+{contact_url})" if contact_url else f"{PRODUCT}/{short}"


@dataclass(frozen=True, slots=True)
class WayOut:
    """How connections are made: what may be reached, who resolves names, whom TLS trusts and who we say we are."""

    allowance: Allowance = field(default_factory=Allowance)
    resolver: Resolver = system_resolver
    tls: ssl.SSLContext = field(default_factory=trusted)
    user_agent: str = PRODUCT


def fetch(request: FetchRequest, gate: Gate, way: WayOut) -> Fetched:
    """Ask an address. Every hop is judged anew and passes the gate; see `services.fetcher.net.messages.Fetch`."""
    deadline = Deadline(request.limits.total_s)
    hops, url = request.earlier, request.url
    while True:
        _check_hop(url, hops, request.limits.redirects)
        way.allowance.judge_url(url)
        gate.enter(url, hops)
        hops = (*hops, url)
        with _passing(gate, url) as sent:
            route = Route(way.resolver, way.allowance, way.tls, request.limits, deadline)
            answer = exchange(url, request, route, way.user_agent, sent)
        if answer.status not in REDIRECTS:
            return Fetched(hops, answer.status, answer.headers, answer.body, answer.cut)
        if not answer.location:
            raise Permanent("redirect_without_location", f"{url} redirects without saying where to.")
        if not request.is_plain:
            raise Permanent("redirect_refused", f"{url.origin} redirects a request that is meant for it alone.")
        url = resolve(url, answer.location)


def _check_hop(url: Url, hops: tuple[Url, ...], most: int) -> None:
    if url in hops:
        raise Permanent("redirect_loop", f"The redirects come back to {url}.")
    if len(hops) > most:
        raise LimitExceeded("redirect_too_many", f"There are more than {most} redirects in a row.")


@contextmanager
def _passing(gate: Gate, url: Url) -> Iterator[Callable[[float], None]]:
    """Tell the gate when the hop ends, however it ends; yield what takes down when its request was sent."""
    times: list[float] = []
    try:
        yield times.append
    finally:
        gate.leave(url, time.monotonic() - times[-1] if times else None)
