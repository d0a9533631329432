"""Pages as sources: the fetcher's handlers over real Postgres and a real site on loopback, without other processes."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from services.fetcher import handlers
from services.fetcher.deps import Deps, SearchDesk, SearchSeat, Web
from services.fetcher.net.messages import Fetch as FetchFunction
from services.fetcher.net.messages import Fetched, FetchRequest, Gate
from services.fetcher.search.contract import Account, Provider
from services.fetcher.search.searxng import SearXNG
from services.fetcher.visits import robots_rules
from services.fetcher.web import WayOut, fetch
from shared.contracts.evidence import Fetch, Source
from shared.contracts.plan import Plan, PlannedSection, Question, SearchTask
from shared.contracts.runs import CreateRun, SourcePolicy, WebPolicy
from shared.db.controls import PostgresControls
from shared.db.engine import Transactions
from shared.db.sites import PostgresRobots, PostgresSites
from shared.domain.errors import Invalid, Permanent, RateLimited, StepError, Transient
from shared.domain.ids import LOCAL_OWNER, RunId, StepId
from shared.domain.selection import GIVEN
from shared.domain.states import StepKind
from shared.domain.urls import Url, parse_url
from shared.guards.addresses import Allowance, parse_networks
from shared.ports.gateway import PlanEdit
from shared.ports.ledger import Lease, Outcome
from shared.ports.sites import RobotsEntry, Taken, Visitor
from tests.support.searxng import FakeSearXNG
from tests.support.site import Handler, Reply, Site, running_site
from tests.support.stage import Stage

HOST = "harbor.test"
PAGE = "<html><title>Basin</title><p>The basin is 14 metres deep.</p></html>"


def resolve(host: str, timeout_s: float) -> list[str]:
    """Lead every name to the site, but for those that are named after where they lead."""
    if host == "nowhere.test":
        raise Permanent("dns_unknown_host", "There is no host nowhere.test.")
    return ["10.0.0.1"] if host == "private.test" else ["127.0.0.1"]


@dataclass
class World:
    """A ledger, a site and the fetcher's dependencies; ``slept`` is what the gate waited in place."""

    stage: Stage
    site: Site
    slept: list[float] = field(default_factory=list)
    desk: SearchDesk | None = None
    delay_s: float = 0.0
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Use controls that may search the web."""
        self.stage.controls = PostgresControls(self.stage.transactions, web_search=True)

    def deps(self) -> Deps:
        """Return the fetcher's dependencies."""
        stage = self.stage
        way = WayOut(Allowance(parse_networks("127.0.0.1")), resolve, user_agent="Leadline/0.1")
        slots, robots = PostgresSites(stage.transactions), PostgresRobots(stage.transactions)
        web = Web(self._fetch(way), slots, robots, "Leadline", self.delay_s, self.slept.append)
        return Deps(stage.materials, stage.index, stage.receipts, stage.blobs, web, self.desk)

    def _fetch(self, way: WayOut) -> FetchFunction:
        def counted(request: FetchRequest, gate: Gate) -> Fetched:
            self.asked.append(str(request.url))
            return fetch(request, gate, way)

        return counted

    def searches(self, url: str) -> None:
        """Use a search provider at this address."""
        self.desk = SearchDesk((self.seat(SearXNG(Account(url))),))

    def seat(self, provider: Provider) -> SearchSeat:
        """Return a provider with the way to its address."""
        return SearchSeat(provider, self.way_to(provider.endpoint))

    def way_to(self, endpoint: Url) -> FetchFunction:
        """Return the way to a service whose address the operator chose."""
        return self._fetch(WayOut(Allowance(endpoints=frozenset({(endpoint.host, endpoint.port)})), resolve))

    def run(self, **policy: Any) -> RunId:
        """Create a run with this policy and bring it to its research."""
        request = CreateRun(objective="How deep is the basin?", source_policy=SourcePolicy.model_validate(policy))
        run_id, created = self.stage.controls.create_run(LOCAL_OWNER, request, None, "extractive")
        self.stage.finish(created.wake_ups[0].step_id, Outcome("planned", plan=plan(*request.source_policy.endpoints)))
        self.stage.act(run_id, "approve_plan")
        self.stage.ledger.admit(LOCAL_OWNER)
        return run_id

    def step(self, run_id: RunId, kind: StepKind, number: int = 0) -> StepId:
        """Return an open step and let it be due."""
        query = "select id from steps where run_id = :run and kind = :kind and status <> 'completed' order by key"
        step_id = StepId(self.stage.rows(query, run=run_id, kind=kind)[number][0])
        self.stage.rows("update steps set not_before = clock_timestamp() where id = :id returning 1", id=step_id)
        return step_id

    def attempt(self, run_id: RunId, kind: StepKind = StepKind.READ_SOURCE) -> Outcome:
        """Work on a step once; a failure is recorded in the ledger and raised."""
        lease = self.stage.claim(self.step(run_id, kind))
        try:
            outcome = handler_of(kind)(self.deps(), lease)
        except StepError as error:
            self.stage.ledger.fail(lease, error)
            raise
        assert self.stage.ledger.commit(lease, outcome) is not None
        return outcome

    def read(self, *urls: str, **policy: Any) -> tuple[Source, tuple[Fetch, ...]]:
        """Read the first of these given addresses to the end; return its source and the fetch log."""
        run_id = self.run(urls=urls, **policy)
        for _ in range(6):
            try:
                self.attempt(run_id)
            except (RateLimited, Transient):
                self.make_time_pass()
                continue
            return self.stage.materials.sources(run_id)[0], self.stage.materials.fetches(run_id)
        raise AssertionError("the page was put off again and again")

    def make_time_pass(self) -> None:
        """Let sites be free, places in the line be forgotten and kept answers be stale."""
        for table, change in (
            ("sites", "next_start = clock_timestamp(), held_until = clock_timestamp()"),
            ("site_waits", "at = clock_timestamp() - interval '2 minutes'"),
            ("robots", "expires_at = clock_timestamp()"),
        ):
            self.stage.rows(f"update {table} set {change} returning 1")


