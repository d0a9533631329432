"""The engine `llm` end to end: real processes, a model's provider on loopback, the harbor corpus."""

from collections import Counter
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
from tests.support.usage import provider_usage, usage_of

CONFLICT = next(c.question for c in load_cases(CASES_FILE) if c.kind == "conflict")
MakeStack = Callable[..., AbstractContextManager[Stack]]


@pytest.fixture(scope="module")
def stack(make_llm_stack: MakeStack) -> Iterator[Stack]:
    """A stack with the honest model."""
    with make_llm_stack("scripted") as running:
        yield running


@pytest.fixture(scope="module")
def api(stack: Stack) -> Api:
    """Calls to its gateway."""
    return Api(stack.address)


@pytest.fixture(scope="module")
def documents(api: Api) -> list[str]:
    """The harbor corpus, taken in."""
    return api.upload(CORPUS)


@pytest.fixture(autouse=True)
def _fresh(provider: ModelServer) -> None:
    provider.calls.clear()


def statements(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every sentence of a report that a model wrote."""
    blocks = [block for section in report["sections"] for block in section["blocks"]]
    written = [s for block in blocks for s in block.get("statements", [])]
    answer = [report["short_answer"]] if report["short_answer"] else []
    return [*answer, *report["executive_summary"], *written]


def check_report(api: Api, run_id: str) -> dict[str, Any]:
    """Require that every sentence of a run's report is verified, and its bundle whole; return the report."""
    report: dict[str, Any] = api.json(f"/research-runs/{run_id}/report")
    passed = {v["statement_id"] for v in api.json(f"/research-runs/{run_id}/verification")["verdicts"] if v["emitted"]}
    assert {s["id"] for s in statements(report)} <= passed
    checked = verify_bundle(api.call("GET", f"/research-runs/{run_id}/bundle").content)
    assert checked.ok, checked.faults
    return report


def test_a_run_with_a_model_from_question_to_verified_report(
    api: Api, documents: list[str], provider: ModelServer
) -> None:
    """`auto` picks the model; a contradiction is followed up and shown; the usage is the provider's own count."""
    run_id = api.ask(CONFLICT, documents, depth="standard")
    api.complete(run_id)
    run = api.run(run_id)
    assert run["engine"] == "llm"
    assert run["usage"]["iterations"] >= 2
    decisions = [s["result"] for s in api.json(f"/research-runs/{run_id}/steps")["steps"] if s["kind"] == "decide"]
    assert any(action["reason"] for result in decisions for action in result["actions"])
    report = check_report(api, run_id)
    [conflict] = report["contradictions"]
    assert "412,600" in conflict["summary"]
    assert "1,184,000" in conflict["summary"]
    assert any(v["verifier"] == "scripted" and v["emitted"] for v in verdicts(api, run_id))
    assert usage_of(run) == provider_usage(provider)


def verdicts(api: Api, run_id: str) -> list[dict[str, Any]]:
    """Return the verdicts of a run."""
    return list(api.json(f"/research-runs/{run_id}/verification")["verdicts"])


def test_the_same_run_makes_the_same_calls(api: Api, documents: list[str], provider: ModelServer) -> None:
    """No prompt holds an id, a time or an order of chance: two runs ask word for word the same."""
    asked = []
    for _ in range(2):
        provider.calls.clear()
        api.complete(api.ask(CONFLICT, documents))
        asked.append(Counter(c.prompt_sha256 for c in provider.calls))
    assert asked[0] == asked[1]


def test_the_baseline_is_one_round_and_one_prompt(api: Api, documents: list[str], provider: ModelServer) -> None:
    """One search, one call of the writer, and every sentence that is printed has passed the gate."""
    run_id = api.ask(CONFLICT, documents, engine="baseline")
    run = api.finish(run_id)
    assert run["status"] in ("completed", "budget_exhausted"), run["last_error"]
    assert (run["engine"], run["usage"]["searches"]) == ("baseline", 1)
    assert Counter(c.schema for c in provider.calls)["SectionText"] == 1
    assert {c.schema for c in provider.calls} <= {"SectionText", "Verdicts", "Shortening"}
    assert usage_of(run) == provider_usage(provider)
    assert statements(check_report(api, run_id))


@pytest.mark.parametrize("limits", [{"model_calls": 8}, {"verification_calls": 1}, {"output_tokens": 9000}])
def test_a_limit_gives_a_partial_report(
    api: Api, documents: list[str], provider: ModelServer, limits: dict[str, int]
) -> None:
    """The limit is not exceeded, by the provider's own count, and every sentence of the report is verified."""
    run_id = api.ask(CONFLICT, documents, budget=limits)
    run = api.finish(run_id)
    [(name, most)] = limits.items()
    assert run["status"] in ("completed", "budget_exhausted"), run["last_error"]
    assert run["usage"][name] <= most
    assert usage_of(run) == provider_usage(provider)
    if run["stop_reason"].startswith("budget:"):
        assert run["stop_reason"] == f"budget:{name}"
    check_report(api, run_id)
