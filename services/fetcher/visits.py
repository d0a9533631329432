"""Visits to sites: every hop takes the slot of its own site, and a page's hop also asks policy and robots.txt first."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from services.fetcher.deps import Web
from services.fetcher.net.messages import Fetched, FetchLimits, FetchRequest
from services.fetcher.robots import MAX_ROBOTS_BYTES, Meaning, RobotsRules, meaning_of
from services.fetcher.times import max_age_s, retry_after_s
from shared.contracts.runs import SourcePolicy
from shared.domain.errors import LimitExceeded, NotAllowed, PutOff, RateLimited, SlowSite, StepError
from shared.domain.urls import Url, parse_url, within
from shared.guards.sites import site_key
from shared.ports.sites import Busy, RobotsEntry, Visitor

BUSY = "site_busy"
"""The code of the error by which a step waits for its turn; that is no try."""

LONGEST_LINE_S = 60.0
"""A turn that is further off is so because the site has asked for a rest, and not because others are before us."""

HOLD_S = 45.0
"""For how long a slot is taken: longer than any fetch may last, waiting in place included."""

ROBOTS_KEPT_S = 24 * 3600.0
ROBOTS_KEPT_AT_LEAST_S = 60.0
ROBOTS_RETRY_S = 5.0
"""When an origin is asked again whose robots.txt could not be had for the first time."""
ROBOTS_UNREACHABLE_S = 600.0
"""When it is asked again after that."""
ROBOTS_TRIES = 2

MAX_REST_S = 3600.0
"""The longest rest that a site is given for a Retry-After header."""

_ROBOTS_LIMITS = FetchLimits(silence_s=10, total_s=15, body_bytes=MAX_ROBOTS_BYTES)
_OF_THE_HOST = ("ip_", "host_", "port_", "dns_unknown_host", "tls_")
"""Codes of errors that a page of the same host would end in too."""


class SiteVisit:
    """A gate that takes the slot of each hop's site. ``slot`` names one slot for all hops instead, for a provider.

    The slot of the last hop is held until `free`, or the end of the ``with`` block: until what the site answered is
    kept. Whoever comes next looks with the slot in hand, by ``is_known``, whether there is anything left to ask: a
    worker that was frozen, and has lost its step, may have finished its call while others waited for the slot.
    """

    def __init__(
        self, web: Web, visitor: Visitor, slot: str | None = None, is_known: Callable[[], bool] = lambda: False
    ) -> None:
        self._web, self._visitor, self._slot, self._is_known = web, visitor, slot, is_known
        self._held: tuple[str, float] | None = None
        self._sent_at: float | None = None
        self.hops: tuple[Url, ...] = ()
        """The addresses asked so far."""
        self.sent = False
        """Whether any request was sent."""

    def __enter__(self) -> Self:
        """Begin with no slot in hand."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free what is held."""
        self.free()

    def enter(self, url: Url, earlier: tuple[Url, ...]) -> None:
        """Take the slot, or raise `RateLimited` with the time to come back."""
        self.free()
        self.take(url, earlier, self._web.delay_s)

    def leave(self, url: Url, since_sent_s: float | None) -> None:  # noqa: ARG002
        """Take down when the request was sent; the slot stays taken."""
        self.sent = self.sent or since_sent_s is not None
        self._sent_at = None if since_sent_s is None else time.monotonic() - since_sent_s

    def free(self) -> None:
        """Free the slot, if it is held."""
        if self._held is None:
            return
        site, delay_s = self._held
        since_sent_s = None if self._sent_at is None else time.monotonic() - self._sent_at
        self._web.slots.release(site, self._visitor, delay_s=delay_s, since_sent_s=since_sent_s)
        self._held = self._sent_at = None

    def take(self, url: Url, earlier: tuple[Url, ...], delay_s: float) -> None:
        """Take the slot and wait for the start, which is near; raise `RateLimited` when it is no use."""
        site = self._slot or site_key(url.host)
        got = self._web.slots.take(site, self._visitor, delay_s=delay_s, hold_s=HOLD_S)
        if isinstance(got, Busy):
            asked = delay_s > self._web.delay_s or got.after_s > LONGEST_LINE_S
            raise (SlowSite if asked else PutOff)(BUSY, f"{site} is being asked by others.", got.after_s)
        self._held = (site, delay_s)
        self.hops = (*earlier, url)
        self._web.sleep(got.wait_s)
        if self._is_known():
            self.free()
            raise PutOff(BUSY, f"{site} has answered another try meanwhile.", 0.0)


@dataclass(frozen=True, slots=True)
class Permit:
    """What a run's policy lets be read; ``given`` is the host of an address that came with the request."""

    policy: SourcePolicy
    given: str | None = None

    def judge(self, host: str) -> None:
        """Raise `NotAllowed` for a host that may not be read."""
        self.judge_part(host)
        if self.policy.web_mode == "none" and self.given is None:
            raise NotAllowed("web_not_allowed", "The run's policy keeps it off the web.")
        if not self.policy.allows_host(host, self.given):
            raise NotAllowed("domain_not_allowed", f"{host} is not among the domains that the run's policy allows.")

    def judge_part(self, host: str) -> None:
        """Raise `NotAllowed` for a host that not even a part of a page may come from."""
        if within(host, self.policy.web.excluded_domains):
            raise NotAllowed("domain_excluded", f"The run's policy excludes {host}.")


