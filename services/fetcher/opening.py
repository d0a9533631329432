"""From settings to what the fetcher works with: what may be reached, who resolves names, which provider searches."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from services.fetcher.deps import SearchDesk, Web
from services.fetcher.net.messages import Fetch
from services.fetcher.net.resolver import Resolver, parse_hosts, system_resolver, table_resolver
from services.fetcher.rendering.browser import Browser
from services.fetcher.search.providers import PROVIDERS
from services.fetcher.web import PRODUCT, WayOut, fetch, user_agent
from shared.config.settings import Settings
from shared.config.version import project_version
from shared.domain.errors import LeadlineError, NotAllowed
from shared.guards.addresses import Allowance, parse_networks
from shared.ports.sites import RobotsCache, SiteSlots

Read = TypeVar("Read")


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
    """Return the configured search provider, or None; its own host and port may be reached whatever they are."""
    if settings.searxng_url is None:
        return None
    try:
        provider = PROVIDERS["searxng"](settings.searxng_url)
    except NotAllowed as error:
        raise SettingWrong("SEARXNG_URL", error.detail.rstrip(".")) from error
    endpoint = (provider.endpoint.host, provider.endpoint.port)
    return SearchDesk(provider, _bound(_way(settings, frozenset({endpoint}))))


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
