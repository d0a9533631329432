"""The web as source, end to end: four fetch workers, sites on loopback, a search engine, reports from pages."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from evals.graders.facts import grade, load_cases
from services.synthesizer.verify import verify_bundle
from tests.support.api import Api
from tests.support.harbor_site import CASES_FILE, harbor_pages
from tests.support.searxng import FakeSearXNG
from tests.support.servers import fresh_database
from tests.support.site import Reply, Site, gaps, overlaps, running_site
from tests.support.stack import Stack, running_stack

CASES = {case.id: case for case in load_cases(CASES_FILE)}
POLITE = "polite.test"
CLOSED = "closed.test"
DELAY_S = 0.4
WORKERS = ("fetcher", "fetcher-2", "fetcher-3", "fetcher-4")


@dataclass
class Web:
    """A running stack with the sites that it may read."""

    site: Site
    engine: FakeSearXNG
    stack: Stack

    @property
    def api(self) -> Api:
        """Calls to the gateway."""
        return Api(self.stack.address)

    def start(self, question: str, **policy: Any) -> str:
        """Start a run with this source policy; return its id."""
        return self.api.ask(question, [], source_policy=policy)

    def rows(self, run_id: str, what: str) -> list[dict[str, Any]]:
        """Return the run's sources, fetches, steps or evidence."""
        return list(self.api.json(f"/research-runs/{run_id}/{what}")[what])


