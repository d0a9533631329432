"""The managed engines end to end: a provider's job, pages on loopback, and a report whose every sentence is checked."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from services.synthesizer.verify import verify_bundle
from tests.support.api import Api
from tests.support.job_server import GOOGLE, JOB_KEY, OPENAI, JobServer, Said, Script, job_server
from tests.support.servers import fresh_database, without_driver
from tests.support.site import Reply, Site, running_site
from tests.support.stack import Stack, running_stack, wait_until

HOST, CLOSED = "port.test", "closed.test"
PAGES = {
    "/basin": "<title>The basin</title><p>The new basin is 14 metres deep. It was opened on 3 May 2021.</p>"
    "<p>Dredging took eleven months and cost 42 million kroner.</p>",
    "/crane": "<title>Cranes</title><p>Two cranes stand on the eastern quay. Each lifts 60 tonnes.</p>",
}
QUESTION = "How deep is the new basin and what did dredging cost?"


@dataclass
class World:
    """A running stack, a provider of jobs, and the site that its reports cite."""

    stack: Stack
    provider: JobServer
    site: Site

    @property
    def api(self) -> Api:
        """Calls to the gateway."""
        return Api(self.stack.address)

    def page(self, path: str) -> str:
        """Return the address of a page of the port."""
        return self.site.url(HOST, path)

    def report(self) -> list[Said]:
        """Return a report of which some is true, some is not, and some cannot be read."""
        return [
            Said("The new basin is 14 metres deep.", self.page("/basin")),
            Said("It cost 42 million kroner to dredge the basin, which took eleven months.", self.page("/basin")),
            Said("The new basin is 19 metres deep.", self.page("/basin")),
            Said("Two cranes stand on the eastern quay.", self.page("/crane")),
            Said("The harbour master resigned over the delay.", self.site.url(CLOSED, "/secret")),
            Said("The mayor opened the basin in a storm of protest.", self.page("/gone")),
            Said("Everybody agrees that the basin was worth the money."),
        ]

    def restart_planner(self) -> None:
        """Kill the planner as a crash would, and start another."""
        self.stack.kill("planner")
        self.stack.start("planner")

    def let_jobs_grow_old(self) -> None:
        """Let no worker be waiting any more for the answer to a submission."""
        with psycopg.connect(without_driver(self.stack.database_url), autocommit=True) as connection:
            connection.execute("update managed_jobs set created_at = created_at - interval '10 minutes'")

    def start(self, engine: str, **changes: Any) -> str:
        """Start a run; return its id."""
        return self.api.ask(QUESTION, [], engine=f"managed:{engine}", source_policy={}, **changes)


@pytest.fixture(scope="module")
def world(
    postgres: str, template_database: str, valkey: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """The stack with a key for both providers and no search provider."""
    with running_site() as site, job_server() as provider, fresh_database(postgres, template_database) as database:
        for path, text in PAGES.items():
            site.answer(HOST, path, text)
        site.answer(HOST, "/gone", Reply("gone", 410))
        site.answer(CLOSED, "/robots.txt", "User-agent: *\nDisallow: /\n")
        settings = {
            "GEMINI_API_KEY": JOB_KEY,
            "GEMINI_BASE_URL": provider.address,
            "OPENAI_API_KEY": JOB_KEY,
            "OPENAI_BASE_URL": provider.openai_url,
            "LEADLINE_ALLOW_NETWORKS": "127.0.0.1",
            "LEADLINE_RESOLVE_HOSTS": site.hosts_setting(),
            "LEADLINE_SITE_DELAY_SECONDS": "0.05",
        }
        with running_stack(database, valkey, tmp_path_factory.mktemp("managed"), **settings) as stack:
            yield World(stack, provider, site)


def job_of(world: World, run_id: str) -> dict[str, Any]:
    """Return what the run says of its job at the provider."""
    return dict(world.api.run(run_id)["provider_job"] or {})


def sentences(report: dict[str, Any]) -> list[str]:
    """Return the sentences of the report's sections."""
    blocks = [block for section in report["sections"] for block in section["blocks"]]
    return [s["text"] for block in blocks for s in block.get("statements", [])]


