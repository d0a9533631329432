"""One suite for every search provider, over servers that answer in the shape of each one's API."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from services.fetcher.net.messages import Fetched, OpenGate
from services.fetcher.search.choosing import allowed
from services.fetcher.search.contract import Account, Hit, Provider, SearchQuery
from services.fetcher.search.providers import FACTORIES
from services.fetcher.web import WayOut, fetch
from shared.contracts.runs import SourcePolicy
from shared.domain.errors import NotAllowed, Permanent, RateLimited, StepError, Transient
from shared.domain.search import PROVIDERS
from shared.domain.urls import Url
from shared.guards.addresses import Allowance
from tests.support.search_apis import ENTRIES, KEY, FakeApi, troubles
from tests.support.site import Reply, Site, running_site

NAMES = tuple(PROVIDERS)
KEYED = tuple(name for name in NAMES if PROVIDERS[name].needs_key)
QUERY = SearchQuery("how deep is the basin", language="en")

TELLS = {
    "searxng": {"published_at", "author", "publisher"},
    "tavily": set(),
    "exa": {"published_at", "author"},
    "serper": set(),
    "brave": {"published_at", "publisher"},
    "duckduckgo": set(),
    "wikipedia": {"publisher"},
    "arxiv": {"published_at", "author", "publisher"},
    "openalex": {"published_at", "author", "publisher"},
    "crossref": {"published_at", "author", "publisher"},
    "pubmed": {"published_at", "author", "publisher"},
}
"""What each tells of every hit at the first endpoint that it serves."""

NATIVE_DATES = set(NAMES) - {"searxng", "wikipedia"}
NATIVE_DOMAINS = {"searxng", "tavily", "exa", "serper", "brave", "duckduckgo"}
LONGEST = {
    "searxng": ("q", 400),
    "tavily": ("query", 400),
    "exa": ("query", 2000),
    "serper": ("q", 2000),
    "brave": ("q", 400),
    "duckduckgo": ("q", 480),
    "wikipedia": ("gsrsearch", 300),
    "arxiv": ("search_query", 500),
    "openalex": ("search", 400),
    "crossref": ("query.bibliographic", 400),
    "pubmed": ("term", 400),
}


@dataclass
class Desk:
    """A provider, the server that it asks, and the one way out."""

    api: FakeApi
    provider: Provider

    def fetch(self, query: SearchQuery) -> Fetched:
        """Ask once."""
        return self._sent(self.provider, query)

    def _sent(self, provider: Provider, query: SearchQuery, url: Url | None = None) -> Fetched:
        request = provider.request(query)
        request = request if url is None else replace(request, url=url)
        endpoint = provider.endpoint
        allowance = Allowance(endpoints=frozenset({(endpoint.host, endpoint.port)}))
        way = WayOut(allowance, lambda host, timeout_s: ["127.0.0.1"], user_agent="Leadline/0.1")
        return fetch(request, OpenGate(), way)

    def search(self, query: SearchQuery, provider: Provider | None = None) -> tuple[Hit, ...]:
        """Ask until there are hits."""
        asked = provider or self.provider
        found = asked.read(self._sent(asked, query), query)
        while isinstance(found, Url):
            found = asked.read(self._sent(asked, query, found), query)
        return found


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A loopback site on which all servers live."""
    with running_site() as running:
        yield running


def desk_of(site: Site, name: str, key: str | None = KEY) -> Desk:
    """Return a desk with a fresh server."""
    api = FakeApi(site, name)
    return Desk(api, FACTORIES[name](Account(api.base_url, key)))


@pytest.fixture(params=NAMES)
def desk(request: pytest.FixtureRequest, site: Site) -> Desk:
    """Each provider in turn."""
    return desk_of(site, request.param)


def test_every_provider_has_a_file_and_facts() -> None:
    """The table of factories and that of facts name the same providers, in the same order."""
    assert tuple(FACTORIES) == NAMES
    for name in NAMES:
        assert FACTORIES[name](Account("http://x.test", KEY)).name == name