@pytest.fixture(scope="module")
def web(postgres: str, template_database: str, valkey: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """The stack with four fetch workers, a corpus on several sites and a search engine over it."""
    with running_site() as site, fresh_database(postgres, template_database) as database:
        engine = FakeSearXNG(site, harbor_pages(site))
        for number in range(10):
            site.answer(
                POLITE, f"/{number}", f"<title>{number}</title><p>Basin number {number} is {number} m deep.</p>"
            )
        site.latency[POLITE] = 0.1
        site.answer(CLOSED, "/robots.txt", "User-agent: *\nDisallow: /\n")
        site.answer(CLOSED, "/page", "The basin is 99 metres deep.")
        settings = {
            "SEARXNG_URL": engine.url,
            "LEADLINE_ALLOW_NETWORKS": "127.0.0.1",
            "LEADLINE_RESOLVE_HOSTS": site.hosts_setting(),
            "LEADLINE_SITE_DELAY_SECONDS": str(DELAY_S),
        }
        with running_stack(database, valkey, tmp_path_factory.mktemp("web"), **settings) as stack:
            stack.start(*WORKERS[1:])
            yield Web(site, engine, stack)


def test_four_workers_are_polite_to_one_site(web: Web) -> None:
    """By the site's own log no two requests ever overlap or come closer than the delay, and all pages are read."""
    urls = [web.site.url(POLITE, f"/{number}") for number in range(10)]
    runs = [web.start(f"How deep is basin number {n}?", urls=urls[n * 5 : n * 5 + 5]) for n in range(2)]
    for run_id in runs:
        web.api.finish(run_id)
        assert {s["status"] for s in web.rows(run_id, "sources")} == {"fetched"}
    visits = web.site.visits(POLITE)
    assert sorted(v.path for v in visits) == sorted(["/robots.txt", *(f"/{n}" for n in range(10))])
    assert overlaps(visits) == 0
    assert min(gaps(visits)) >= DELAY_S
    assert {v.agent for v in visits} == {"Leadline/0.1"}


def test_what_may_not_be_read_is_told_and_not_read(web: Web) -> None:
    """A site closed by robots.txt and addresses that lead inside are in the fetch log by name, and nowhere else."""
    away = web.site.redirect(POLITE, "/away", "http://169.254.169.254/latest/meta-data/")
    urls = [web.site.url(CLOSED, "/page"), "http://127.0.0.2/", "http://169.254.169.254/", away, "http://10.0.0.1:22/"]
    run_id = web.start("How deep is the basin?", urls=urls)
    run = web.api.finish(run_id)
    assert (run["status"], run["stop_reason"]) == ("budget_exhausted", "no_evidence")
    refusals = {row["requested_url"]: row["refusal"] for row in web.rows(run_id, "fetches")}
    assert [refusals[url] for url in urls] == [
        "robots_disallowed",
        "ip_loopback",
        "ip_metadata",
        "ip_metadata",
        "ip_private",
    ]
    assert {s["status"] for s in web.rows(run_id, "sources")} == {"blocked"}
    assert web.site.paths(CLOSED) == ["/robots.txt"]


@pytest.mark.parametrize("case_id", ["harbor-02-breakwater-chain", "harbor-04-night-charge"])
def test_questions_are_answered_from_pages(web: Web, case_id: str) -> None:
    """Searched, read and cited from the web: every fact is there, every citation in the fetch log, the bundle holds."""
    case = CASES[case_id]
    run_id = web.start(case.question, web={"mode": "full_web"})
    run = web.api.finish(run_id, 120)
    assert run["status"] == "completed", (run, web.stack.log("fetcher")[-2000:])
    report = web.api.json(f"/research-runs/{run_id}/report")
    assert grade(case, report).passed, report
    fetched = {row["source_id"]: row for row in web.rows(run_id, "fetches") if row["refusal"] is None}
    sources = {s["source_id"]: s for s in web.rows(run_id, "sources")}
    assert report["citations"]
    for citation in report["citations"]:
        row, source = fetched[citation["source_id"]], sources[citation["source_id"]]
        assert (row["status"], row["tier"], row["robots"]) == (200, "static", "allowed")
        assert row["content_sha256"] == source["content_sha256"]
        assert source["kind"] == "web"
    checked = verify_bundle(web.api.call("GET", f"/research-runs/{run_id}/bundle").content)
    assert checked.ok, checked.faults


def test_sites_of_one_domain_are_one_site(web: Web) -> None:
    """Hosts below one registrable domain share its slot, whatever run asks them."""
    visits = web.site.visits("port.harbor-one.test", "news.harbor-one.test")
    assert len({v.host for v in visits}) == 2
    assert overlaps(visits) == 0
    assert min(gaps(visits)) >= DELAY_S


def test_only_domains_and_excluded_domains_hold(web: Web) -> None:
    """Nothing outside the allowed domains and nothing under an excluded one becomes a source."""
    question = CASES["harbor-04-night-charge"].question
    policy = {"mode": "only_domains", "domains": ["harbor-one.test"], "excluded_domains": ["news.harbor-one.test"]}
    run_id = web.start(question, web=policy)
    web.api.finish(run_id)
    assert {s["domain"] for s in web.rows(run_id, "sources")} <= {"port.harbor-one.test"}
    assert any("site:harbor-one.test" in query for query in web.engine.queries)


def test_a_search_engine_in_trouble_ends_the_run_with_advice(web: Web) -> None:
    """With its JSON format off every search fails, and the run's steps say what to turn on."""
    web.engine.reply = Reply("<html>results</html>")
    try:
        run_id = web.start("Which lighthouse keeper painted the northern breakwater in 1911, and why?", web={})
        run = web.api.finish(run_id)
    finally:
        web.engine.reply = None
    assert run["stop_reason"] == "provider_failures"
    failed = [s for s in web.rows(run_id, "steps") if s["kind"] == "search"]
    assert failed
    assert all("settings.yml" in str(step["error"]) for step in failed)
    assert "settings.yml" in str(run["last_error"])


def test_a_run_without_sources_is_refused(web: Web) -> None:
    """Modes and addresses that make no sense are answered with a problem that names the field."""
    wrong = [
        ({"web": {"mode": "none"}}, "source_policy"),
        ({"web": {"mode": "only_domains"}}, "source_policy.web.domains"),
        ({"urls": ["ftp://a.test/"]}, "source_policy.urls"),
        ({"web": {"domains": ["http://a.test/"]}}, "source_policy.web.domains"),
        ({"urls": ["http://a.test/"], "web": {"excluded_domains": ["a.test"]}}, "source_policy.urls"),
    ]
    for policy, field in wrong:
        answer = web.api.call("POST", "/research-runs", json={"objective": "How deep?", "source_policy": policy})
        assert answer.status_code == 422, answer.text
        assert answer.json()["field"].startswith(field), answer.text
