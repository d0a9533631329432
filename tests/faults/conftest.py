"""A stack of its own for each fault test, since what is broken here must not break others."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.standalone.home import Home
from infra.standalone.valkey import EmbeddedValkey
from tests.conftest import CORPORA
from tests.support.api import Api
from tests.support.servers import fresh_database, open_folder, valkey_server
from tests.support.stack import MODULES, Stack, running_stack
from tests.support.zygote import Zygote, running_zygote


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
    """A stack with two gateways, a Valkey that may be taken away, and documents that are taken in."""

    stack: Stack
    valkey: EmbeddedValkey
    documents: list[str]

    @property
    def api(self) -> Api:
        """Calls to the first gateway."""
        return Api(self.stack.address)


@pytest.fixture(scope="module")
def city(
    postgres: str, template_database: str, zygote: Zygote, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[City]:
    """A stack for a whole module; each of its tests leaves everything running."""
    tmp = tmp_path_factory.mktemp("city")
    with open_folder(tmp) as folder, fresh_database(postgres, template_database) as url:
        valkey = EmbeddedValkey(Home(folder / "valkey"))
        valkey.start()
        stack = Stack(url, valkey.url, tmp, launch=zygote.launch)
        try:
            stack.start(*MODULES, "gateway-2")
            yield City(stack, valkey, Api(stack.address).upload(CORPORA / "harbor"))
        finally:
            stack.stop()
            valkey.stop()
