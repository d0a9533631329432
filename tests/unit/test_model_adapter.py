"""The adapter for OpenAI-compatible endpoints against a provider on loopback, in every mode that it knows."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from services.planner.prompts.plan import PlanProposal
from shared.adapters.model.openai_compatible import OpenAICompatible
from shared.adapters.model.structured import Names, StructuredModel
from shared.domain.errors import InvalidAnswer, Permanent, RateLimited, StepError, Transient
from shared.domain.phases import Phase
from shared.ports.model import ModelAnswer, ModelRequest
from tests.support.model_server import ModelServer, model_server

KEY = "sk-very-secret-7f3a"
REQUEST = ModelRequest(
    phase=Phase.PLANNER,
    instructions="You plan.",
    input="Sources: documents\n\nRequest:\nHow deep is the basin?\n",
    output=PlanProposal,
    max_output_tokens=500,
    deadline_s=20.0,
)


@pytest.fixture(scope="module")
def provider() -> Iterator[ModelServer]:
    """A provider for the tests of this file."""
    with model_server() as server:
        yield server


@pytest.fixture(scope="module")
def completions(provider: ModelServer) -> Iterator[OpenAICompatible]:
    """The adapter, connected to it."""
    adapter = OpenAICompatible(provider.base_url, KEY)
    yield adapter
    adapter.close()


@pytest.fixture(autouse=True)
def _fresh(provider: ModelServer) -> None:
    provider.calls.clear()


def ask(
    completions: OpenAICompatible, model: str, request: ModelRequest[PlanProposal] = REQUEST
) -> ModelAnswer[PlanProposal]:
    """Ask a model by its name."""
    return StructuredModel(completions, Names(dict.fromkeys(Phase, model), set())).ask(request)


def test_an_honest_answer_comes_back_validated(provider: ModelServer, completions: OpenAICompatible) -> None:
    """Value, usage, the served model and that nothing was repaired."""
    answer = ask(completions, "scripted")
    assert answer.value.questions[0].text == "How deep is the basin?"
    assert (answer.requested_model, answer.served_model, answer.repaired) == ("scripted", "scripted-2026-11", False)
    counts = provider.counts()
    assert (answer.usage.input, answer.usage.output) == (counts["input_tokens"], counts["output_tokens"])
    body = provider.calls[0].body
    assert body["max_tokens"] == 500
    assert body["response_format"]["json_schema"]["strict"] is True
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert body["messages"][0]["content"] == REQUEST.instructions


@pytest.mark.parametrize("mode", ["prose", "fence", "think", "thought-tail", "extra"])
def test_what_stands_around_an_answer_is_passed_over(
    provider: ModelServer, completions: OpenAICompatible, mode: str
) -> None:
    """Prose, fences, reasoning and a second object cost no repair."""
    assert ask(completions, f"malformed-{mode}").value.questions
    assert len(provider.calls) == 1


def test_a_bad_answer_is_repaired_once(provider: ModelServer, completions: OpenAICompatible) -> None:
    """The model sees its answer and what is wrong with it; both calls are in the usage."""
    answer = ask(completions, "malformed-once")
    assert answer.repaired
    first, second = provider.calls
    assert answer.usage.input == first.input_tokens + second.input_tokens
    assert [m["role"] for m in second.body["messages"]] == ["system", "user", "assistant", "user"]
    assert "title: Field required" in second.body["messages"][3]["content"]


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("missing-key", "title: Field required"),
        ("cut", "no valid JSON"),
        ("nan", "NaN"),
        ("bigint", "more than 40 digits"),
        ("twice", "stands twice"),
        ("deep", "nested"),
        ("latex", "no valid JSON"),
        ("nothing", "no JSON object"),
    ],
)
def test_an_answer_that_stays_bad_is_named(
    provider: ModelServer, completions: OpenAICompatible, mode: str, told: str
) -> None:
    """Exactly one repair, then an error that says what is wrong."""
    with pytest.raises(InvalidAnswer, match=told):
        ask(completions, f"malformed-{mode}")
    assert len(provider.calls) == 2


@pytest.mark.parametrize(("mode", "told"), [("truncated", "cut off at 500 tokens"), ("refused", "refused to answer")])
def test_how_an_answer_ended_counts_first(
    provider: ModelServer, completions: OpenAICompatible, mode: str, told: str
) -> None:
    """What was cut off or refused is not repaired: the same would happen again."""
    with pytest.raises(InvalidAnswer, match=told):
        ask(completions, f"malformed-{mode}")
    assert len(provider.calls) == 1


@pytest.mark.parametrize("mode", ["empty", "html", "no-json", "other-shape"])
def test_a_body_that_is_no_reply_is_transient(completions: OpenAICompatible, mode: str) -> None:
    """A gateway's page or an empty list is told as such, with where to look."""
    with pytest.raises(Transient) as caught:
        ask(completions, f"malformed-{mode}")
    assert caught.value.code in ("model:no_reply", "model:unavailable")


