"""From settings to what the fetcher works with: what may be reached, who resolves names, who searches and ranks."""

import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from services.fetcher.deps import RankingSeat, SearchDesk, SearchSeat, Web
from services.fetcher.net.messages import Fetch
from services.fetcher.net.resolver import Resolver, parse_hosts, system_resolver, table_resolver
from services.fetcher.rendering.browser import Browser
from services.fetcher.search.contract import Account
from services.fetcher.search.providers import FACTORIES
from services.fetcher.search.reranking import Reranker
from services.fetcher.web import PRODUCT, WayOut, fetch, user_agent
from shared.config.settings import Settings
from shared.config.version import project_version
from shared.domain.errors import LeadlineError, NotAllowed
from shared.domain.search import PROVIDERS, RERANKERS, ServiceFacts, parse_addresses
from shared.domain.urls import Url
from shared.guards.addresses import Allowance, parse_networks
from shared.ports.sites import RobotsCache, SiteSlots

Read = TypeVar("Read")

_KEY = re.compile(r"[!-~]+")
"""What may stand in a header as it is."""


class SettingWrong(LeadlineError):
    """A setting whose value cannot be used."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(f"{name} cannot be used: {detail}. Correct it or leave it out.")


def open_web(settings: Settings, slots: SiteSlots, robots: RobotsCache) -> Web:
    """Return the web as the operator lets us use it."""
    way = _way(settings, frozenset())
    return Web(_bound(way), slots, robots, PRODUCT, settings.site_delay_seconds, time.sleep)


def open_browser(settings: Settings, program: Path) -> Browser:
    """Return the browser, whose pages may reach what pages may."""
    return Browser(program, _way(settings, frozenset()))


def open_desk(settings: Settings) -> SearchDesk | None:
    """Return the configured search providers and reranker, or None when no provider is."""
    names = settings.search_providers()
    if not names:
        return None
    seats = tuple(_search_seat(settings, name) for name in names)
    ranker = settings.reranker()
    return SearchDesk(seats, _ranking_seat(settings, ranker) if ranker is not None else None)


def _search_seat(settings: Settings, name: str) -> SearchSeat:
    account, facts = _account(settings, name, PROVIDERS[name]), PROVIDERS[name]
    try:
        provider = FACTORIES[name](account)
        endpoint = provider.endpoint
    except NotAllowed as error:
        named = "LEADLINE_SEARCH_URLS" if name in _addresses(settings) else str(facts.setting)
        raise SettingWrong(named, error.detail.rstrip(".")) from error
    return SearchSeat(provider, _fetch_to(settings, endpoint, chosen=account.base_url != facts.base_url))


def _ranking_seat(settings: Settings, name: str) -> RankingSeat:
    facts = RERANKERS[name]
    account = _account(settings, name, facts)
    try:
        reranker = Reranker(name, account)
        endpoint = reranker.endpoint
    except NotAllowed as error:
        raise SettingWrong("LEADLINE_SEARCH_URLS", error.detail.rstrip(".")) from error
    return RankingSeat(reranker, _fetch_to(settings, endpoint, chosen=account.base_url != facts.base_url))


def _account(settings: Settings, name: str, facts: ServiceFacts) -> Account:
    own = settings.secret(facts.setting) if facts.base_url is None else facts.base_url
    key = settings.secret(facts.setting) if facts.needs_key else None
    if key is not None and not _KEY.fullmatch(key):
        raise SettingWrong(str(facts.setting), "it holds a space or another character that no key has")
    return Account(_addresses(settings).get(name) or str(own), key)


def _addresses(settings: Settings) -> dict[str, str]:
    return _read("LEADLINE_SEARCH_URLS", parse_addresses, settings.search_urls)


def _fetch_to(settings: Settings, endpoint: Url, *, chosen: bool) -> Fetch:
    """Return the way to a service; an address that the operator chose may lie anywhere."""
    opened = frozenset({(endpoint.host, endpoint.port)}) if chosen else frozenset[tuple[str, int]]()
    return _bound(_way(settings, opened))


def _way(settings: Settings, endpoints: frozenset[tuple[str, int]]) -> WayOut:
    networks = _read("LEADLINE_ALLOW_NETWORKS", parse_networks, settings.allow_networks)
    hosts = _read("LEADLINE_RESOLVE_HOSTS", parse_hosts, settings.resolve_hosts)
    return WayOut(
        allowance=Allowance(networks, endpoints),
        resolver=_resolver(hosts if networks else {}),
        user_agent=user_agent(project_version(), settings.contact_url),
    )


def _resolver(hosts: Mapping[str, tuple[str, ...]]) -> Resolver:
    return table_resolver(hosts) if hosts else system_resolver


def _bound(way: WayOut) -> Fetch:
    return partial(fetch, way=way)


def _read(name: str, parse: Callable[[str], Read], text: str) -> Read:
    try:
        return parse(text)
    except ValueError as error:
        raise SettingWrong(name, str(error)) from error
