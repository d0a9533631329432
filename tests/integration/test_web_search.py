"""Searches of the web: several providers, their failures, ranking and the fetch log, over a real ledger."""

import contextlib
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from services.fetcher import handlers
from services.fetcher.asking import PATIENCE_S, Asking, Caller, Watch
from services.fetcher.search.contract import SearchQuery
from services.fetcher.search.searxng import SearXNG
from services.fetcher.searching import pages_found
from shared.db.engine import Transactions
from shared.db.sites import PATIENCE_S as PATIENCE_IN_PLACE_S
from shared.domain.errors import Permanent, RateLimited, Transient
from shared.domain.ids import RunId
from shared.domain.kinds import KINDS
from shared.domain.states import StepKind
from shared.ports.sites import Visitor
from tests.support.search_apis import ENTRIES, KEY
from tests.support.search_desk import SearchStage
from tests.support.site import Handler, Reply, Site, gaps, overlaps, running_site
from tests.support.stage import Stage

ARRIVAL_S = 0.1
"""How much later than it was sent a request may reach a server on a busy machine; the one after it may not."""

RERANKERS = {"cohere": "/v2/rerank", "jina": "/v1/rerank", "voyage": "/v1/rerank"}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A loopback site on which all servers live."""
    with running_site() as running:
        yield running


@pytest.fixture
def desk(transactions: Transactions, site: Site) -> SearchStage:
    """A ledger without any provider yet."""
    return SearchStage(Stage(transactions), site)


def test_the_endpoint_says_who_is_asked(desk: SearchStage) -> None:
    """A search goes to those who serve its endpoint; where nobody does, to those who search the web."""
    tavily, arxiv, brave = (desk.provider(name) for name in ("tavily", "arxiv", "brave"))
    desk.attempt(desk.run("scholar"))
    assert [len(api.asked) for api in (tavily, arxiv, brave)] == [0, 1, 0]
    desk.attempt(desk.run("news"))
    assert [len(api.asked) for api in (tavily, arxiv, brave)] == [1, 1, 1]
    assert brave.asked[0].path == "/res/v1/news/search"
    desk.seats = desk.seats[:1]
    desk.attempt(desk.run("scholar"))
    assert len(tavily.asked) == 2


def test_providers_are_merged_with_a_floor(desk: SearchStage) -> None:
    """Each provider gets its best three in, a page found twice is one, and what was found and kept is told."""
    desk.provider("tavily")
    desk.provider("wikipedia")
    outcome = desk.attempt(desk.run(results=8))
    urls = [found.source.url for found in outcome.found]
    assert len(urls) == len(set(urls)) == 8
    assert sum("wikipedia.org" in url for url in urls) >= 3
    assert sum(".test" in url for url in urls) >= 3
    told = outcome.result["providers"]
    assert {name: row["found"] for name, row in told.items()} == {"tavily": 20, "wikipedia": 20}
    assert sum(row["kept"] for row in told.values()) == 8
    assert (outcome.result["found"], outcome.result["kept"], outcome.result["ranked_by"]) == (40, 8, "leadline")
    assert any("/7" in url or "_7" in url for url in urls[:2])  # the words of the query, not the provider's order


def test_a_page_that_two_found_is_one(desk: SearchStage) -> None:
    """Duplicates by canonical URL are one candidate, kept for both."""
    desk.provider("tavily")
    desk.provider("exa")
    outcome = desk.attempt(desk.run(results=20))
    assert len(outcome.found) == 20
    assert {found.source.author for found in outcome.found} == {entry.author for entry in ENTRIES[:20]}
    assert {name: row["kept"] for name, row in outcome.result["providers"].items()} == {"tavily": 20, "exa": 20}


def test_one_that_fails_does_not_stop_the_others(desk: SearchStage) -> None:
    """The search goes on with who answers; the failure is told in result, summary and fetch log."""
    desk.provider("tavily").reply = Reply("{}", 432)
    desk.provider("exa")
    run_id = desk.run()
    outcome = desk.attempt(run_id)
    assert len(outcome.found) == 10
    assert outcome.result["failed"]["tavily"]["code"] == "search_out_of_credit"
    assert "Tavily gave no answer (search_out_of_credit)." in outcome.summary
    assert set(desk.stage.materials.fetches(run_id)) == set(outcome.fetches)
    [failed, answered] = outcome.fetches
    assert (failed.refusal, failed.status, answered.refusal, answered.status) == (
        "search_out_of_credit",
        432,
        None,
        200,
    )


def test_when_all_fail_the_search_does(desk: SearchStage) -> None:
    """A rest that is short is waited for, then trouble that may pass; else the search has failed with all reasons."""
    tavily, exa = desk.provider("tavily"), desk.provider("exa")
    tavily.reply, exa.reply = Reply("{}", 402), Reply("{}", 429, {"Retry-After": "9"})
    with pytest.raises(RateLimited) as limited:
        desk.attempt(desk.run())
    assert limited.value.after_s == 9.0
    desk.make_time_pass()
    exa.reply = Reply("{}", 500)
    with pytest.raises(Transient):
        desk.attempt(desk.run())
    exa.reply = Reply("{}", 429, {"Retry-After": "86400"})
    with pytest.raises(Permanent) as permanent:
        desk.attempt(desk.run())
    assert "Tavily" in permanent.value.detail
    assert "Exa" in permanent.value.detail


def test_a_search_that_failed_leaves_its_calls_in_the_log(desk: SearchStage) -> None:
    """Every call of every try, each once, although nothing else of the step is recorded."""
    exa, run_id = desk.provider("exa"), desk.run()
    exa.reply = Reply("{}", 500)
    with pytest.raises(Transient):
        desk.attempt(run_id)
    desk.make_time_pass()
    desk.stage.rows("update steps set not_before = clock_timestamp() returning 1")
    exa.reply = Reply("{}", 401)
    with pytest.raises(Permanent):
        desk.attempt(run_id)
    assert [row.status for row in desk.stage.materials.fetches(run_id)] == [500, 401]


def test_a_rest_holds_for_everybody(desk: SearchStage) -> None:
    """Another search waits for the end of a rest that a provider asked for, without asking."""
    exa = desk.provider("exa")
    exa.reply = Reply("{}", 429, {"Retry-After": "30"})
    with pytest.raises(RateLimited, match="search_limited"):
        desk.attempt(desk.run())
    exa.reply = None
    with pytest.raises(RateLimited, match="site_busy"):
        desk.attempt(desk.run())
    assert len(exa.asked) == 1


def test_a_long_rest_of_one_is_not_waited_for(desk: SearchStage) -> None:
    """A provider that rests for long is left out and told while another answers; alone, its search has failed."""
    desk.provider("tavily")
    exa = desk.provider("exa")
    desk.deps().web.slots.penalise("search:exa", 3000)
    outcome = desk.attempt(desk.run())
    assert outcome.result["failed"]["exa"]["code"] == "search_resting"
    assert (len(outcome.found), len(outcome.fetches), exa.asked) == (10, 1, [])
    desk.seats = desk.seats[1:]
    with pytest.raises(Permanent, match="left alone for another"):
        desk.attempt(desk.run())


def test_a_provider_is_given_up_after_three_tries(desk: SearchStage) -> None:
    """Three failed tries in a step are enough; every one of them is in the fetch log once another provider answers."""
    exa, run_id = desk.provider("exa"), desk.run()
    exa.reply = Reply("{}", 429, {"Retry-After": "1"})
    for _ in range(2):
        with pytest.raises(RateLimited):
            desk.attempt(run_id)
        desk.make_time_pass()
    desk.provider("tavily")
    outcome = desk.attempt(run_id)
    assert outcome.result["failed"]["exa"]["code"] == "search_limited"
    assert [row.status for row in outcome.fetches] == [429, 429, 429, 200]
    assert len(desk.stage.materials.fetches(run_id)) == 4
    assert len(exa.asked) == 3


def test_no_call_is_made_twice(desk: SearchStage) -> None:
    """A step that has to wait for its second provider, or whose worker died, does not ask the first one again."""
    tavily, exa = desk.provider("tavily"), desk.provider("exa")
    run_id = desk.run()
    slots = desk.deps().web.slots
    slots.take("search:exa", Visitor("stp_else", "else"), delay_s=0, hold_s=60)
    with pytest.raises(RateLimited, match="site_busy"):
        desk.attempt(run_id)
    assert (len(tavily.asked), len(exa.asked)) == (1, 0)
    desk.make_time_pass()
    lease = desk.claim(run_id)
    first = handlers.search(desk.deps(), lease)
    second = handlers.search(desk.deps(), lease)
    assert first == second
    assert (len(tavily.asked), len(exa.asked)) == (1, 1)


def test_what_became_of_the_last_call_is_known(desk: SearchStage) -> None:
    """Each service's last answer or failure is kept for everybody; waiting for a turn is neither."""
    desk.provider("tavily").reply = Reply("{}", 402)
    exa = desk.provider("exa")
    desk.attempt(desk.run())
    states = desk.deps().states
    assert {name: state.failure for name, state in states.all().items()} == {
        "tavily": "search_out_of_credit",
        "exa": None,
    }
    before = states.all()["exa"].asked_at
    exa.reply = Reply("{}", 500)
    desk.seats = desk.seats[1:]
    with pytest.raises(Transient):
        desk.attempt(desk.run())
    after = states.all()["exa"]
    assert after.failure == "search_failed"
    assert after.asked_at > before


