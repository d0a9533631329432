"""The engine `llm` under faults: a worker killed in a call, a refused key, a rate limit; a stack for each test."""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from evals.graders.facts import load_cases
from services.synthesizer.verify import verify_bundle
from tests.support.api import Api
from tests.support.harbor_site import CASES_FILE, CORPUS
from tests.support.invariants import broken_invariants
from tests.support.model_server import FORBIDDEN, PROVIDER_KEY, WANTED_QUERY, ModelServer
from tests.support.stack import Stack, wait_until

CONFLICT = next(c.question for c in load_cases(CASES_FILE) if c.kind == "conflict")

MakeStack = Callable[..., AbstractContextManager[Stack]]


@pytest.fixture(autouse=True)
def _fresh(provider: ModelServer) -> None:
    provider.calls.clear()


def test_a_killed_synthesizer_repeats_no_call_that_has_a_receipt(
    make_llm_stack: MakeStack, provider: ModelServer
) -> None:
    """kill -9 while the writer repairs an answer: the first call is not made again, the repair is, and both count."""
    with make_llm_stack("scripted", LEADLINE_MODEL_WRITER="malformed-once") as stack:
        api = Api(stack.address)
        documents = api.upload(CORPUS)
        provider.hold(lambda call: call.schema == "SectionText" and len(call.body["messages"]) > 2)
        run_id = api.ask(CONFLICT, documents)
        wait_until(lambda: provider.waiting, "the writer repairs its answer")
        wait_until(lambda: "verify:summary" in completed(api, run_id), "nothing else is under way")
        stack.kill("synthesizer")
        provider.release()
        stack.start("synthesizer")
        api.complete(run_id)
        run = api.run(run_id)
    made = Counter((c.schema, len(c.body["messages"]) > 2, c.prompt_sha256) for c in provider.calls)
    repeated = [(schema, repair) for (schema, repair, _), times in made.items() if times > 1]
    assert repeated == [("SectionText", True)]
    assert run["usage"]["retries"] >= 1
    assert run["usage"]["model_calls"] + run["usage"]["verification_calls"] == len(provider.calls)
    check_invariants(stack.database_url, run_id)


def test_a_writer_that_wants_more_gets_its_searches(make_llm_stack: MakeStack, provider: ModelServer) -> None:
    """The run stays in synthesis while it searches once more for the same words; what it adds has passed the gate."""
    with make_llm_stack("scripted", LEADLINE_MODEL_WRITER="scripted-wanting") as stack:
        api = Api(stack.address)
        run_id = api.ask(CONFLICT, api.upload(CORPUS), depth="standard")
        api.complete(run_id)
        steps = api.json(f"/research-runs/{run_id}/steps")["steps"]
        asked = [s for s in steps if s["kind"] == "search" and s["subject"] == WANTED_QUERY]
        assert len(asked) == 1
        statuses = [e["to"] for e in api.events(run_id) if e["type"] == "status_changed"]
        assert statuses[-2:] == ["synthesizing", "completed"]
        assert verify_bundle(api.call("GET", f"/research-runs/{run_id}/bundle").content).ok
        assert broken_invariants(stack.database_url) == {}


def test_a_writer_that_makes_everything_up_does_not_empty_the_report(
    make_llm_stack: MakeStack, provider: ModelServer
) -> None:
    """Its sentences are refused, its summary has no form: the sources' words stand there, and the report says so."""
    made_up = {"blocks": [{"sentences": [{"text": "It was 77 metres deep in 1877.", "cards": [1]}]}]}
    provider.given = json.dumps(made_up)
    with make_llm_stack("scripted", LEADLINE_MODEL_WRITER="fake-given") as stack:
        api = Api(stack.address)
        run_id = api.ask(CONFLICT, api.upload(CORPUS))
        api.complete(run_id)
        report = api.call("GET", f"/research-runs/{run_id}/report").json()
        assert report["verification"]["emitted"] > 0
        assert report["short_answer"] is not None
        assert "1877" not in json.dumps(report)
        assert any("sentences of the sources stand word for word" in told for told in report["methodology"])
        assert verify_bundle(api.call("GET", f"/research-runs/{run_id}/bundle").content).ok
        assert broken_invariants(stack.database_url) == {}