def handler_of(kind: StepKind) -> Any:
    """Return the handler of a kind of step."""
    return {StepKind.READ_SOURCE: handlers.read_source, StepKind.SEARCH: handlers.search}[kind]


def plan(*endpoints: Any) -> Plan:
    """Return a plan with one question and a search at each endpoint."""
    question = Question(id="q1", text="How deep is the basin?")
    searches = tuple(SearchTask(question_ids=("q1",), query="basin depth", endpoint=e) for e in endpoints)
    section = PlannedSection(id="s1", title="Depth", question_ids=("q1",))
    return Plan(title="T", objective="O", questions=(question,), search_tasks=searches, writing_plan=(section,))


@pytest.fixture
def world(transactions: Transactions) -> Iterator[World]:
    """A ledger and a site with one page."""
    with running_site() as site:
        site.answer(HOST, "/basin", PAGE)
        yield World(Stage(transactions), site)


def test_a_given_page_is_read(world: World) -> None:
    """Robots first, then the page; the bytes are kept for parsing and the fetch log tells everything."""
    url = world.site.url(HOST, "/basin")
    source, fetches = world.read(f"{url}?utm_source=x#depth")
    assert world.site.paths(HOST) == ["/robots.txt", "/basin?utm_source=x"]
    assert (source.status, source.canonical_url, source.domain) == ("fetched", url, HOST)
    assert source.final_url == f"{url}?utm_source=x"
    [row] = fetches
    assert (row.status, row.mime, row.tier, row.robots) == (200, "text/html", "static", "allowed")
    assert (row.refusal, row.bytes, row.redirects) == (None, len(PAGE), ())
    assert row.content_sha256 == source.content_sha256
    assert world.stage.blobs.get(LOCAL_OWNER, str(row.content_sha256)) == PAGE.encode()
    following = world.stage.rows("select inputs from steps where kind = 'parse'")[0][0]
    assert (following["url"], following["content_type"]) == (source.final_url, "text/html; charset=utf-8")


def test_given_pages_are_candidates_before_any_search(world: World) -> None:
    """They are sources as soon as the run is there, and are read at once and in their order, up to the tier's limit."""
    urls = [world.site.answer(HOST, f"/{n}", PAGE) for n in range(8)]
    run_id = world.run(urls=urls, web={"mode": "full_web"})
    assert [s.url for s in world.stage.materials.sources(run_id)] == urls
    kinds = dict(world.stage.rows("select kind, count(*) from steps where run_id = :r group by kind", r=run_id))
    assert (kinds["read_source"], kinds["search"]) == (6, 1)
    first = world.stage.materials.sources(run_id)[:6]
    reading = {row[0] for row in world.stage.rows("select subject from steps where kind = 'read_source'")}
    assert reading == {s.source_id for s in first}