def test_hits_are_typed(desk: Desk) -> None:
    """Titles and texts are clean, addresses can be read, and what the provider tells has a field of its own."""
    name = desk.provider.name
    query = replace(QUERY, endpoint=PROVIDERS[name].endpoints[0])  # type: ignore[arg-type]
    hits = desk.search(query)
    assert len(hits) >= 10
    assert [hit.title for hit in hits[:2]] == [ENTRIES[0].title, ENTRIES[1].title]
    assert {hit.snippet for hit in hits[:1]} == ({""} if name == "pubmed" else {ENTRIES[0].snippet})
    assert len(allowed(hits, SourcePolicy())) == len(hits)
    for told in TELLS[name]:
        assert all(getattr(hit, told) for hit in hits), told
    if "published_at" in TELLS[name]:
        assert hits[0].published_at == ENTRIES[0].date
    if "author" in TELLS[name]:
        assert hits[0].author == ENTRIES[0].author
    assert {hit.kind for hit in hits} == {"paper" if PROVIDERS[name].endpoints[0] == "scholar" else "page"}


def test_every_endpoint_is_served(desk: Desk) -> None:
    """What a provider says it serves gives hits of that kind."""
    for endpoint in PROVIDERS[desk.provider.name].endpoints:
        hits = desk.search(replace(QUERY, endpoint=endpoint))  # type: ignore[arg-type]
        assert hits
        assert {hit.kind for hit in hits} == {{"web": "page", "news": "news", "scholar": "paper"}[endpoint]}


def test_pages_follow_each_other(desk: Desk) -> None:
    """The second page repeats nothing of the first; who has one page says so."""
    first = desk.search(QUERY)
    if desk.provider.pages == 1:
        return
    second = desk.search(replace(QUERY, page=2))
    assert second
    assert not {hit.url for hit in first} & {hit.url for hit in second}


def test_long_queries_are_cut_between_words(desk: Desk) -> None:
    """No query is longer than the provider takes, in letters that need escapes too; the end is a whole word."""
    name = desk.provider.name
    parameter, most = LONGEST[name]
    for word in ("depth", "Tiefe-ä", "深"):
        text = f"{word} " * 3000
        assert isinstance(desk.search(replace(QUERY, text=text.strip())), tuple)
        sent = next(a.values[parameter] for a in desk.api.asked[::-1] if parameter in a.values)
        assert len(sent) <= most
        assert sent.rstrip(")").endswith(word)
        desk.api.asked.clear()
    assert desk.provider.words(QUERY).startswith("deep basin" if name == "arxiv" else QUERY.text)


def test_one_endless_word_is_cut(desk: Desk) -> None:
    """A query without a space, as in Chinese, is cut where it has to be."""
    assert isinstance(desk.search(replace(QUERY, text="深" * 3000)), tuple)


def test_domains_are_filtered_by_the_provider_or_by_leadline(desk: Desk) -> None:
    """Only wanted and no excluded domains are left, whoever filters; natively where the provider can."""
    name = desk.provider.name
    only = replace(QUERY, domains=("a.test",))
    policy = SourcePolicy.model_validate({"web": {"mode": "only_domains", "domains": ["a.test"]}})
    if desk.provider.covers(only):
        hits = desk.search(only)
        assert {c.url.host for c in allowed(hits, policy)} <= {"a.test"}
        if name in NATIVE_DOMAINS:
            assert {hit.url.split("/")[2] for hit in hits} == {"a.test"}
    else:
        assert name in ("wikipedia", "arxiv", "pubmed")
    hits = desk.search(replace(QUERY, excluded=("b.test",)))
    no_b = SourcePolicy.model_validate({"web": {"mode": "full_web", "excluded_domains": ["b.test"]}})
    assert "b.test" not in {c.url.host for c in allowed(hits, no_b)}
    if name in NATIVE_DOMAINS - {"searxng"}:
        assert "b.test" not in {hit.url.split("/")[2] for hit in hits}