def test_a_text_that_the_provider_refuses_costs_that_text(
    make_llm_stack: MakeStack, provider: ModelServer, tmp_path: Path
) -> None:
    """Of two documents one is filtered: the report stands on the other, and says which was not looked through."""
    (tmp_path / "lamps.md").write_text("# Lamps\n\nThe north pier of Sill Reach has 14 lamps.\n")
    notice = f"# {FORBIDDEN}\n\nThe north pier of Sill Reach has lamps. {FORBIDDEN} of the harbour office.\n"
    (tmp_path / "notice.md").write_text(notice)
    with make_llm_stack("fake-filter") as stack:
        api = Api(stack.address)
        run_id = api.ask("How many lamps does the north pier of Sill Reach have?", api.upload(tmp_path))
        run = api.finish(run_id)
        report = api.call("GET", f"/research-runs/{run_id}/report").json()
        assert run["status"] in ("completed", "budget_exhausted"), run["last_error"]
        assert "14 lamps" in json.dumps(report["sections"])
        [told] = [gap["description"] for gap in report["gaps"] if gap["description"].startswith("Not looked through")]
        assert FORBIDDEN in told
        assert "filtered by the content policy" in told
        assert broken_invariants(stack.database_url) == {}


def completed(api: Api, run_id: str) -> set[str]:
    """Return kind and subject of the steps that have ended well."""
    steps = api.json(f"/research-runs/{run_id}/steps")["steps"]
    return {f"{s['kind']}:{s['subject']}" for s in steps if s["status"] == "completed"}


def check_invariants(database_url: str, run_id: str) -> None:
    """Require that the ledger is whole, and that the interrupted call stands in the book."""
    assert broken_invariants(database_url) == {}
    engine = create_engine(database_url)
    with engine.connect() as connection:
        query = text("select status, outcome from model_calls where run_id = :run_id and status <> 'done'")
        left = [tuple(row) for row in connection.execute(query, {"run_id": run_id})]
    engine.dispose()
    assert ("failed", "interrupted") in left


def test_a_refused_key_fails_the_run_and_is_never_shown(make_llm_stack: MakeStack, provider: ModelServer) -> None:
    """The provider echoes the key in its refusal; nothing of ours does, in no answer, event or log."""
    with make_llm_stack("fake-401") as stack:
        api = Api(stack.address)
        run_id = api.ask(CONFLICT, api.upload(CORPUS))
        run = api.finish(run_id)
        assert (run["status"], run["stop_reason"]) == ("failed", "failed:plan")
        assert "does not accept the key" in run["last_error"]
        assert "Incorrect API key provided" in run["last_error"]
        shown = [str(run), str(api.events(run_id)), *(stack.log(name) for name in stack.processes)]
        assert not any(PROVIDER_KEY in one for one in shown)
    assert len(provider.calls) == 1


def test_a_rate_limit_is_waited_for_in_the_ledger(make_llm_stack: MakeStack, provider: ModelServer) -> None:
    """429 with a time postpones the step without using up a try; the worker does not sleep on it."""
    with make_llm_stack("fake-429") as stack:
        api = Api(stack.address)
        documents = api.upload(CORPUS)
        run_id = api.ask(CONFLICT, documents)
        wait_until(lambda: len(provider.calls) >= 2, "the postponed step is tried again")
        [step] = api.json(f"/research-runs/{run_id}/steps")["steps"]
        assert step["attempts"] >= 2
        wait_until(lambda: api.run(run_id)["usage"]["model_calls"] == 0, "no refused call is charged")
        run = api.run(run_id)
        assert (run["status"], run["usage"]["retries"]) == ("planning", 0)
        other = api.ask(CONFLICT, documents, engine="extractive")
        api.complete(other)
        waits = [e for e in api.events(run_id) if e["type"] == "step_retrying"]
        assert waits
        assert api.call("POST", f"/research-runs/{run_id}/actions", json={"action": "cancel"}).status_code == 200