def test_what_robots_forbid_is_not_read(world: World) -> None:
    """The page is never asked for, also when the user gave its address, and the log says why."""
    world.site.answer(
        HOST, "/robots.txt", Reply("User-agent: Leadline\nDisallow: /basin", headers={"Content-Type": "text/plain"})
    )
    source, [row] = world.read(world.site.url(HOST, "/basin"))
    assert world.site.paths(HOST) == ["/robots.txt"]
    assert (source.status, row.refusal, row.robots) == ("blocked", "robots_disallowed", "disallowed")
    assert "robots.txt" in str(source.reason)


def test_robots_are_asked_once_for_all_runs(world: World) -> None:
    """The cache serves every later page of the origin until it expires."""
    for path in ("/basin", "/a", "/b"):
        world.read(world.site.answer(HOST, path, PAGE))
        world.stage.rows("update sites set next_start = clock_timestamp() returning 1")
    assert world.site.paths(HOST).count("/robots.txt") == 1


def test_robots_kept_while_a_visitor_waited_are_not_asked_again(world: World) -> None:
    """Whoever looked before the answer was kept looks again with the slot in hand, and sends nothing."""
    page = world.site.answer(HOST, "/basin", PAGE)
    robots = PostgresRobots(world.stage.transactions)
    robots.keep(parse_url(page).origin, RobotsEntry(200, b"User-agent: *\nDisallow: /basin", 3600.0))
    web = replace(world.deps().web, robots=LateLook(robots))
    rules = robots_rules(web, parse_url(page), Visitor("stp_1", "token"))
    assert not rules.allows(parse_url(page))
    assert world.site.paths(HOST) == []
    assert isinstance(web.slots.take(HOST, Visitor("stp_2", "token"), delay_s=0, hold_s=1), Taken)


class LateLook:
    """A cache whose first look comes too early for what is in it by now."""

    def __init__(self, robots: PostgresRobots) -> None:
        self._robots, self._looks = robots, 0

    def find(self, origin: str) -> RobotsEntry | None:
        """Find nothing at first."""
        self._looks += 1
        return self._robots.find(origin) if self._looks > 1 else None

    def keep(self, origin: str, entry: RobotsEntry) -> None:
        """Keep an entry."""
        self._robots.keep(origin, entry)


def test_robots_that_cannot_be_had_forbid_everything(world: World) -> None:
    """After a second failure the source is blocked; a page of rules behind an error is not read as rules."""
    world.site.answer(HOST, "/robots.txt", Reply("User-agent: *\nAllow: /", 503))
    source, [row] = world.read(world.site.url(HOST, "/basin"))
    assert world.site.paths(HOST) == ["/robots.txt", "/robots.txt"]
    assert (source.status, row.refusal, row.robots) == ("blocked", "robots_unreachable", "unreachable")
    assert "503" in str(row.detail)


def test_robots_that_lead_inside_forbid_everything(world: World) -> None:
    """A redirect of robots.txt passes the same judge as a page's, and the origin counts as unreachable."""
    world.site.redirect(HOST, "/robots.txt", "http://127.0.0.2:6379/robots.txt")
    source, [row] = world.read(world.site.url(HOST, "/basin"))
    assert (source.status, row.refusal) == ("blocked", "robots_unreachable")
    assert "127.0.0.2" in str(row.detail)


def test_robots_may_be_redirected_and_missing(world: World) -> None:
    """Redirects are followed to another host; a missing file with the word Disallow in it forbids nothing."""
    world.site.redirect(HOST, "/robots.txt", world.site.url("other.test", "/r"))
    world.site.answer("other.test", "/r", "User-agent: *\nDisallow: /basin")
    assert world.read(world.site.url(HOST, "/basin"))[1][0].refusal == "robots_disallowed"
    world.site.answer("open.test", "/basin", PAGE)
    world.site.answer("open.test", "/robots.txt", Reply("User-agent: *\nDisallow: /", 404))
    assert world.read(world.site.url("open.test", "/basin"))[0].status == "fetched"


