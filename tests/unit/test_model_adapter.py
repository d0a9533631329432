"""The adapters of all providers against one on loopback that speaks their formats, in every mode that it knows."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from services.planner.prompts.plan import PlanProposal
from services.synthesizer.prompts.write import SectionText
from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.openai_compatible import openai_compatible
from shared.adapters.model.structured import Names, StructuredModel
from shared.domain.errors import InvalidAnswer, Permanent, RateLimited, StepError, Transient
from shared.domain.phases import Phase
from shared.ports.model import ModelAnswer, ModelRequest
from tests.support.model_adapters import ADAPTERS, FORMS, PATHS, Wired, connected
from tests.support.model_server import ModelServer, model_server
from tests.support.model_wires import wire_of

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


@pytest.fixture(scope="module", params=ADAPTERS)
def wired(request: pytest.FixtureRequest, provider: ModelServer) -> Iterator[Wired]:
    """An adapter, connected to the provider."""
    with connected(request.param, provider, KEY) as found:
        yield found


@pytest.fixture(autouse=True)
def _fresh(provider: ModelServer) -> None:
    provider.calls.clear()


def ask(wired: Wired, model: str, request: ModelRequest[PlanProposal] = REQUEST) -> ModelAnswer[PlanProposal]:
    """Ask a model by its name."""
    names = Names(dict.fromkeys(Phase, wired.prefix + model), set())
    return StructuredModel(wired.adapter, names).ask(request)


def test_an_honest_answer_comes_back_validated(provider: ModelServer, wired: Wired) -> None:
    """Value, usage, the served model and that nothing was repaired; thoughts of the model are no part of it."""
    answer = ask(wired, "scripted")
    assert answer.value.questions[0].text == "How deep is the basin?"
    name = f"{wired.prefix}scripted"
    assert (answer.requested_model, answer.served_model, answer.repaired) == (name, f"{name}-2026-11", False)
    counts = provider.counts()
    assert (answer.usage.input, answer.usage.output) == (counts["input_tokens"], counts["output_tokens"])
    body = provider.calls[0].body
    told = wire_of(PATHS[wired.name]).read(PATHS[wired.name], body)
    assert told.form == FORMS[wired.name]
    assert told.texts == (REQUEST.instructions, REQUEST.input)


def test_usage_tells_what_came_from_the_cache(provider: ModelServer, wired: Wired) -> None:
    """The part of the input that a provider had in its cache is told beside the whole."""
    answer = [ask(wired, "cached-scripted") for _ in range(2)][1]
    assert answer.usage.cached == provider.calls[1].cached_tokens > 0
    assert answer.usage.input == provider.calls[1].input_tokens


@pytest.mark.parametrize("mode", ["prose", "fence", "think", "thought-tail", "extra"])
def test_what_stands_around_an_answer_is_passed_over(provider: ModelServer, wired: Wired, mode: str) -> None:
    """Prose, fences, reasoning and a second object cost no repair."""
    assert ask(wired, f"malformed-{mode}").value.questions
    assert len(provider.calls) == 1


def test_a_bad_answer_is_repaired_once(provider: ModelServer, wired: Wired) -> None:
    """The model sees its answer and what is wrong with it; both calls are in the usage."""
    answer = ask(wired, "malformed-once")
    assert answer.repaired
    first, second = provider.calls
    assert answer.usage.input == first.input_tokens + second.input_tokens
    texts = wire_of(PATHS[wired.name]).read(PATHS[wired.name], second.body).texts
    assert len(texts) == 4
    assert "title: Field required" in texts[3]


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
def test_an_answer_that_stays_bad_is_named(provider: ModelServer, wired: Wired, mode: str, told: str) -> None:
    """Exactly one repair, then an error that says what is wrong; what a provider's library chokes on gets none."""
    with pytest.raises(InvalidAnswer, match=told):
        ask(wired, f"malformed-{mode}")
    assert len(provider.calls) == (1 if (wired.name, mode) == ("google", "deep") else 2)


@pytest.mark.parametrize(
    ("mode", "told", "calls"), [("truncated", "cut off at 1,500 tokens", 2), ("refused", "refused to answer", 1)]
)
def test_how_an_answer_ended_counts_first(
    provider: ModelServer, wired: Wired, mode: str, told: str, calls: int
) -> None:
    """What was refused is not repaired; what was cut off is asked for once more with more room, and no further."""
    with pytest.raises(InvalidAnswer, match=told):
        ask(wired, f"malformed-{mode}")
    assert len(provider.calls) == calls


def test_a_model_that_thinks_long_gets_more_room_once(provider: ModelServer, wired: Wired) -> None:
    """The first answer is all thought and no word; the second one is used, and both are paid for."""
    answer = ask(wired, "malformed-thinking", replace(REQUEST, max_output_tokens=2000))
    assert answer.value.questions
    assert not answer.repaired
    first, second = provider.calls
    assert answer.usage.output == first.output_tokens + second.output_tokens
    rooms = [wire_of(PATHS[wired.name]).read(PATHS[wired.name], call.body).room for call in (first, second)]
    assert rooms == [2000, 6000]


@pytest.mark.parametrize("mode", ["empty", "html", "no-json", "other-shape"])
def test_a_body_that_is_no_reply_is_transient(wired: Wired, mode: str) -> None:
    """A gateway's page or an empty list is told as such, with where to look; with usage it is an empty answer."""
    with pytest.raises((Transient, InvalidAnswer)) as caught:
        ask(wired, f"malformed-{mode}")
    assert caught.value.code in ("model:no_reply", "model:unavailable") or (mode, caught.value.code) == (
        "empty",
        "model_answer",
    )


