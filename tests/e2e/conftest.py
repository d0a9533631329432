"""The real stack for end-to-end tests: every service as a process of its own, over the session's servers."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.support.api import Api
from tests.support.browser import Watched, chromium, watched_page
from tests.support.model_server import PROVIDER_KEY, ModelServer, model_server
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


@pytest.fixture(scope="module")
def provider() -> Iterator[ModelServer]:
    """A model's provider on loopback."""
    with model_server() as server:
        yield server


@pytest.fixture(scope="module")
def make_llm_stack(
    postgres: str,
    template_database: str,
    valkey: str,
    provider: ModelServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., AbstractContextManager[Stack]]]:
    """Start a stack whose engine asks this provider for a model, one at a time; further settings as arguments."""
    with fresh_database(postgres, template_database) as url:

        def make(model: str, **settings: str) -> AbstractContextManager[Stack]:
            known = {"LEADLINE_MODEL": model, "OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": PROVIDER_KEY}
            return running_stack(url, valkey, tmp_path_factory.mktemp("stack"), **known, **settings)

        yield make


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the tests of a module; its driver keeps an event loop, which others may not want around."""
    with chromium() as started:
        yield started


@pytest.fixture
def watched(browser: Browser, stack: Stack) -> Iterator[Watched]:
    """A page that must show no dialog, report no error and reach no other machine."""
    with watched_page(browser, base_url=stack.address) as made:
        yield made


@pytest.fixture
def page(watched: Watched) -> Page:
    """The page itself."""
    return watched.page