def test_answers_of_the_version_before_are_read(desk: SearchStage) -> None:
    """A receipt that an older worker kept gives the same candidates, ranked now."""
    run_id = desk.run()
    lease, facts = desk.claim(run_id), desk.stage.materials.facts(run_id)
    kept = [{"url": e.url, "title": e.title, "snippet": e.snippet, "published": e.date} for e in ENTRIES[:9]]
    found = pages_found({"hits": kept}, lease, facts)
    assert len(found.sources) == 9
    assert found.sources[0].url == ENTRIES[6].url
    assert (found.sources[0].published_at, found.rows, found.remarks) == (ENTRIES[6].date, (), ())


def test_slow_providers_do_not_outlast_the_step(desk: SearchStage) -> None:
    """A try whose calls took too long begins no further one: that is a wait, no failure, and nothing is lost."""
    tavily, lease = desk.provider("tavily"), desk.claim(desk.run())
    late = Asking(Caller(desk.deps(), lease, "tavily", Watch(-1.0)), desk.seats[0]).page(SearchQuery("depth"))
    assert late.error is not None
    assert (late.error.code, late.rows, tavily.asked) == ("site_busy", (), [])
    got = Asking(Caller(desk.deps(), lease, "tavily", Watch()), desk.seats[0]).page(SearchQuery("depth"))
    assert (got.error, len(got.hits)) == (None, 20)
    assert PATIENCE_S + PATIENCE_IN_PLACE_S + SearXNG.limits.total_s < KINDS[StepKind.SEARCH].deadline_s