def test_crawl_delay_keeps_the_next_visitor_away(world: World) -> None:
    """A delay in robots.txt counts from the page on; a step that comes sooner is put off that long."""
    world.site.answer(HOST, "/robots.txt", "User-agent: *\nCrawl-delay: 20\nDisallow: /private")
    second = world.site.answer(HOST, "/second", PAGE)
    run_id = world.run(urls=[world.site.url(HOST, "/basin"), second])
    world.attempt(run_id)
    with pytest.raises(RateLimited) as caught:
        world.attempt(run_id)
    assert caught.value.code == "site_busy"
    assert 15 < caught.value.after_s <= 20.1


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://127.0.0.2/", "ip_loopback"),
        ("http://169.254.169.254/latest/meta-data/", "ip_metadata"),
        ("http://private.test/", "ip_private"),
        ("http://nowhere.test/", "dns_unknown_host"),
    ],
)
def test_dangerous_addresses_are_refused_by_name(world: World, url: str, code: str) -> None:
    """The fetch log says which rule refused the address, not that its robots.txt could not be had."""
    source, [row] = world.read(url)
    assert (row.refusal, row.status, row.content_sha256) == (code, None, None)
    assert source.status == ("failed" if code == "dns_unknown_host" else "blocked")
    assert source.reason == row.detail


def test_redirects_into_forbidden_space_are_refused_by_name(world: World) -> None:
    """The log names the address that was asked and the rule that ended the way."""
    start = world.site.redirect(HOST, "/away", "http://169.254.169.254/latest/")
    source, [row] = world.read(start)
    assert (source.status, row.refusal, row.requested_url) == ("blocked", "ip_metadata", start)


def test_a_redirected_page_is_known_by_its_final_address(world: World) -> None:
    """The asked address is kept beside the final one, and every hop had its own robots.txt asked."""
    end = world.site.answer("other.test", "/dir/end", PAGE)
    start = world.site.redirect(HOST, "/start", end, 301)
    source, [row] = world.read(start)
    assert (source.url, source.final_url, source.canonical_url, source.domain) == (start, end, end, "other.test")
    assert (row.requested_url, row.redirects, row.final_url) == (start, (end,), end)
    assert world.site.paths("other.test") == ["/robots.txt", "/dir/end"]


def test_a_redirect_to_a_busy_site_is_not_asked_twice(world: World) -> None:
    """A step that is put off at a redirect goes on there and does not ask the first site again."""
    end = world.site.answer("other.test", "/end", PAGE)
    run_id = world.run(urls=[world.site.redirect(HOST, "/start", end)])
    slots = world.deps().web.slots
    from shared.ports.sites import Visitor

    slots.take("other.test", Visitor("stp_else", "else"), delay_s=0, hold_s=60)
    with pytest.raises(RateLimited):
        world.attempt(run_id)
    world.make_time_pass()
    outcome = world.attempt(run_id)
    assert outcome.sources[0].final_url == end
    assert world.site.paths(HOST).count("/start") == 1
    assert outcome.fetches[0].redirects == (end,)


def test_excluded_domains_are_judged_at_every_hop(world: World) -> None:
    """A redirect to an excluded domain ends there; a given address on one is refused with the request."""
    start = world.site.redirect(HOST, "/start", world.site.answer("ads.other.test", "/x", PAGE))
    source, [row] = world.read(start, web={"excluded_domains": ["other.test"]})
    assert (source.status, row.refusal) == ("blocked", "domain_excluded")
    assert world.site.paths("ads.other.test") == []
    with pytest.raises(Invalid, match="excludes"):
        world.run(urls=[start], web={"excluded_domains": [HOST]})


def test_a_fetch_survives_its_worker(world: World) -> None:
    """A step whose worker died after the fetch finds the receipt and does not ask the site again."""
    run_id = world.run(urls=[world.site.url(HOST, "/basin")])
    lease: Lease = world.stage.claim(world.step(run_id, StepKind.READ_SOURCE))
    first = handlers.read_source(world.deps(), lease)
    second = handlers.read_source(world.deps(), lease)
    assert (first.sources, first.result) == (second.sources, second.result)
    assert first.fetches == second.fetches
    assert world.site.paths(HOST).count("/basin") == 1


def test_trouble_is_tried_three_times_and_every_try_is_logged(world: World) -> None:
    """A server's errors are retried, then the source has failed with its reason and the step is done."""
    url = world.site.answer(HOST, "/basin", Reply("broken", 502))
    source, fetches = world.read(url)
    assert (source.status, source.reason) == ("failed", "The site answered 502 Bad Gateway.")
    assert [row.status for row in fetches] == [502, 502, 502]
    assert len({row.fetch_id for row in fetches}) == 3
    assert world.site.paths(HOST).count("/basin") == 3