class PageVisit(SiteVisit):
    """The gate of a page: the run's policy and the origin's robots.txt are asked before the slot is taken.

    ``followed`` hears of every redirect that is about to be followed, so that a step that is put off there can go on.
    """

    def __init__(
        self,
        web: Web,
        visitor: Visitor,
        permit: Permit,
        followed: Callable[[tuple[Url, ...]], None],
        is_known: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(web, visitor, is_known=is_known)
        self.permit, self._followed = permit, followed
        self.robots: str | None = None
        """What robots.txt said of the last hop."""
        self.rules: RobotsRules | None = None
        """The rules of the last hop's origin."""

    def enter(self, url: Url, earlier: tuple[Url, ...]) -> None:
        """Raise `NotAllowed` for what policy or robots.txt forbid, `RateLimited` while the site is busy."""
        if earlier:
            self._followed((*earlier, url))
        self.free()
        self.permit.judge(url.host)
        self.robots = "unreachable"
        self.rules = rules = robots_rules(self._web, url, self._visitor)
        self.robots = "allowed" if rules.allows(url) else "disallowed"
        if self.robots == "disallowed":
            raise NotAllowed("robots_disallowed", f"The robots.txt of {url.netloc} does not allow {url.path}.")
        self.take(url, earlier, max(self._web.delay_s, rules.crawl_delay_s or 0.0))


def robots_rules(web: Web, url: Url, visitor: Visitor) -> RobotsRules:
    """Return the rules of the address's origin, asked for if the cache has none.

    Raises `RateLimited` when the site is busy or its robots.txt could not be had yet, `NotAllowed` when it cannot be.
    """
    entry = web.robots.find(url.origin)
    cause = "it could not be had a moment ago"
    if entry is None or entry.fresh_s <= 0:
        entry, cause = _ask(web, url, visitor, entry.failures if entry else 0)
    meaning = meaning_of(entry.status)
    if meaning is not Meaning.CLOSED:
        return RobotsRules(entry.body if meaning is Meaning.RULES else b"", web.agent)
    detail = f"The robots.txt of {url.netloc} cannot be had ({cause}), which forbids everything."
    if entry.failures < ROBOTS_TRIES:
        raise RateLimited("robots_unreachable", detail, entry.fresh_s)
    raise NotAllowed("robots_unreachable", detail)


class RobotsVisit(SiteVisit):
    """The gate of a robots.txt, which one visitor asks for: whoever waited for the slot finds the answer kept."""

    def __init__(self, web: Web, visitor: Visitor, origin: str) -> None:
        super().__init__(web, visitor)
        self._origin = origin
        self.known: RobotsEntry | None = None
        """What somebody else was told while this visitor waited; then `enter` has raised, and nothing was sent."""

    def enter(self, url: Url, earlier: tuple[Url, ...]) -> None:
        """Take the slot; raise `RateLimited` when it is busy, and when there is nothing left to ask."""
        super().enter(url, earlier)
        entry = self._web.robots.find(self._origin) if not earlier else None
        if entry is not None and entry.fresh_s > 0:
            self.known = entry
            raise PutOff("robots_known", f"The robots.txt of {self._origin} was had a moment ago.", 0.0)


def _ask(web: Web, url: Url, visitor: Visitor, failures: int) -> tuple[RobotsEntry, str]:
    """Ask an origin for its robots.txt and keep the answer; return it and, when there was none, why."""
    gate = RobotsVisit(web, visitor, url.origin)
    request = FetchRequest(parse_url(f"{url.origin}/robots.txt"), accept="text/plain", limits=_ROBOTS_LIMITS, cut=True)
    rest: tuple[str, float] | None = None
    try:
        try:
            fetched = web.fetch(request, gate)
        except RateLimited:
            if gate.known is None:
                raise
            return gate.known, "it could not be had a moment ago"
        except LimitExceeded as error:
            status = 404 if error.code == "redirect_too_many" else None  # RFC 9309, 2.3.1.2: may count as unavailable
            entry, cause = _entry(status, b"", {}, failures), error.detail
        except StepError as error:
            if not gate.sent and error.code.startswith(_OF_THE_HOST):
                raise
            entry, cause = _entry(None, b"", {}, failures), error.detail
        else:
            rest = _rest(fetched)
            entry = _entry(fetched.status, fetched.body, dict(fetched.headers), failures)
            cause = f"HTTP {fetched.status}"
        web.robots.keep(url.origin, entry)
    finally:
        gate.free()
    if rest is not None:
        web.slots.penalise(*rest)
    return entry, cause


def _rest(fetched: Fetched) -> tuple[str, float] | None:
    """Return the site that asks for a rest, and how long it is given; None when it asks for none."""
    asked_s = retry_after_s(fetched.headers)
    if not asked_s or fetched.status not in (429, 503):
        return None
    return site_key(fetched.url.host), min(asked_s, MAX_REST_S)


def _entry(status: int | None, body: bytes, headers: dict[str, str], failures: int) -> RobotsEntry:
    if meaning_of(status) is Meaning.CLOSED:
        known = failures + 1
        return RobotsEntry(status, b"", ROBOTS_RETRY_S if known < ROBOTS_TRIES else ROBOTS_UNREACHABLE_S, known)
    age = max_age_s(headers)
    kept = ROBOTS_KEPT_S if age is None else min(max(age, ROBOTS_KEPT_AT_LEAST_S), ROBOTS_KEPT_S)
    return RobotsEntry(status, body, kept)
