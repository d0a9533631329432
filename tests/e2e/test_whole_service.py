"""The whole service at once: a model as engine, the web as source, a plan edited over HTTP, and a report that holds."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import pytest

from evals.graders.facts import load_cases
from services.synthesizer.verify import verify_bundle
from tests.support.api import Api
from tests.support.harbor_site import CASES_FILE, harbor_pages
from tests.support.model_server import ModelServer
from tests.support.searxng import FakeSearXNG
from tests.support.site import Site, running_site
from tests.support.stack import Stack, wait_until
from tests.support.usage import provider_usage, usage_of

CONFLICT = next(c.question for c in load_cases(CASES_FILE) if c.kind == "conflict")

MakeStack = Callable[..., AbstractContextManager[Stack]]


@dataclass
class Service:
    """A running service and the sites that it reads."""

    api: Api
    site: Site


@pytest.fixture(scope="module")
def service(make_llm_stack: MakeStack) -> Iterator[Service]:
    """The service over the harbor corpus as web sites, with a search engine and a scripted model."""
    with running_site() as site:
        settings = {
            "SEARXNG_URL": FakeSearXNG(site, harbor_pages(site)).url,
            "LEADLINE_ALLOW_NETWORKS": "127.0.0.1",
            "LEADLINE_RESOLVE_HOSTS": site.hosts_setting(),
            "LEADLINE_SITE_DELAY_SECONDS": "0.05",
        }
        with make_llm_stack("scripted", **settings) as stack:
            yield Service(Api(stack.address), site)


def test_from_an_edited_plan_to_a_verified_report(service: Service, provider: ModelServer) -> None:
    """Planned, edited (a stale edit is a 409), approved, searched in rounds, a contradiction shown, every word checked.

    Every citation leads to a page in the fetch log, and the usage is what the provider counted itself.
    """
    api = service.api
    body = {"objective": CONFLICT, "depth": "standard", "source_policy": {"web": {"mode": "full_web"}}}
    run_id = str(api.call("POST", "/research-runs", json=body).json()["run_id"])
    wait_until(lambda: api.run(run_id)["status"] == "awaiting_plan_approval", "the plan is ready")
    edit(api, run_id)
    approve = {"action": "approve_plan", "expected_version": 2}
    assert api.call("POST", f"/research-runs/{run_id}/actions", json=approve).status_code == 200
    api.complete(run_id)
    run = api.run(run_id)
    assert (run["engine"], run["plan"]["title"], run["plan_version"]) == ("llm", "Two totals", 2)
    assert run["usage"]["iterations"] >= 2
    report = api.json(f"/research-runs/{run_id}/report")
    [conflict] = report["contradictions"]
    assert "412,600" in conflict["summary"]
    assert "1,184,000" in conflict["summary"]
    check_citations(service, run_id, report)
    checked = verify_bundle(api.call("GET", f"/research-runs/{run_id}/bundle").content)
    assert checked.ok, checked.faults
    assert checked.summary["emitted"] > 0
    assert usage_of(run) == provider_usage(provider)


def edit(api: Api, run_id: str) -> None:
    """Give the plan another title; the same edit again is stale."""
    path, plan = f"/research-runs/{run_id}/plan", api.run(run_id)["plan"]
    change = {"expected_version": 1, "plan": {**plan, "title": "Two totals"}}
    assert api.call("PATCH", path, json=change).json()["plan_version"] == 2
    stale = api.call("PATCH", path, json=change)
    assert (stale.status_code, stale.json()["current_version"]) == (409, 2)


def check_citations(service: Service, run_id: str, report: dict[str, Any]) -> None:
    """Require that each citation is to a page in the fetch log, and that the site was asked for it."""
    fetches = service.api.json(f"/research-runs/{run_id}/fetches")["fetches"]
    delivered = {f["source_id"]: f["final_url"] for f in fetches if f["refusal"] is None and f["status"] == 200}
    asked = {service.site.url(v.host, v.path) for v in service.site.visits() if v.status == 200}
    cited = {c["source_id"] for c in report["citations"]}
    assert cited
    assert {delivered[source_id] for source_id in cited} <= asked
