"""A stack of its own for each fault test, since what is broken here must not break others."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import CORPORA
from tests.support.api import Api
from tests.support.brokers import REDIS, chosen_broker, shared_node
from tests.support.servers import RedisServer, fresh_database, new_redis, open_folder, valkey_server
from tests.support.site import Site, running_site
from tests.support.stack import MODULES, Stack, running_stack
from tests.support.system_servers import SystemServer
from tests.support.zygote import Zygote, running_zygote

HOST = "city.test"
DELAY_S = 0.8
"""Between two requests to the site: long enough that some of a run's reads are put off."""


@pytest.fixture
def stack(postgres: str, template_database: str, tmp_path: Path) -> Iterator[Stack]:
    """A running stack over a fresh database and a Valkey of its own."""
    with (
        fresh_database(postgres, template_database) as url,
        valkey_server(tmp_path) as redis_url,
        running_stack(url, redis_url, tmp_path) as running,
    ):
        yield running


@pytest.fixture
def api(stack: Stack) -> Api:
    """Calls to the stack's gateway."""
    return Api(stack.address)


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """What forks the processes of the modules that share a stack."""
    with running_zygote() as made:
        yield made


@dataclass(frozen=True)
class City:
    """A stack with two gateways, a Redis that may be taken away, documents that are taken in, and a site to read."""

    stack: Stack
    redis: RedisServer
    documents: list[str]
    site: Site
    pages: list[str]
    admin_url: str
    """Of the superuser of its database server."""

    @property
    def carriers(self) -> list[RedisServer | SystemServer]:
        """The servers that wake-ups and live progress go through."""
        return [self.redis] if chosen_broker() == REDIS else [self.redis, shared_node()]

    @property
    def api(self) -> Api:
        """Calls to the first gateway."""
        return Api(self.stack.address)


@pytest.fixture(scope="session")
def city(
    postgres: str, template_database: str, zygote: Zygote, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[City]:
    """A stack for all modules that leave everything running when they are through."""
    tmp = tmp_path_factory.mktemp("city")
    with (
        running_site() as site,
        open_folder(tmp) as folder,
        fresh_database(postgres, template_database) as url,
    ):
        pages = [site.answer(HOST, f"/{n}", f"<title>{n}</title><p>Basin {n} is {n} m deep.</p>") for n in range(1, 6)]
        server = new_redis(folder / "redis")
        server.start()
        settings = {
            "LEADLINE_ALLOW_NETWORKS": "127.0.0.1",
            "LEADLINE_RESOLVE_HOSTS": site.hosts_setting(),
            "LEADLINE_SITE_DELAY_SECONDS": str(DELAY_S),
        }
        stack = Stack(url, server.url, tmp, settings, launch=zygote.launch)
        try:
            stack.start(*MODULES, "gateway-2")
            yield City(stack, server, Api(stack.address).upload(CORPORA / "harbor"), site, pages, postgres)
        finally:
            stack.stop()
            server.stop()