def test_both_calls_of_pubmed_are_kept(desk: SearchStage) -> None:
    """Between its two calls a step may have to wait; then it goes on with the second."""
    pubmed = desk.provider("pubmed")
    desk.delay_s = 3.0
    run_id = desk.run("scholar")
    with pytest.raises(RateLimited, match="site_busy"):
        desk.attempt(run_id)
    desk.make_time_pass()
    outcome = desk.attempt(run_id)
    assert [a.path.rpartition("/")[2] for a in pubmed.asked] == ["esearch.fcgi", "esummary.fcgi"]
    assert outcome.found[0].source.publisher == "Tide Letters"
    rows = desk.stage.materials.fetches(run_id)
    assert [row.tier for row in rows] == ["api", "api"]
    assert len({row.fetch_id for row in rows}) == 2


def test_a_provider_has_a_slot_and_a_delay_of_its_own(desk: SearchStage) -> None:
    """arXiv asks for three seconds between calls: the next call may begin then, and no other site is concerned."""
    arxiv = desk.provider("arxiv")
    before = len(desk.site.visits("arxiv.api.test"))
    desk.attempt(desk.run("scholar"))
    assert len(arxiv.asked) == 1
    [visit] = desk.site.visits("arxiv.api.test")[before:]
    next_start = desk.stage.scalar("select extract(epoch from next_start) from sites")
    assert 3 - ARRIVAL_S <= float(next_start) - visit.wall <= 3.1
    assert {row[0] for row in desk.stage.rows("select key from sites")} == {"search:arxiv"}


def test_searches_of_many_workers_take_turns(transactions: Transactions, site: Site) -> None:
    """The provider's own log: never two calls at once, and starts no closer than the delay."""
    desk = SearchStage(Stage(transactions, max_running=8), site, delay_s=0.15)
    desk.provider("exa")
    site.latency["exa.api.test"] = 0.05
    before = len(site.visits("exa.api.test"))
    runs = [desk.run() for _ in range(6)]
    sleeping = replace(desk.deps().web, sleep=time.sleep)

    def work(run_id: RunId) -> int:
        deps, deadline = replace(desk.deps(), web=sleeping), time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(RateLimited):  # its turn has not come: the ledger would put the step off
                return len(handlers.search(deps, leases[run_id]).found)
        return 0

    leases = {run_id: desk.claim(run_id) for run_id in runs}
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(work, runs)) == [10] * 6
    finally:
        site.latency.clear()
    visits = site.visits("exa.api.test")[before:]
    assert (len(visits), overlaps(visits)) == (6, 0)
    assert min(gaps(visits)) >= 0.15 - ARRIVAL_S


def test_a_second_page_fills_what_filters_took(desk: SearchStage) -> None:
    """Where Leadline filters, one more page is asked for when the first leaves too little; natively filtered, not."""
    openalex = desk.provider("openalex")
    desk.attempt(desk.run("scholar", web={"mode": "only_domains", "domains": ["a.test"]}))
    assert [a.values["page"] for a in openalex.asked] == ["1", "2"]
    tavily = desk.provider("tavily")
    outcome = desk.attempt(desk.run("web", web={"mode": "only_domains", "domains": ["a.test"]}))
    assert len(tavily.asked) == 1
    assert {found.source.domain for found in outcome.found} == {"a.test"}


