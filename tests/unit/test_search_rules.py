"""Which providers are asked, how queries are made to fit, how hits are merged: the rules, without any server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from services.fetcher.opening import SettingWrong, open_desk
from services.fetcher.search import answers
from services.fetcher.search.choosing import FLOOR, allowed, choose, local_scores
from services.fetcher.search.contract import Hit, QueryLimits, SearchQuery, last_day
from services.fetcher.search.fitting import fitted, plain_words, telling_words, with_sites
from shared.config.settings import Settings
from shared.contracts.runs import SourcePolicy
from shared.domain.search import PROVIDERS, parse_addresses, parse_names, serving

ANYWHERE = SourcePolicy.model_validate({"web": {"mode": "full_web"}})


def settings(monkeypatch: pytest.MonkeyPatch, **values: str) -> Settings:
    """Return the settings of an environment that has these values alone."""
    for facts in PROVIDERS.values():
        if facts.setting:
            monkeypatch.delenv(facts.setting, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return Settings()


def test_providers_are_those_that_are_named_or_have_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Named ones first and in their order, then those with a key or address; nothing by itself."""
    assert settings(monkeypatch).search_providers() == ()
    given = {"SEARXNG_URL": "http://searx.test", "EXA_API_KEY": "k", "LEADLINE_SEARCH": "arXiv, ddgs,exa"}
    assert settings(monkeypatch, **given).search_providers() == ("arxiv", "duckduckgo", "exa", "searxng")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("LEADLINE_SEARCH", "altavista", "there are searxng, tavily"),
        ("LEADLINE_SEARCH", "brave", "BRAVE_API_KEY"),
        ("LEADLINE_SEARCH_URLS", "brave", "name=url"),
        ("LEADLINE_SEARCH_URLS", "altavista=http://x.test", "name=url"),
        ("LEADLINE_SEARCH_URLS", "brave=ftp://x.test", "http"),
    ],
)
def test_wrong_settings_are_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    """An unknown name, a missing key and an address that is none are named."""
    with pytest.raises(ValidationError, match=told):
        settings(monkeypatch, **{name: value})


def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key with a line break inside would change the request."""
    with pytest.raises(SettingWrong) as caught:
        open_desk(settings(monkeypatch, TAVILY_API_KEY="tvly-secret\r\nX-Other: 1"))
    assert "TAVILY_API_KEY" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_desk_has_what_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Providers in their order, the first reranker with a key, addresses of the operator's choice."""
    assert open_desk(settings(monkeypatch)) is None
    given = {
        "TAVILY_API_KEY": " tvly-1 \n",
        "LEADLINE_SEARCH": "wikipedia",
        "VOYAGE_API_KEY": "v",
        "LEADLINE_SEARCH_URLS": "tavily=http://proxy.test:8080/tavily/, voyage=http://proxy.test:8081",
    }
    desk = open_desk(settings(monkeypatch, **given))
    assert desk is not None
    assert [seat.provider.name for seat in desk.seats] == ["wikipedia", "tavily"]
    request = desk.seats[1].provider.request(SearchQuery("depth"))
    assert str(request.url) == "http://proxy.test:8080/tavily/search"
    assert ("Authorization", "Bearer tvly-1") in request.headers
    assert desk.ranking is not None
    assert str(desk.ranking.reranker.endpoint) == "http://proxy.test:8081/"
    german = desk.seats[0].provider.request(SearchQuery("Tiefe", language="de-AT"))
    assert german.url.host == "de.wikipedia.org"
    assert isinstance(Settings().tavily_api_key, SecretStr)


def test_an_endpoint_is_served_by_somebody() -> None:
    """Who serves it, else who searches the web, else all."""
    assert serving(("arxiv", "tavily"), "scholar") == ("arxiv",)
    assert serving(("arxiv", "wikipedia"), "news") == ("wikipedia",)
    assert serving(("arxiv", "pubmed"), "web") == ("arxiv", "pubmed")
    assert parse_names("") == ()
    assert parse_addresses("") == {}


@given(st.text(max_size=300), st.integers(1, 120), st.integers(0, 8), st.integers(0, 200))
def test_a_query_fits_whatever_it_is(text: str, chars: int, words: int, escaped: int) -> None:
    """Neither characters nor words exceed the limits, and what is kept is a beginning of the words."""
    kept = fitted(text, QueryLimits(chars, words, escaped))
    assert len(kept) <= chars
    assert not words or len(kept.split()) <= words
    assert " ".join(text.split()).startswith(kept)


