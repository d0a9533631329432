"""Pages that need JavaScript, end to end: read, found empty, read in a real Chromium, cited, and verified offline."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from services.synthesizer.verify import verify_bundle
from tests.support.api import Api
from tests.support.real_browser import browser_program
from tests.support.servers import fresh_database
from tests.support.site import Reply, Site, overlaps, running_site
from tests.support.stack import Stack, running_stack

APP, ENDLESS, CLOSED = "app.test", "endless.test", "closed-app.test"
QUESTION = "How deep is the Sollander basin?"
SHELL = "<!doctype html><html><head><title>Sollander basin</title></head><body><div id=root></div>{}</body></html>"
FILLS = (
    "<script>fetch('/facts.json').then(r => r.json()).then(facts => { document.getElementById('root').innerHTML ="
    " '<main><h1>Sollander basin</h1>' + facts.map(f => '<p>' + f + '</p>').join('') + '</main>' })</script>"
)
FACTS = (
    '["The Sollander basin is 14.2 metres deep at mean low water.",'
    ' "The harbour board had the Sollander basin surveyed in the spring of 2023 by a survey vessel."]'
)


@dataclass
class Web:
    """A running stack and the site that it may read."""

    site: Site
    stack: Stack

    @property
    def api(self) -> Api:
        """Calls to the gateway."""
        return Api(self.stack.address)

    def rows(self, run_id: str, what: str) -> list[dict[str, Any]]:
        """Return the run's sources, fetches or steps."""
        return list(self.api.json(f"/research-runs/{run_id}/{what}")[what])

    def finish(self, *urls: str) -> tuple[str, dict[str, Any]]:
        """Let a run over some pages end."""
        run_id = self.api.ask(QUESTION, [], source_policy={"urls": list(urls)})
        return run_id, self.api.finish(run_id, 120)


@pytest.fixture(scope="module")
def web(postgres: str, template_database: str, valkey: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A stack whose fetch worker has a browser, and sites whose pages are filled by scripts."""
    browser_program()
    with running_site() as site, fresh_database(postgres, template_database) as database:
        site.answer(APP, "/basin", SHELL.format(FILLS))
        site.answer(APP, "/facts.json", Reply(FACTS, headers={"Content-Type": "application/json"}))
        site.answer(ENDLESS, "/", SHELL.format("<script>for (;;) {}</script>"))
        site.answer(CLOSED, "/robots.txt", "User-agent: *\nDisallow: /facts.json\n")
        site.answer(CLOSED, "/basin", SHELL.format(FILLS))
        settings = {"LEADLINE_ALLOW_NETWORKS": "127.0.0.1", "LEADLINE_RESOLVE_HOSTS": site.hosts_setting()}
        folder = tmp_path_factory.mktemp("browser")
        with running_stack(database, valkey, folder, LEADLINE_SITE_DELAY_SECONDS="0.2", **settings) as stack:
            yield Web(site, stack)


def test_a_page_of_scripts_is_cited(web: Web) -> None:
    """One source and one fetch of the budget, two rows in the log, and a report that verifies offline."""
    url = web.site.url(APP, "/basin")
    run_id, run = web.finish(url)
    assert run["status"] == "completed", (run, web.stack.log("fetcher")[-3000:])
    assert run["usage"]["fetches"] == 1
    static, browser = sorted(web.rows(run_id, "fetches"), key=lambda row: row["tier"] == "browser")
    assert (static["tier"], browser["tier"]) == ("static", "browser")
    assert (browser["status"], browser["robots"], browser["final_url"]) == (200, "allowed", url)
    [source] = web.rows(run_id, "sources")
    assert (source["status"], source["content_sha256"]) == ("fetched", browser["content_sha256"])
    report = web.api.json(f"/research-runs/{run_id}/report")
    assert "14.2" in str(report["executive_summary"]) + str(report["sections"])
    checked = verify_bundle(web.api.call("GET", f"/research-runs/{run_id}/bundle").content)
    assert checked.ok, checked.faults
    assert [s["kind"] for s in web.rows(run_id, "steps")].count("read_in_browser") == 1
    assert overlaps([v for v in web.site.visits(APP) if v.path == "/basin"]) == 0


def test_what_robots_forbid_a_page_does_not_load_either(web: Web) -> None:
    """Without its data the page stays empty, and says so as a source that cannot be read."""
    run_id, run = web.finish(web.site.url(CLOSED, "/basin"))
    assert run["stop_reason"] == "no_evidence"
    [source] = web.rows(run_id, "sources")
    assert source["status"] == "unsupported"
    assert source["reason"]
    assert "/facts.json" not in web.site.paths(CLOSED)


def test_the_installation_says_that_it_has_a_browser(web: Web) -> None:
    """In its capabilities."""
    assert web.api.json("/capabilities")["web"]["browser"] is True
