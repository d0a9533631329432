"""What `leadline doctor` says of the search providers: asked without a key whether they answer."""

from collections.abc import Iterator

import pytest

from services.fetcher.inspect import inspect_search
from shared.config.settings import Settings
from tests.support.search_apis import KEY
from tests.support.site import LOOPBACK, Handler, Reply, Site, running_site


@pytest.fixture
def site() -> Iterator[Site]:
    """A loopback site that stands for all providers."""
    with running_site() as running:
        yield running


def test_each_configured_service_is_asked_without_its_key(site: Site) -> None:
    """Any answer but a server's error is one; no query and no key is sent."""
    seen: list[dict[str, str]] = []

    def answer(handler: Handler) -> Reply:
        seen.append({name.lower(): value for name, value in handler.headers.items()})
        return Reply("who are you?", 401)

    url = site.answer(LOOPBACK, "/", answer)
    given = {"TAVILY_API_KEY": KEY, "search_urls": f"tavily={url}, cohere={url}, wikipedia={url}"}
    settings = Settings(**given, search="wikipedia", COHERE_API_KEY=KEY)  # type: ignore[arg-type]
    probed = list(inspect_search(settings))
    assert [(p.name, p.ok) for p in probed] == [("wikipedia", True), ("tavily", True), ("cohere", True)]
    assert KEY not in str(seen)
    assert len(seen) == 3


def test_who_does_not_answer_is_named_with_what_to_do(site: Site) -> None:
    """A server in trouble, no server at all, and a SearXNG without JSON."""
    site.answer(LOOPBACK, "/", Reply("oops", 503))
    site.answer(LOOPBACK, "/search", Reply("no", 403))
    down = f"brave=http://{LOOPBACK}:9"
    settings = Settings(
        SEARXNG_URL=site.url(LOOPBACK, ""),
        TAVILY_API_KEY=KEY,  # type: ignore[arg-type]
        BRAVE_API_KEY=KEY,  # type: ignore[arg-type]
        search_urls=f"tavily={site.url(LOOPBACK, '')}, {down}",
    )
    probed = {p.name: p for p in inspect_search(settings)}
    assert not any(p.ok for p in probed.values())
    assert "search.formats" in probed["searxng"].advice
    assert "503" in probed["tavily"].detail
    assert "cannot be connected to" in probed["brave"].detail
    assert "leave Brave out" in probed["brave"].advice


def test_nothing_configured_is_nothing_to_ask() -> None:
    """Without providers there is no line, and a key that cannot be sent is one that says so."""
    assert list(inspect_search(Settings())) == []
    [wrong] = inspect_search(Settings(EXA_API_KEY="a b"))  # type: ignore[arg-type]
    assert not wrong.ok
    assert "EXA_API_KEY" in wrong.detail