def test_a_huge_body_is_cut_off(wired: Wired) -> None:
    """Twenty megabytes are not read to their end."""
    with pytest.raises(InvalidAnswer, match="larger than 4,000,000 bytes"):
        ask(wired, "malformed-huge")


@pytest.mark.parametrize(("mode", "least", "most"), [("429", 3, 3), ("429-date", 50, 61), ("429-bare", 1, 10)])
def test_a_rate_limit_names_its_time(provider: ModelServer, wired: Wired, mode: str, least: float, most: float) -> None:
    """Seconds, a date or nothing: no sleep here, one call, and a time for the ledger."""
    with pytest.raises(RateLimited) as caught:
        ask(wired, f"fake-{mode}")
    assert least <= caught.value.after_s <= most
    assert len(provider.calls) == 1


def test_a_busy_server_that_names_a_time_is_waited_for(provider: ModelServer, wired: Wired) -> None:
    """A 503 or 529 with Retry-After is a postponement, not an error that counts."""
    with pytest.raises(RateLimited) as caught:
        ask(wired, "fake-503-wait")
    assert caught.value.after_s == 4
    assert len(provider.calls) == 1


@pytest.mark.parametrize("mode", ["500", "503"])
def test_a_failing_server_is_transient(provider: ModelServer, wired: Wired, mode: str) -> None:
    """No retry of its own: the ledger tries again."""
    with pytest.raises(Transient, match="cannot be reached"):
        ask(wired, f"fake-{mode}")
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
def test_a_refusal_says_the_provider_s_reason(wired: Wired, mode: str, code: str, told: str) -> None:
    """One sentence, never the key."""
    with pytest.raises(Permanent, match=told) as caught:
        ask(wired, f"fake-{mode}")
    assert caught.value.code == code
    assert KEY not in str(caught.value)


def test_an_endpoint_without_schemas_is_asked_in_the_prompt(provider: ModelServer, wired: Wired) -> None:
    """The refusal is remembered, and what does not change still comes first."""
    names = Names(dict.fromkeys(Phase, f"{wired.prefix}fake-no-schema"), set())
    model = StructuredModel(wired.adapter, names)
    assert model.ask(REQUEST).value.questions
    assert model.ask(REQUEST).value.questions
    said = [wire_of(PATHS[wired.name]).read(PATHS[wired.name], c.body) for c in provider.calls]
    assert [s.form for s in said] == [FORMS[wired.name], "prompt", "prompt"]
    assert said[1].system.startswith(REQUEST.instructions)


def test_one_schema_that_is_refused_says_nothing_of_others(provider: ModelServer, wired: Wired) -> None:
    """A provider may find one schema too large and take the next."""
    name = f"{wired.prefix}scripted"
    model = StructuredModel(wired.adapter, Names(dict.fromkeys(Phase, name), {(name, "SectionText")}))
    assert model.ask(REQUEST).value.questions
    model.ask(replace(REQUEST, output=SectionText))
    said = [wire_of(PATHS[wired.name]).read(PATHS[wired.name], c.body) for c in provider.calls]
    assert [s.form for s in said] == [FORMS[wired.name], "prompt"]


def test_lists_end_in_the_schema_where_a_provider_can_bear_it(provider: ModelServer, wired: Wired) -> None:
    """Gemini refuses schemas whose nested lists have limits; Anthropic's structured output has them in words."""
    StructuredModel(wired.adapter, Names(dict.fromkeys(Phase, f"{wired.prefix}scripted"), set())).ask(
        replace(REQUEST, output=SectionText)
    )
    told = json.dumps(provider.calls[0].body)
    assert ('"maxItems": 6' in told) is (wired.name not in ("google", "anthropic-schema"))


@pytest.mark.parametrize("mode", ["slow", "loris"])
def test_a_call_ends_at_its_deadline(wired: Wired, mode: str) -> None:
    """Silence after the headers and one byte at a time are both cut off in all."""
    started = time.monotonic()
    with pytest.raises(Transient, match="did not answer in time"):
        ask(wired, f"fake-{mode}", replace(REQUEST, deadline_s=0.6))
    assert time.monotonic() - started < 30


def test_a_redirect_is_not_followed(provider: ModelServer, wired: Wired) -> None:
    """Only the configured endpoint is ever called."""
    with pytest.raises(StepError):
        ask(wired, "fake-moved")
    assert len(provider.calls) == 1


def test_an_endpoint_that_is_not_there_is_transient() -> None:
    """Nobody listens: said in a sentence."""
    adapter = openai_compatible(Endpoint("http://127.0.0.1:9/v1", None))
    with pytest.raises(Transient, match="cannot be reached"):
        ask(Wired("openai", adapter, ""), "scripted")
    adapter.close()


def test_many_threads_share_one_adapter(provider: ModelServer, wired: Wired) -> None:
    """Calls of several steps run side by side over one client."""
    barrier, found = threading.Barrier(8), []

    def work() -> None:
        barrier.wait()
        found.append(ask(wired, "scripted").value.title)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(provider.calls) == 8


def test_closing_ends_the_thread(provider: ModelServer) -> None:
    """Nothing is left behind, and closing twice is harmless."""
    adapter = openai_compatible(Endpoint(provider.base_url, KEY))
    ask(Wired("openai", adapter, ""), "scripted")
    before = threading.active_count()
    adapter.close()
    adapter.close()
    assert threading.active_count() < before