def test_a_huge_body_is_cut_off(completions: OpenAICompatible) -> None:
    """Twenty megabytes are not read to their end."""
    with pytest.raises(InvalidAnswer, match="larger than 4,000,000 bytes"):
        ask(completions, "malformed-huge")


@pytest.mark.parametrize(("mode", "least", "most"), [("429", 3, 3), ("429-date", 50, 61), ("429-bare", 1, 10)])
def test_a_rate_limit_names_its_time(
    provider: ModelServer, completions: OpenAICompatible, mode: str, least: float, most: float
) -> None:
    """Seconds, a date or nothing: no sleep here, one call, and a time for the ledger."""
    with pytest.raises(RateLimited) as caught:
        ask(completions, f"fake-{mode}")
    assert least <= caught.value.after_s <= most
    assert len(provider.calls) == 1


@pytest.mark.parametrize("mode", ["500", "503"])
def test_a_failing_server_is_transient(provider: ModelServer, completions: OpenAICompatible, mode: str) -> None:
    """No retry of its own: the ledger tries again."""
    with pytest.raises(Transient, match="cannot be reached"):
        ask(completions, f"fake-{mode}")
    assert len(provider.calls) == 1


@pytest.mark.parametrize(
    ("mode", "code", "told"),
    [
        ("401", "model:key", "Incorrect API key"),
        ("402", "model:credit", "exceeded your current quota"),
        ("404", "model:unknown", "does not exist"),
        ("context", "model:context", "maximum context length"),
        ("400", "model:rejected", "Unknown field"),
    ],
)
def test_a_refusal_says_the_provider_s_reason(completions: OpenAICompatible, mode: str, code: str, told: str) -> None:
    """One sentence, never the key."""
    with pytest.raises(Permanent, match=told) as caught:
        ask(completions, f"fake-{mode}")
    assert caught.value.code == code
    assert KEY not in str(caught.value)


def test_an_endpoint_without_schemas_is_asked_in_the_prompt(
    provider: ModelServer, completions: OpenAICompatible
) -> None:
    """The refusal is remembered, and what does not change still comes first."""
    model = StructuredModel(completions, Names(dict.fromkeys(Phase, "fake-no-schema"), set()))
    assert model.ask(REQUEST).value.questions
    assert model.ask(REQUEST).value.questions
    assert [("response_format" in c.body) for c in provider.calls] == [True, False, False]
    assert provider.calls[1].body["messages"][0]["content"].startswith(REQUEST.instructions)


@pytest.mark.parametrize("mode", ["slow", "loris"])
def test_a_call_ends_at_its_deadline(completions: OpenAICompatible, mode: str) -> None:
    """Silence after the headers and one byte at a time are both cut off in all."""
    started = time.monotonic()
    with pytest.raises(Transient, match="did not answer in time"):
        ask(completions, f"fake-{mode}", replace(REQUEST, deadline_s=0.6))
    assert time.monotonic() - started < 5


def test_a_redirect_is_not_followed(provider: ModelServer, completions: OpenAICompatible) -> None:
    """Only the configured endpoint is ever called."""
    with pytest.raises(StepError):
        ask(completions, "fake-moved")
    assert len(provider.calls) == 1


def test_an_endpoint_that_is_not_there_is_transient() -> None:
    """Nobody listens: said in a sentence."""
    adapter = OpenAICompatible("http://127.0.0.1:9/v1", None)
    with pytest.raises(Transient, match="cannot be reached"):
        ask(adapter, "scripted")
    adapter.close()


def test_many_threads_share_one_adapter(provider: ModelServer, completions: OpenAICompatible) -> None:
    """Calls of several steps run side by side over one client."""
    barrier, found = threading.Barrier(8), []

    def work() -> None:
        barrier.wait()
        found.append(ask(completions, "scripted").value.title)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(provider.calls) == 8


def test_closing_ends_the_thread(provider: ModelServer) -> None:
    """Nothing is left behind, and closing twice is harmless."""
    adapter = OpenAICompatible(provider.base_url, KEY)
    ask(adapter, "scripted")
    before = threading.active_count()
    adapter.close()
    adapter.close()
    assert threading.active_count() < before
