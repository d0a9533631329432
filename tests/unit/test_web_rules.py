"""The fetcher's pure rules: retries, headers, source policy, search requests and the choice among hits."""

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from services.fetcher.attempts import LONGEST_REST_S, MAX_TRIES, Attempt, error_after, judge_error, judge_status
from services.fetcher.net.messages import Fetched
from services.fetcher.search.choosing import Chosen, allowed, choose, local_scores
from services.fetcher.search.contract import Account, Hit, SearchQuery
from services.fetcher.search.searxng import SearXNG
from services.fetcher.times import max_age_s, retry_after_s
from services.fetcher.web import user_agent
from shared.contracts.candidates import page_candidate
from shared.contracts.evidence import Fetch
from shared.contracts.runs import Published, SourcePolicy
from shared.domain.errors import LimitExceeded, NotAllowed, Permanent, RateLimited, StepError, Transient
from shared.domain.urls import parse_url


def attempt(again: str = "no", after_s: float | None = None, **facts: Any) -> Attempt:
    """Return a try that failed."""
    row = Fetch(
        fetch_id="f", source_id="s", requested_url="u", tier="static", at=datetime(2026, 1, 1, tzinfo=UTC), **facts
    )
    return Attempt(row, again, after_s, final="failed")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "rest_s", "again", "final"),
    [
        (400, None, "no", "failed"),
        (401, None, "no", "blocked"),
        (403, None, "no", "blocked"),
        (404, None, "no", "failed"),
        (451, None, "no", "blocked"),
        (408, None, "soon", "failed"),
        (425, None, "soon", "failed"),
        (429, None, "later", "failed"),
        (429, 7.0, "later", "failed"),
        (500, None, "soon", "failed"),
        (503, None, "soon", "failed"),
        (503, 7.0, "later", "failed"),
    ],
)
def test_only_some_statuses_are_tried_again(status: int, rest_s: float | None, again: str, final: str) -> None:
    """Of the 4xx only 408, 425 and 429; a server's trouble always."""
    assert judge_status(status, rest_s) == (again, final)


def test_errors_are_tried_again_by_kind() -> None:
    """What broke off may work again; refusals, limits and unreadable answers end the source."""
    judged = {
        type(e).__name__ + e.code: judge_error(e)
        for e in (
            Transient("timeout", ""),
            Permanent("tls_certificate", ""),
            Permanent("unsupported_type", ""),
            LimitExceeded("deadline", ""),
            NotAllowed("ip_loopback", ""),
        )
    }
    assert list(judged.values()) == [
        ("soon", "failed"),
        ("no", "failed"),
        ("no", "unsupported"),
        ("no", "failed"),
        ("no", "blocked"),
    ]


@given(st.integers(1, 10), st.sampled_from(["no", "soon", "later"]), st.none() | st.floats(0, 10_000))
def test_a_page_is_tried_three_times_at_most(tries: int, again: str, after_s: float | None) -> None:
    """A postponement says for how long, and no site is waited for beyond reason."""
    error = error_after(tries, attempt(again, after_s, status=503))
    if again == "no" or tries >= MAX_TRIES or (again == "later" and (after_s or 0) > LONGEST_REST_S):
        assert error is None
    elif again == "soon":
        assert isinstance(error, Transient)
    else:
        assert isinstance(error, RateLimited)
        assert error.after_s == (after_s if after_s is not None else 10.0 * 2 ** (tries - 1))