@given(st.text("ab ", min_size=1, max_size=300), st.lists(st.integers(1, 250), max_size=8), st.integers(20, 400))
def test_site_words_leave_room_for_the_query(text: str, sizes: list[int], chars: int) -> None:
    """However long domains are, the whole stays within the limit and begins with the query."""
    domains = tuple(f"{'d' * size}.test" for size in sizes)
    for query in (SearchQuery(text, domains=domains), SearchQuery(text, excluded=domains)):
        sent = with_sites(query, QueryLimits(chars))
        assert len(sent) <= chars
        assert " ".join(text.split()).startswith(sent.partition(" (site:")[0].partition(" -site:")[0])


def test_cuts_fall_between_words() -> None:
    """A word that does not fit is left out, unless it is the first."""
    assert fitted("how deep is the basin", QueryLimits(12)) == "how deep is"
    assert fitted("how deep is the basin", QueryLimits(11)) == "how deep is"
    assert fitted("how deep is the basin", QueryLimits(100, words=2)) == "how deep"
    assert fitted("unbelievable", QueryLimits(5)) == "unbel"
    assert with_sites(SearchQuery("how deep is it", domains=("a.test",), excluded=("b.test",)), QueryLimits(60)) == (
        "how deep is it (site:a.test) -site:b.test"
    )
    assert with_sites(SearchQuery("how deep is it", domains=("a.test",)), QueryLimits(26)) == "how deep is it"
    assert with_sites(SearchQuery("how deep is it", domains=("a.test",)), QueryLimits(40)).endswith("(site:a.test)")
    assert telling_words("How deep is the basin?") == ["deep", "basin"]
    assert telling_words("what is it") == ["what", "is", "it"]
    assert plain_words('What is "x-ray" AND (y)?') == "What is x-ray AND y"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("2024-05-06T10:00:00Z", "2024-05-06"),
        ("2024/05/06 00:00", "2024-05-06"),
        ("2024", "2024"),
        ("2024-5", "2024-05"),
        ("May 6, 2024", "2024-05-06"),
        ("6 May 2024", "2024-05-06"),
        ("2024 May 6", "2024-05-06"),
        ("2024 May", "2024-05"),
        ("Mon, 06 May 2024 10:00:00 GMT", "2024-05-06"),
        ("2 days ago", None),
        ("2024-13-40", None),
        ("yesterday", None),
        ("", None),
        (20240506, None),
        (None, None),
    ],
)
def test_dates_are_read_where_they_stand_by_themselves(told: object, expected: str | None) -> None:
    """A date that needs a clock, or that no calendar has, is unknown."""
    assert answers.date(told) == expected


@pytest.mark.parametrize(
    ("date", "last"),
    [("2024", "2024-12-31"), ("2024-02", "2024-02-29"), ("2023-02", "2023-02-28"), ("1900-02", "1900-02-28"),
     ("2024-04", "2024-04-30"), ("2024-05", "2024-05-31"), ("2024-05-06", "2024-05-06")],
)  # fmt: skip
def test_the_last_day_is_the_calendars(date: str, last: str) -> None:
    """Years and months end where they do."""
    assert last_day(date) == last


hits = st.lists(st.builds(Hit, st.sampled_from([f"https://h{n}.test/" for n in range(12)]), st.just("t"), st.just("s")))


@given(st.lists(hits, max_size=4), st.integers(1, 15), st.booleans())
def test_merging_keeps_its_promises(lanes: list[list[Hit]], most: int, ranked: bool) -> None:
    """Each page once, as many as wanted or there are, and a floor for every provider when there is room."""
    found = allowed((hit for lane in lanes for hit in lane), ANYWHERE)
    scores = {c.key: float(n) for n, c in enumerate(found)} if ranked else None
    chosen = choose(lanes, ANYWHERE, most, scores)
    keys = [c.key for c in chosen]
    assert len(keys) == len(set(keys)) == min(most, len(found))
    if scores is not None:
        assert keys == sorted(keys, key=lambda key: -scores[key])
    if most >= FLOOR * len(lanes):
        for lane in lanes:
            own = [c.key for c in allowed(lane, ANYWHERE)]
            assert len(set(own) & set(keys)) >= min(FLOOR, len(own))


def test_a_small_provider_is_not_crowded_out() -> None:
    """Three of the weaker provider get in although the other's hits all score better; without scores it is turns."""
    strong = [Hit(f"https://a.test/{n}", "basin depth", "basin depth") for n in range(10)]
    weak = [Hit(f"https://b.test/{n}", "other", "words") for n in range(10)]
    found = allowed([*strong, *weak], ANYWHERE)
    chosen = choose([strong, weak], ANYWHERE, 8, local_scores(found, "basin depth"))
    assert [c.url.host for c in chosen] == ["a.test"] * 5 + ["b.test"] * 3
    turns = choose([strong, weak], ANYWHERE, 4)
    assert [str(c.url) for c in turns] == [
        "https://a.test/0",
        "https://b.test/0",
        "https://a.test/1",
        "https://b.test/1",
    ]
