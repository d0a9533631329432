"""A stack of its own for each fault test, since what is broken here must not break others."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import Api
from tests.support.servers import fresh_database, valkey_server
from tests.support.stack import Stack, running_stack


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