def test_trouble_that_passes_costs_nothing_but_time(world: World) -> None:
    """The page that came at the second try is read, and both tries are in the log."""
    answers = iter([Reply("wait", 503, {"Retry-After": "3"}), Reply(PAGE)])
    url = world.site.answer(HOST, "/basin", lambda handler: next(answers))
    run_id = world.run(urls=[url])
    with pytest.raises(RateLimited) as caught:
        world.attempt(run_id)
    assert (caught.value.code, caught.value.after_s) == ("http_503", 3.0)
    with pytest.raises(RateLimited, match="site_busy"):
        world.attempt(run_id)
    world.make_time_pass()
    assert [row.status for row in world.attempt(run_id).fetches] == [503, 200]


@pytest.mark.parametrize(("status", "final"), [(404, "failed"), (403, "blocked"), (410, "failed"), (451, "blocked")])
def test_refusals_of_the_site_are_final(world: World, status: int, final: str) -> None:
    """A client's error is asked for once and never again."""
    source, [row] = world.read(world.site.answer(HOST, "/basin", Reply("no", status)))
    assert (source.status, row.status, row.refusal) == (final, status, None)
    assert str(status) in str(source.reason)


@pytest.mark.parametrize(
    ("reply", "code", "final"),
    [
        (Reply(b"\0", headers={"Content-Type": "video/mp4"}), "unsupported_type", "unsupported"),
        (Reply(b"<p>plain", headers={"Content-Encoding": "gzip"}), "encoding_corrupt", "failed"),
        (Reply(gzip.compress(b"\0" * 30_000_000), headers={"Content-Encoding": "gzip"}), "inflate_ratio", "failed"),
    ],
)
def test_what_cannot_be_taken_is_named(world: World, reply: Reply, code: str, final: str) -> None:
    """Types without text, lies about encodings and bombs end in a code, one source is lost and the run goes on."""
    source, [row] = world.read(world.site.answer(HOST, "/basin", reply))
    assert (source.status, row.refusal) == (final, code)


def test_searches_go_through_the_provider(world: World) -> None:
    """Hits become candidates by policy and words; a second try finds the receipt; slots are the provider's own."""
    pages = {
        world.site.answer(HOST, f"/{n}", f"<title>{n}</title><p>{text}</p>"): text.encode() for n, text in PAGES.items()
    }
    engine = FakeSearXNG(world.site, pages)
    world.searches(engine.url)
    run_id = world.run(web={"mode": "full_web", "excluded_domains": ["elsewhere.test"]})
    lease = world.stage.claim(world.step(run_id, StepKind.SEARCH))
    outcome = handlers.search(world.deps(), lease)
    assert [f.source.url for f in outcome.found] == [world.site.url(HOST, "/depth"), world.site.url(HOST, "/fog")]
    assert handlers.search(world.deps(), lease).found == outcome.found
    assert engine.queries == ["basin depth"]
    assert world.site.paths("searx.test")[0].startswith("/search?")
    sites = {row[0] for row in world.stage.rows("select key from sites")}
    assert sites == {"search:searxng"}


PAGES = {"depth": "The basin has a depth of 14 metres.", "fog": "Fog lies over the basin.", "birds": "Gulls nest here."}


def test_a_search_engine_in_trouble_says_what_to_do(world: World) -> None:
    """Down, JSON off and rate limits are typed errors that name the setting."""
    engine = FakeSearXNG(world.site, {})
    world.searches(engine.url)
    engine.reply = Reply("<html>results</html>")
    with pytest.raises(Permanent, match=r"settings\.yml"):
        world.attempt(world.run(), StepKind.SEARCH)
    engine.reply = Reply("slow down", 429)
    with pytest.raises(RateLimited, match="search_limited"):
        world.attempt(world.run(), StepKind.SEARCH)
    world.make_time_pass()
    world.searches("http://searx.test:9")
    with pytest.raises(Transient, match="SEARXNG_URL"):
        world.attempt(world.run(), StepKind.SEARCH)
    world.desk = None
    with pytest.raises(Permanent, match="SEARXNG_URL"):
        world.attempt(world.run(), StepKind.SEARCH)


