"""The real stack for end-to-end tests: every service as a process of its own, over the session's servers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import Api
from tests.support.servers import fresh_database
from tests.support.stack import Stack, running_stack


@pytest.fixture(scope="module")
def stack(
    postgres: str, template_database: str, valkey: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """A running stack over a fresh database; what its processes logged is shown when a test fails."""
    with (
        fresh_database(postgres, template_database) as url,
        running_stack(url, valkey, tmp_path_factory.mktemp("stack")) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def api(stack: Stack) -> Api:
    """Calls to the stack's gateway."""
    return Api(stack.address)


@pytest.fixture(scope="module")
def documents(api: Api) -> list[str]:
    """The harbor corpus, taken in; its document ids."""
    return api.upload(Path(__file__).parents[2] / "evals" / "corpora" / "harbor")