def test_calls_are_in_the_fetch_log_without_the_key(desk: SearchStage) -> None:
    """Rows of tier api name address, status and what was found; they deliver no content, so nothing can cite them."""
    for name in ("tavily", "exa", "serper", "brave"):
        desk.provider(name)
    run_id = desk.run()
    desk.attempt(run_id)
    rows = desk.stage.materials.fetches(run_id)
    assert {(row.tier, row.status, row.source_id, row.content_sha256) for row in rows} == {("api", 200, None, None)}
    told = sorted(str(row.detail).partition(" for ")[0] for row in rows)
    assert told == ["Brave found 20", "Exa found 20", "Serper found 10", "Tavily found 20"]
    everything = [row.model_dump_json() for row in rows]
    for table in ("receipts", "steps", "events", "fetches", "attempts"):
        everything += [str(row) for row in desk.stage.rows(f"select * from {table}")]
    assert KEY not in " ".join(everything)


def test_a_long_query_is_cut_and_that_is_told(desk: SearchStage) -> None:
    """What was sent instead of the whole query stands in the result."""
    desk.provider("tavily")
    long = " ".join(f"word{n}" for n in range(120))
    outcome = desk.attempt(desk.run(query=long))
    sent = outcome.result["shortened"]["tavily"]
    assert len(sent) <= 400
    assert long.startswith(sent)
    assert desk.attempt(desk.run()).result["shortened"] == {}


def scored(handler: Handler) -> Reply:
    """Answer as the rerankers do: the last text is the best."""
    asked = json.loads(handler.body)
    found = [{"index": n, "relevance_score": n / 100} for n in range(len(asked["documents"]))][::-1]
    return Reply(json.dumps({"results": found, "data": found}), headers={"Content-Type": "application/json"})


@pytest.mark.parametrize("name", RERANKERS)
def test_a_reranker_orders_what_was_found(desk: SearchStage, site: Site, name: str) -> None:
    """Its scores decide the order, it is asked once, and its key stays out of the log."""
    posted: list[dict[str, Any]] = []

    def answer(handler: Handler) -> Reply:
        posted.append({**json.loads(handler.body), "authorization": handler.headers["Authorization"]})
        return scored(handler)

    site.answer(f"{name}.test", RERANKERS[name], answer)
    desk.reranker(name, site.url(f"{name}.test", ""))
    desk.provider("tavily")
    run_id = desk.run(results=4)
    lease = desk.claim(run_id)
    outcome = handlers.search(desk.deps(), lease)
    assert handlers.search(desk.deps(), lease) == outcome
    assert [found.source.url for found in outcome.found] == [e.url for e in ENTRIES[19:15:-1]]
    assert outcome.result["ranked_by"] == name
    assert len(posted) == 1
    assert posted[0]["query"] == "How deep is basin 7?"
    assert posted[0]["documents"][0] == f"{ENTRIES[0].title}\n{ENTRIES[0].snippet}"
    assert posted[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(outcome)
    assert [row.requested_url for row in outcome.fetches][-1] == site.url(f"{name}.test", RERANKERS[name])


@pytest.mark.parametrize(
    "reply",
    [Reply("{}", 500), Reply("{}", 429), Reply("no", 401), Reply("<html>"), Reply('{"results": [{"index": 0}]}')],
)
def test_an_outage_of_the_reranker_falls_back(desk: SearchStage, site: Site, reply: Reply) -> None:
    """The providers' own order holds, and result, summary and fetch log say why."""
    site.answer("cohere.test", "/v2/rerank", reply)
    desk.reranker("cohere", site.url("cohere.test", ""))
    desk.provider("tavily")
    run_id = desk.run(results=4)
    outcome = desk.attempt(run_id)
    assert [found.source.url for found in outcome.found] == [e.url for e in ENTRIES[:4]]
    assert outcome.result["ranked_by"] == "providers"
    assert "In the providers' own order: Cohere" in outcome.summary
    events = [row[0] for row in desk.stage.rows("select payload from events where run_id = :run", run=run_id)]
    assert any("Cohere" in json.dumps(event) for event in events)
    assert outcome.fetches[-1].refusal is not None


def test_documents_fit_the_same_contract(desk: SearchStage) -> None:
    """The library is a place to search like the others: ranked candidates, found and kept told, nothing to log."""
    desk.provider("tavily")
    document = desk.stage.document()
    outcome = desk.attempt(desk.run("documents", document_ids=[document]))
    assert set(outcome.result) >= {"found", "kept"}
    assert outcome.result["kept"] == len(outcome.found)
    assert [found.rank for found in outcome.found] == list(range(len(outcome.found)))
    assert outcome.fetches == ()