DATE = "Mon, 30 Nov 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "120"}, 120.0),
        ({"retry-after": " 0 "}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 10:02:30 GMT", "date": DATE}, 150.0),
        ({"retry-after": "Mon, 30 Nov 2026 09:00:00 GMT", "date": DATE}, 0.0),
        ({"retry-after": "Monday, 30-Nov-26 10:00:10 GMT", "date": DATE}, 10.0),
        ({"retry-after": "Mon, 30 Nov 2026 10:02:30 GMT"}, None),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    """As a number and as a date, which is measured by the site's own clock."""
    assert retry_after_s(headers) == seconds


def test_ages_are_read() -> None:
    """What may be kept for how long, and what may not be kept."""
    assert max_age_s({"cache-control": "public, max-age=60"}) == 60.0
    assert max_age_s({"cache-control": "s-maxage=1"}) is None
    assert max_age_s({"cache-control": "no-store"}) == 0.0
    assert max_age_s({}) is None


def test_the_user_agent_is_honest() -> None:
    """Name and version, and where to complain if the operator says so."""
    assert user_agent("0.1.0", "https://example.org/bot") == "Leadline/0.1 (+https://example.org/bot)"
    assert user_agent("0.1.0", None) == "Leadline/0.1"


def policy(**values: Any) -> SourcePolicy:
    """Return a policy."""
    return SourcePolicy.model_validate(values)


def test_the_web_is_off_where_other_sources_were_given() -> None:
    """Documents or addresses without a mode keep the run off the web; a mode that was given holds."""
    assert policy().web_mode == "full_web"
    assert policy(document_ids=["d"]).web_mode == "none"
    assert policy(documents_all=True).endpoints == ("documents",)
    assert policy(urls=["http://a.test/"]).endpoints == ()
    both = policy(document_ids=["d"], web={"mode": "only_domains", "domains": ["a.test"]})
    assert both.endpoints == ("documents", "web")
    assert both.allows_endpoint("news")
    assert not policy(documents_all=True).allows_endpoint("scholar")
    assert policy(documents_all=True).settled().web.mode == "none"


def test_domains_are_normal_and_exclusion_wins() -> None:
    """Domains mean what lies below them too; a given address opens its own host under only_domains."""
    only = policy(web={"mode": "only_domains", "domains": ["*.A.test"], "excluded_domains": ["x.a.test", "b.test"]})
    assert only.web.domains == ("a.test",)
    assert [only.allows_host(h) for h in ("a.test", "y.a.test", "x.a.test", "c.test")] == [True, True, False, False]
    assert only.allows_host("c.test", given="c.test")
    assert not only.allows_host("b.test", given="b.test")
    assert policy(web={"mode": "prefer_domains", "domains": ["a.test"]}).allows_host("c.test")
    with pytest.raises(ValidationError):
        policy(web={"domains": ["http://a.test/"]})


def test_given_addresses_are_pages_once_each() -> None:
    """They come in normal form and in their order; what is no web address is refused."""
    given_twice = policy(urls=["http://B.test", "http://a.test/?utm_source=x", "http://a.test/"])
    assert given_twice.urls == ("http://b.test/", "http://a.test/")
    for wrong in ("ftp://a.test/", "a.test", "http://u:p@a.test/", "http://a.test/" + "x" * 3000):
        with pytest.raises(ValidationError):
            policy(urls=[wrong])


def test_the_time_of_publication_is_compared_as_far_as_it_is_known() -> None:
    """Years, months and days are compared by what both sides tell; an unknown date passes."""
    time = Published.model_validate({"from": "2020-03", "to": "2021"})
    dates = ("2020", "2020-02-28", "2020-03-01T10:00:00Z", "2019-12-31", "2021-12-31", "2022-01-01", None)
    assert [time.includes(d) for d in dates] == [True, False, True, False, True, False, True]
    assert time.model_dump(mode="json") == {"from": "2020-03", "to": "2021"}
    assert Published.model_validate(time.model_dump(mode="json")) == time


def test_the_same_page_is_the_same_candidate() -> None:
    """Tracking makes no other source of a page, and another run has sources of its own."""
    one, two = (page_candidate("r1", parse_url(f"http://a.test/p{q}")) for q in ("", "?utm_source=x"))
    assert one.source_id == two.source_id
    assert (one.kind, one.status, one.domain) == ("web", "candidate", "a.test")
    assert page_candidate("r2", parse_url("http://a.test/p")).source_id != one.source_id


def hits(*urls: str, **snippets: str) -> list[Hit]:
    """Return hits whose snippets are given by the last letter of their address."""
    return [Hit(url, "Title", snippets.get(url[-1], "nothing here")) for url in urls]


def test_hits_are_chosen_by_policy_and_ranked_by_words() -> None:
    """Each page comes once, forbidden and unreadable ones never, and words of the query decide before the provider."""
    found = hits(
        "http://a.test/x", "http://a.test/x?utm_source=z", "http://bad.test/y", "javascript:z", "http://c.test/w"
    )
    found += [Hit("http://d.test/v", "How deep the basin is", "The basin is 14 metres deep.")]
    chosen = best(found, "How deep is the basin?", policy(web={"excluded_domains": ["bad.test"]}), 10)
    assert [str(c.url) for c in chosen] == ["http://d.test/v", "http://a.test/x", "http://c.test/w"]
    assert len(best(found, "basin", policy(), 1)) == 1


def test_preferred_domains_come_first_and_only_domains_alone() -> None:
    """A preference changes the order, a restriction the set; dates outside the time are left out."""
    found = [
        Hit("http://a.test/", "basin", "basin depth", "2019-05-01"),
        Hit("http://b.test/", "other", "other", "2024-01-01"),
        Hit("http://c.test/", "basin", "basin depth"),
    ]
    preferred = policy(web={"mode": "prefer_domains", "domains": ["b.test"]})
    assert [c.url.host for c in best(found, "basin depth", preferred, 5)] == ["b.test", "a.test", "c.test"]
    only = policy(web={"mode": "only_domains", "domains": ["b.test"]})
    assert [c.url.host for c in best(found, "basin depth", only, 5)] == ["b.test"]
    recent = policy(published={"from": "2020"})
    assert {c.url.host for c in best(found, "basin depth", recent, 5)} == {"b.test", "c.test"}


def best(found: list[Hit], query: str, allowing: SourcePolicy, most: int) -> tuple[Chosen, ...]:
    """Return what is chosen of one provider's hits, ranked by their words."""
    return choose([found], allowing, most, local_scores(allowed(found, allowing), query))


ENGINE = SearXNG(Account("http://search.test:8080/engine/"))
QUERY = SearchQuery("how deep")


def test_searxng_is_asked_in_its_own_terms() -> None:
    """Format, category, language and site restrictions go into the query; a long one is cut between words."""
    request = ENGINE.request(SearchQuery("how deep", "scholar", ("a.test", "b.test"), "de"))
    asked = parse_qs(request.url.query or "")
    assert (request.url.origin, request.url.path) == ("http://search.test:8080", "/engine/search")
    assert asked == {
        "q": ["how deep (site:a.test OR site:b.test)"],
        "format": ["json"],
        "categories": ["science"],
        "language": ["de"],
    }
    long = parse_qs(ENGINE.request(SearchQuery("depth " * 200)).url.query or "")["q"][0]
    assert len(long) <= ENGINE.query_limits.chars
    assert long.endswith("depth")


def answered(body: object, status: int = 200, **headers: str) -> Fetched:
    """Return an answer of the engine."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Fetched((ENGINE.endpoint,), status, headers, data)


def test_searxng_results_are_read() -> None:
    """Title, text and date of each result, cleaned; entries that are none are left out."""
    results = [
        {
            "url": "http://a.test/",
            "title": "A\u0000  title",
            "content": "Some\nwords",
            "publishedDate": "2024-05-06T00:00:00",
        },
        {"url": "http://b.test/", "title": None, "publishedDate": None},
        {"title": "no address"},
        "nonsense",
    ]
    assert ENGINE.read(answered({"results": results}), QUERY) == (
        Hit("http://a.test/", "A title", "Some words", "2024-05-06"),
        Hit("http://b.test/", "", ""),
    )
    assert ENGINE.read(answered({"results": []}), QUERY) == ()


@pytest.mark.parametrize(
    ("fetched", "kind", "code", "advice"),
    [
        (answered(b"<html>results</html>"), Permanent, "search_json_off", "settings.yml"),
        (answered(b"", 403), Permanent, "search_json_off", "settings.yml"),
        (answered({"error": "x"}), Permanent, "search_json_off", "settings.yml"),
        (answered([1, 2]), Permanent, "search_json_off", "settings.yml"),
        (answered(b"[" * 100_000), Permanent, "search_json_off", "settings.yml"),
        (answered(b"", 404), Permanent, "search_refused", "SEARXNG_URL"),
        (answered(b"", 502), Transient, "search_failed", "502"),
        (answered(b"", 429, **{"retry-after": "12"}), RateLimited, "search_limited", "12 s"),
        (
            answered({"results": [], "unresponsive_engines": [["google", "timeout"]]}),
            Transient,
            "search_engines_down",
            "google",
        ),
    ],
)
def test_searxng_troubles_say_what_to_do(fetched: Fetched, kind: type[StepError], code: str, advice: str) -> None:
    """Each kind of wrong answer is a typed error with a sentence that helps."""
    with pytest.raises(StepError) as caught:
        ENGINE.read(fetched, QUERY)
    assert (type(caught.value), caught.value.code) == (kind, code)
    assert advice in caught.value.detail