@pytest.mark.parametrize("engine", [GOOGLE, OPENAI])
def test_a_job_becomes_a_verified_report_although_the_planner_is_killed(world: World, engine: str) -> None:
    """One submission by the provider's own count; what no page of this run bears out is dropped and accounted for."""
    world.provider.reset(Script(world.report(), looks=2))
    run_id = world.start(engine)
    wait_until(lambda: job_of(world, run_id).get("handle"), "the handle is kept")
    world.restart_planner()
    run = world.api.finish(run_id, 90)
    assert run["status"] == "completed", (run, world.stack.log("planner")[-3000:])
    assert world.provider.asked["submit"] == 1
    assert job_of(world, run_id)["state"] == "completed"
    report = world.api.json(f"/research-runs/{run_id}/report")
    told = sentences(report)
    assert "The new basin is 14 metres deep." in told
    assert "Two cranes stand on the eastern quay." in told
    assert not any("19 metres" in text or "resigned" in text or "worth the money" in text for text in told)
    gaps = " ".join(gap["description"] for gap in report["gaps"])
    assert "Not read" in gaps
    assert any("provider's own research job" in line for line in report["methodology"])
    used = run["usage"]["by_phase"]["managed"]
    assert (used["calls"], used["input_tokens"], used["output_tokens"]) == (1, 120_000, 9_000)
    assert run["usage"]["cost_usd"] is None
    assert run["usage"]["input_tokens"] == 0
    fetches = world.api.json(f"/research-runs/{run_id}/fetches")["fetches"]
    assert {f["refusal"] for f in fetches if "closed" in f["requested_url"]} == {"robots_disallowed"}
    checked = verify_bundle(world.api.call("GET", f"/research-runs/{run_id}/bundle").content)
    assert checked.ok, checked.faults
    messages = [e["message"] for e in world.api.events(run_id) if e["type"] == "progress"]
    assert any("is researching" in message for message in messages), json.dumps(messages)


def test_a_planner_killed_during_the_submission_never_submits_again(world: World) -> None:
    """The provider may have the job, so the run ends with what a person has to do; the answer that comes is lost."""
    script = Script(world.report(), "held")
    world.provider.reset(script)
    run_id = world.start(GOOGLE)
    wait_until(lambda: world.provider.asked["submit"], "the submission has arrived")
    world.restart_planner()
    script.release.set()
    world.let_jobs_grow_old()
    run = world.api.finish(run_id, 60)
    assert (run["status"], run["stop_reason"]) == ("failed", "failed:managed")
    assert "is not submitted again" in run["last_error"]
    assert (job_of(world, run_id)["state"], world.provider.asked["submit"]) == ("indeterminate", 1)


def test_cancelling_a_run_ends_its_job_at_the_provider(world: World) -> None:
    """The run is over at once; its job is cancelled by a run of its own that anybody may look at."""
    world.provider.reset(Script(world.report(), looks=1000, looks_to_cancel=2))
    run_id = world.start(OPENAI)
    wait_until(lambda: job_of(world, run_id).get("handle"), "the handle is kept")
    answer = world.api.call("POST", f"/research-runs/{run_id}/actions", json={"action": "cancel"})
    assert answer.json()["status"] == "cancelled"
    wait_until(lambda: job_of(world, run_id)["state"] == "cancelled", "the provider has confirmed it")
    assert world.provider.asked["cancel"] == 1
    cancelling = world.api.finish(job_of(world, run_id)["cancel_run_id"])
    assert (cancelling["kind"], cancelling["status"]) == ("cancel_job", "completed")
    assert world.api.run(run_id)["status"] == "cancelled"


def test_what_is_there_is_told_and_the_rest_refused(world: World) -> None:
    """Both engines are offered with what does their research; a limit on cost without a price is refused."""
    offers = {e["name"]: e for e in world.api.json("/capabilities")["engines"]}
    assert offers["managed:google"]["models"] == {"managed": "deep-research-preview-04-2026"}
    assert offers["managed:openai"]["models"] == {"managed": "o3-deep-research"}
    for changes, field in (
        ({"budget": {"cost_usd": 5}}, "budget.cost_usd"),
        ({"source_policy": {"urls": ["https://port.test/"]}}, "source_policy.urls"),
    ):
        body = {"objective": QUESTION, "engine": "managed:google", **changes}
        answer = world.api.call("POST", "/research-runs", json=body)
        assert (answer.status_code, answer.json()["field"]) == (422, field)