def test_a_provider_with_a_site_of_its_own_is_not_asked_in_vain(site: Site) -> None:
    """Wikipedia, arXiv and PubMed have nothing on other domains, and nothing when their own is excluded."""
    for name, own in (("wikipedia", "wikipedia.org"), ("arxiv", "arxiv.org"), ("pubmed", "nih.gov")):
        provider = desk_of(site, name).provider
        assert provider.covers(QUERY)
        assert provider.covers(replace(QUERY, domains=("a.test", own)))
        assert not provider.covers(replace(QUERY, domains=("a.test",)))
        assert not provider.covers(replace(QUERY, excluded=(own,)))
    assert desk_of(site, "wikipedia").provider.covers(replace(QUERY, domains=("de.wikipedia.org",)))


@pytest.mark.parametrize(
    ("since", "until"), [("2018", "2020"), ("2018-02", None), (None, "2020-02"), ("2019-03-15", "2019-12-01")]
)
def test_dates_are_filtered_by_the_provider_or_by_leadline(desk: Desk, since: str | None, until: str | None) -> None:
    """Hits with a date outside the time are left out, whoever filters; natively where the provider can."""
    name = desk.provider.name
    query = replace(QUERY, since=since, until=until, endpoint=PROVIDERS[name].endpoints[-1])  # type: ignore[arg-type]
    if name == "serper":
        query = replace(query, endpoint="web")
    hits = desk.search(query)
    policy = SourcePolicy.model_validate({"published": {"from": since, "to": until}})
    for chosen in allowed(hits, policy):
        assert policy.published.includes(chosen.hit.published_at)
    dated = [hit for hit in hits if hit.published_at is not None]
    if name in NATIVE_DATES and name != "tavily":
        assert all(policy.published.includes(hit.published_at) for hit in dated)
    if name == "tavily":
        assert {"start_date", "end_date"} & set(desk.api.asked[-1].values)


@pytest.mark.parametrize("status", [429, 503])
def test_a_rest_that_is_asked_for_is_kept(desk: Desk, status: int) -> None:
    """Too many requests become an error that says until when; it names the provider."""
    desk.api.reply = Reply("slow down", status, {"Retry-After": "7"})
    with pytest.raises(RateLimited) as caught:
        desk.search(QUERY)
    assert (caught.value.code, caught.value.after_s) == ("search_limited", 7.0)
    assert PROVIDERS[desk.provider.name].label in caught.value.detail


def test_202_is_no_answer(desk: Desk) -> None:
    """An answer that is yet to come is a request to come back."""
    desk.api.reply = Reply("{}", 202)
    with pytest.raises(RateLimited, match="search_limited"):
        desk.search(QUERY)


def test_a_server_in_trouble_is_asked_again(desk: Desk) -> None:
    """Errors of the server are transient."""
    desk.api.reply = Reply("<html>oops</html>", 502)
    with pytest.raises(Transient) as caught:
        desk.search(QUERY)
    assert caught.value.code == "search_failed"


@pytest.mark.parametrize(("name", "reply", "code"), list(troubles()))
def test_errors_in_the_body_are_read(site: Site, name: str, reply: Reply, code: str) -> None:
    """What a provider says in its own way, under status 200 or another, becomes a typed error with a sentence."""
    desk = desk_of(site, name)
    desk.api.reply = reply
    with pytest.raises(StepError) as caught:
        desk.search(QUERY)
    assert caught.value.code == code
    assert isinstance(caught.value, RateLimited) == (code == "search_limited")
    assert isinstance(caught.value, Transient) == (code in ("search_failed", "search_engines_down"))
    assert len(caught.value.detail) < 500


