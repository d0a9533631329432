"""One run with a provider for each phase, prices for all, and a limit on cost: counts are the provider's own."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from evals.graders.facts import load_cases
from services.synthesizer.verify import verify_bundle
from tests.support.api import Api
from tests.support.harbor_site import CASES_FILE, CORPUS
from tests.support.model_server import ModelServer
from tests.support.stack import Stack

CONFLICT = next(c.question for c in load_cases(CASES_FILE) if c.kind == "conflict")
MODELS = {
    "anthropic:claude-sonnet-4-5-scripted": (3.0, 15.0, 0.3),
    "google:gemini-2.5-flash-scripted": (0.3, 2.5, 0.03),
    "ollama:scripted": (0.0, 0.0, 0.0),
}
PRICES = {name: {"input": p[0], "output": p[1], "cached": p[2]} for name, p in MODELS.items()}

MakeStack = Callable[..., AbstractContextManager[Stack]]


@pytest.fixture(scope="module")
def api(make_llm_stack: MakeStack, provider: ModelServer) -> Iterator[Api]:
    """A stack whose phases ask Anthropic, Google and Ollama."""
    settings = {
        "LEADLINE_MODEL_VERIFIER": "google:gemini-2.5-flash-scripted",
        "LEADLINE_MODEL_DECISION": "ollama:scripted",
        "LEADLINE_MODEL_PRICES": json.dumps(PRICES),
        "LEADLINE_MODEL_STRICT": "true",
        "ANTHROPIC_API_KEY": "sk-ant-of-the-test",
        "ANTHROPIC_BASE_URL": provider.address,
        "GEMINI_API_KEY": "g-of-the-test",
        "GEMINI_BASE_URL": provider.address,
        "OLLAMA_BASE_URL": provider.base_url,
    }
    with make_llm_stack("anthropic:claude-sonnet-4-5-scripted", **settings) as stack:
        yield Api(stack.address)


@pytest.fixture(scope="module")
def documents(api: Api) -> list[str]:
    """The harbor corpus, taken in."""
    return api.upload(CORPUS)


def cost_of(provider: ModelServer) -> float:
    """Return what the provider's own counts cost."""
    by_name = {name.partition(":")[2]: prices for name, prices in MODELS.items()}
    total = 0.0
    for call in provider.calls:
        dear, out, cached = by_name[call.model]
        total += (call.input_tokens - call.cached_tokens) * dear + call.cached_tokens * cached
        total += call.output_tokens * out
    return total / 1e6


def test_each_phase_has_its_provider_and_its_price(api: Api, documents: list[str], provider: ModelServer) -> None:
    """Three formats in one run; usage and cost are what the providers counted, in all and by phase."""
    provider.calls.clear()
    run_id = api.ask(CONFLICT, documents, depth="standard", budget={"cost_usd": 5.0})
    api.complete(run_id)
    usage: dict[str, Any] = api.run(run_id)["usage"]
    assert {c.model for c in provider.calls} == {name.partition(":")[2] for name in MODELS}
    counts = provider.counts()
    assert usage["model_calls"] + usage["verification_calls"] == counts["calls"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (counts["input_tokens"], counts["output_tokens"])
    assert usage["cost_usd"] == pytest.approx(cost_of(provider))
    assert sum(phase["cost_usd"] for phase in usage["by_phase"].values()) == pytest.approx(usage["cost_usd"])
    assert usage["by_phase"]["decision"]["cost_usd"] == 0.0
    assert usage["switched_models"] == {}


def test_a_limit_on_cost_holds_and_can_be_raised(api: Api, documents: list[str], provider: ModelServer) -> None:
    """The provider's own counts stay within it; what is printed is verified; with more to spend the run goes on."""
    provider.calls.clear()
    run_id = api.ask(CONFLICT, documents, budget={"cost_usd": 0.12})
    run = api.finish(run_id, 90)
    assert run["status"] in ("completed", "budget_exhausted"), run["last_error"]
    assert run["stop_reason"] in ("finished", "budget:cost_usd", "no_evidence")
    assert cost_of(provider) <= run["usage"]["cost_usd"] + 1e-9 <= 0.12 + 1e-9
    assert verify_bundle(api.call("GET", f"/research-runs/{run_id}/bundle").content).ok
    if run["status"] == "budget_exhausted":
        control = {"action": "increase_budget", "limits": {"cost_usd": 5.0}}
        assert api.call("POST", f"/research-runs/{run_id}/actions", json=control).status_code == 200
        assert api.finish(run_id, 90)["status"] == "completed"


def test_a_limit_without_a_price_is_refused(make_llm_stack: MakeStack, provider: ModelServer) -> None:
    """422 that names the model; without the limit the run may start."""
    with make_llm_stack("scripted") as stack:
        bare = Api(stack.address)
        body = {
            "objective": CONFLICT,
            "source_policy": {"document_ids": bare.upload(CORPUS)},
            "budget": {"cost_usd": 1.0},
        }
        answer = bare.call("POST", "/research-runs", json=body)
        assert (answer.status_code, answer.json()["field"]) == (422, "budget.cost_usd")
        assert "scripted" in answer.json()["detail"]