def test_a_plan_cannot_loosen_the_policy(world: World) -> None:
    """A search at a place that the policy forbids is refused when it runs and when the plan is edited."""
    document = world.stage.document()
    request = CreateRun(objective="How deep?", source_policy=SourcePolicy(document_ids=(document,)))
    run_id, created = world.stage.controls.create_run(LOCAL_OWNER, request, None, "extractive")
    world.stage.finish(created.wake_ups[0].step_id, Outcome("planned", plan=plan("web")))
    with pytest.raises(Invalid, match="news"):
        world.stage.controls.edit_plan(LOCAL_OWNER, run_id, PlanEdit(1, plan("documents", "news")))
    with pytest.raises(Invalid, match="no search"):
        world.stage.controls.edit_plan(LOCAL_OWNER, run_id, PlanEdit(1, plan()))
    world.stage.act(run_id, "approve_plan")
    world.stage.ledger.admit(LOCAL_OWNER)
    with pytest.raises(Permanent, match="endpoint_not_allowed"):
        world.attempt(run_id, StepKind.SEARCH)


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ({}, "source_policy"),
        ({"web": {"mode": "none"}}, "source_policy"),
        ({"web": {"mode": "full_web"}}, "source_policy"),
        ({"urls": ["http://a.test/"], "web": {"mode": "full_web"}}, "source_policy.web.mode"),
        ({"documents_all": True}, "source_policy.documents_all"),
    ],
)
def test_a_run_needs_sources_that_can_be_used(world: World, policy: dict[str, Any], field: str) -> None:
    """Without documents, addresses or a search provider a run is refused with a sentence that says what to do."""
    world.stage.controls = PostgresControls(world.stage.transactions, web_search=False)
    with pytest.raises(Invalid) as caught:
        world.run(**policy)
    assert caught.value.field == field


def test_modes_with_domains_need_them(world: World) -> None:
    """only_domains and prefer_domains without domains are refused."""
    with pytest.raises(Invalid, match="needs domains"):
        world.run(web={"mode": "only_domains"})


def test_every_answer_of_the_site_is_asked_for_politely(world: World) -> None:
    """With a delay, the page waits for its turn after robots.txt; the waiting is done in place."""
    world.delay_s = 0.5
    agents: list[str] = []

    def answer(handler: Handler) -> Reply:
        agents.append(str(handler.headers["User-Agent"]))
        return Reply(PAGE)

    world.read(world.site.answer(HOST, "/polite", answer))
    assert agents == ["Leadline/0.1"]
    assert [round(s, 1) for s in world.slept] == [0.0, 0.5]


def test_an_edit_may_bring_another_policy(world: World) -> None:
    """A person may change where the run looks: the plan is judged by the new policy, addresses become candidates."""
    document = world.stage.document()
    request = CreateRun(
        objective="How deep?", source_policy=SourcePolicy(document_ids=(document,), urls=("http://a.test/old",))
    )
    run_id, created = world.stage.controls.create_run(LOCAL_OWNER, request, None, "extractive")
    world.stage.finish(created.wake_ups[0].step_id, Outcome("planned", plan=plan("documents")))
    web = WebPolicy(mode="full_web", excluded_domains=("b.test",))
    for wrong, why in (
        (PlanEdit(1, plan("documents"), SourcePolicy(web=web)), "documents"),
        (PlanEdit(1, plan("web"), SourcePolicy(web=web, urls=("http://b.test/",))), "excludes"),
    ):
        with pytest.raises(Invalid, match=why):
            world.stage.controls.edit_plan(LOCAL_OWNER, run_id, wrong)
    assert world.stage.reads.run(LOCAL_OWNER, run_id).plan_version == 1
    edit = PlanEdit(1, plan("web", "news"), SourcePolicy(web=web, urls=("http://a.test/new",)))
    world.stage.controls.edit_plan(LOCAL_OWNER, run_id, edit)
    run = world.stage.reads.run(LOCAL_OWNER, run_id)
    assert (run.plan_version, run.source_policy.web_mode) == (2, "full_web")
    given = [c.source_id for c in world.stage.materials.view(run_id).candidates if c.search_key == GIVEN]
    urls = {s.source_id: s.url for s in world.stage.materials.sources(run_id)}
    assert [urls[i] for i in given] == ["http://a.test/new"]


def test_an_edit_without_a_policy_keeps_it(world: World) -> None:
    """What a person does not mention stays as it is."""
    request = CreateRun(objective="How deep?", source_policy=SourcePolicy(urls=("http://a.test/",)))
    run_id, created = world.stage.controls.create_run(LOCAL_OWNER, request, None, "extractive")
    world.stage.finish(created.wake_ups[0].step_id, Outcome("planned", plan=plan()))
    before = world.stage.reads.run(LOCAL_OWNER, run_id).source_policy
    world.stage.controls.edit_plan(LOCAL_OWNER, run_id, PlanEdit(1, plan()))
    assert world.stage.reads.run(LOCAL_OWNER, run_id).source_policy == before