@pytest.mark.parametrize("name", KEYED)
def test_a_wrong_key_says_which_setting_to_correct(site: Site, name: str) -> None:
    """The error names the setting, and neither it nor anything that is logged holds the key."""
    wrong = "sk-wrong-key-91ab"
    desk = desk_of(site, name, wrong)
    with pytest.raises(Permanent) as caught:
        desk.search(QUERY)
    assert caught.value.code == "search_key"
    assert str(PROVIDERS[name].setting) in caught.value.detail
    echo = json.dumps({"error": f"key {wrong} is unknown", "message": f"key {wrong} is unknown", "detail": wrong})
    desk.api.reply = Reply(echo, 401, {"Content-Type": "application/json"})
    with pytest.raises(Permanent) as caught:
        desk.search(QUERY)
    request = desk.provider.request(QUERY)
    for shown in (str(caught.value), repr(request), str(request.url), repr(Account("http://x.test", wrong))):
        assert wrong not in shown


@pytest.mark.parametrize(
    "body",
    [b"", b"<html></html>", b"[]", b"null", b"{}", b"[" * 100_000, b'{"results": 3}', b"\xff\xfe", b'{"a": NaN}']
    + [json.dumps({k: [v] for k in ("results", "organic", "news")}).encode() for v in (None, 1, "x", {"url": 5})],
)
def test_whatever_comes_back_is_an_error_or_nothing(desk: Desk, body: bytes) -> None:
    """A body that is not the provider's ends in a typed error or in no hits, never in anything else."""
    desk.api.reply = Reply(body, headers={"Content-Type": "application/json"})
    try:
        assert desk.search(QUERY) == ()
    except StepError as error:
        assert error.code in ("search_answer", "search_json_off", "search_refused")  # noqa: PT017


def test_fields_of_other_types_are_left_out(desk: Desk) -> None:
    """Every value of an answer replaced by another type, one at a time, gives hits, no hits or a typed error."""
    fetched = desk.fetch(QUERY)
    try:
        answer = json.loads(fetched.body)
    except ValueError:
        return
    for path in list(paths_of(answer))[:400]:
        for other in (None, 7, "x", [], {}, [[]]):
            body = json.dumps(with_value(answer, path, other)).encode()
            try:
                found = desk.provider.read(replace(fetched, body=body), QUERY)
            except StepError:
                continue
            assert isinstance(found, tuple | Url)


def paths_of(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield where values stand, of lists the first only."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths_of(inner, (*path, key))
    elif isinstance(value, list) and value:
        yield from paths_of(value[0], (*path, 0))


def with_value(value: object, path: tuple[str | int, ...], other: object) -> object:
    """Return a copy with another value at a path."""
    if not path:
        return other
    copy = dict(value) if isinstance(value, dict) else list(value)  # type: ignore[call-overload]
    copy[path[0]] = with_value(copy[path[0]], path[1:], other)
    return copy


def test_no_redirect_is_followed(desk: Desk, site: Site) -> None:
    """Neither the key nor the question goes on to wherever an answer points."""
    other = site.answer("elsewhere.test", "/", "caught")
    desk.api.reply = Reply(status=302, headers={"Location": other})
    with pytest.raises(StepError, match="redirect"):
        desk.search(QUERY)
    assert site.paths("elsewhere.test") == []


def test_the_address_judge_comes_first(desk: Desk) -> None:
    """A provider whose name leads inside is not asked unless the operator named the address."""
    request = desk.provider.request(QUERY)
    asked = len(desk.api.asked)
    with pytest.raises(NotAllowed):
        fetch(request, OpenGate(), WayOut(resolver=lambda host, timeout_s: ["127.0.0.1"]))
    assert len(desk.api.asked) == asked


def test_requests_carry_our_own_name(desk: Desk) -> None:
    """The user agent is ours, and what is sent is JSON where it is posted."""
    desk.search(QUERY)
    asked = desk.api.asked[0]
    assert asked.headers["user-agent"] == "Leadline/0.1"
    assert asked.headers.get("content-type", "application/json") == "application/json"
