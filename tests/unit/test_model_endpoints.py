"""What endpoints say and want otherwise than the format has it: errors under 200, other names, prompts cut, no one."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from shared.adapters.model.decorators import Booked, was_prompt_cut
from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.openai_compatible import openai_compatible
from shared.adapters.model.structured import Names, StructuredModel
from shared.adapters.model.through_pydantic import ThroughPydantic
from shared.domain.errors import NotSent, Permanent, RateLimited, RequestRejected, StepError, TextRefused, Transient
from shared.domain.phases import Phase
from shared.domain.redaction import without_secret
from shared.domain.states import StepKind
from shared.ports.completions import Call, Message, Reply
from shared.ports.ledger import Lease
from shared.ports.model import ModelRequest, TokenUsage
from shared.ports.observer import UNOBSERVED
from tests.fakes.materials import make_lease
from tests.support.raw_provider import GOOD, RawProvider, raw_provider

CASE = Path(__file__).parents[2].parent / "shared" / "cases" / "second" / "error-in-200.json"


class Claim(BaseModel):
    """An answer."""

    claim: str


REQUEST = ModelRequest(Phase.EXTRACTOR, "You read.", "Text.", Claim, 500, 20.0)
CALL = Call(Phase.EXTRACTOR, "m", (Message("system", "You read."), Message("user", "Text.")), "Claim", None, 500, 20.0)


@pytest.fixture(scope="module")
def provider() -> Iterator[RawProvider]:
    """A provider for the tests of this file."""
    with raw_provider([(200, GOOD)]) as server:
        yield server


@pytest.fixture
def adapter(provider: RawProvider) -> Iterator[ThroughPydantic]:
    """A fresh adapter, which remembers nothing yet."""
    made = openai_compatible(Endpoint(provider.base_url, "sk-of-the-endpoints-771"))
    yield made
    made.close()


def test_the_case_of_an_error_under_200(provider: RawProvider, adapter: ThroughPydantic) -> None:
    """s17: no credit left is told in the provider's own sentence, and ends at once."""
    if not CASE.is_file():
        pytest.skip("the collection of cases is not at hand")
    body = json.loads(CASE.read_text())
    provider.give((200, body))
    with pytest.raises(Permanent) as caught:
        adapter.complete(CALL)
    assert caught.value.code == "model:credit"
    assert body["error"]["message"].rstrip(".") in caught.value.detail
    assert len(provider.asked) == 1


TOLD: dict[str, tuple[Any, type[StepError], str, str]] = {
    "router": (
        {"error": {"code": 402, "message": "No funds are left on this account."}, "user_id": "u"},
        Permanent,
        "model:credit",
        "No funds are left",
    ),
    "key as a word": (
        {"error": {"type": "authentication_error", "message": "This key was withdrawn."}},
        Permanent,
        "model:key",
        "This key was withdrawn",
    ),
    "number as a text": ({"error": {"code": "401", "message": "Who are you?"}}, Permanent, "model:key", "Who are you"),
    "rate": (
        {"error": {"code": 429, "message": "Twelve calls a minute.", "metadata": {"raw": "x"}}},
        RateLimited,
        "model:rate_limited",
        "Twelve calls a minute",
    ),
    "flat": (
        {"object": "error", "message": "This model's tokens are used up.", "type": "BadRequestError", "code": 400},
        RequestRejected,
        "model:rejected",
        "tokens are used up",
    ),
    "bare sentence": ({"error": "The model is still loading."}, Transient, "model:unavailable", "still loading"),
    "detail": ({"detail": "Upstream went away."}, Transient, "model:unavailable", "Upstream went away"),
    "beside no choice": (
        {"choices": [], "error": {"code": 503, "message": "All engines are busy."}},
        Transient,
        "model:unavailable",
        "All engines are busy",
    ),
    "inside a choice": (
        {"id": "g", "choices": [{"error": {"code": 502, "message": "The host broke off."}, "finish_reason": "error"}]},
        Transient,
        "model:unavailable",
        "The host broke off",
    ),
    "filtered": (
        {"error": {"code": "content_filter", "message": "The text is against the rules."}},
        TextRefused,
        "model:rejected",
        "against the rules",
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_an_error_under_200_is_the_error_that_it_is(provider: RawProvider, adapter: ThroughPydantic, name: str) -> None:
    """Whatever form it has: the provider's words, and the kind that decides what becomes of the step."""
    body, kind, code, words = TOLD[name]
    provider.give((200, body))
    with pytest.raises(kind) as caught:
        adapter.complete(CALL)
    assert (caught.value.code, words in caught.value.detail) == (code, True), caught.value.detail
    assert len(provider.asked) == 1


def test_an_answer_with_an_empty_error_is_an_answer(provider: RawProvider, adapter: ThroughPydantic) -> None:
    """Some endpoints send ``error: null`` with every answer."""
    provider.give((200, {**GOOD, "error": None}))
    assert adapter.complete(CALL).text == '{"claim": "x"}'


def _refused(parameter: str | None, message: str, code: str = "unsupported_parameter") -> tuple[int, Any]:
    return 400, {"error": {"message": message, "type": "invalid_request_error", "param": parameter, "code": code}}


WANTS: dict[str, tuple[tuple[tuple[int, Any], ...], frozenset[str], frozenset[str]]] = {
    "newer name, named": (
        (_refused("max_tokens", "Not supported with this model. Use 'max_completion_tokens' instead."),),
        frozenset({"max_completion_tokens", "temperature"}),
        frozenset({"max_tokens"}),
    ),
    "newer name, in words": (
        ((422, {"detail": "extra field; did you mean `max_completion_tokens`?"}),),
        frozenset({"max_completion_tokens"}),
        frozenset({"max_tokens"}),
    ),
    "no temperature": (
        (_refused("temperature", "Only the default (1) is supported.", "unsupported_value"),),
        frozenset({"max_tokens"}),
        frozenset({"temperature"}),
    ),
    "neither": (
        (
            _refused("max_tokens", "Use 'max_completion_tokens' instead."),
            _refused(None, "`temperature` does not support 0.0 with this model."),
        ),
        frozenset({"max_completion_tokens"}),
        frozenset({"max_tokens", "temperature"}),
    ),
}


@pytest.mark.parametrize("name", WANTS)
def test_an_endpoint_is_asked_as_it_wants_and_that_is_remembered(
    provider: RawProvider, adapter: ThroughPydantic, name: str
) -> None:
    """One call more for each thing that it wants otherwise, the first time only."""
    refusals, sent, left_out = WANTS[name]
    provider.give(*refusals, (200, GOOD))
    for _ in range(2):
        assert adapter.complete(CALL).finish == "stop"
    assert len(provider.asked) == len(refusals) + 2
    for body in provider.asked[-2:]:
        assert sent <= set(body)
        assert not left_out & set(body)
    assert {body.get("max_completion_tokens") or body["max_tokens"] for body in provider.asked} == {500}


def test_what_helps_nothing_is_not_remembered(provider: RawProvider, adapter: ThroughPydantic) -> None:
    """A refusal that stays is told, and the next call is made as ever."""
    provider.give(_refused("temperature", "No."))
    with pytest.raises(RequestRejected, match=r"No\."):
        adapter.complete(CALL)
    assert len(provider.asked) == 2
    provider.give((200, GOOD))
    adapter.complete(CALL)
    assert "temperature" in provider.asked[0]


def test_room_that_the_endpoint_does_not_have_leaves_the_cut_answer(
    provider: RawProvider, adapter: ThroughPydantic
) -> None:
    """The cut-off is what is told, not the refusal of more room."""
    choice = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": ""}}
    provider.give((200, {**GOOD, "choices": [choice]}), _refused("max_completion_tokens", "At most 900.", "too_large"))
    model = StructuredModel(adapter, Names(dict.fromkeys(Phase, "m"), {("m", "Claim")}))
    with pytest.raises(StepError, match="cut off at 500 tokens"):
        model.ask(REQUEST)


@pytest.mark.parametrize("host", ["127.0.0.1:9", "no-such-host.invalid:80"])
def test_a_call_that_never_left_is_not_charged(host: str) -> None:
    """Nobody listens, or the name leads nowhere: the reservation is released, and what to look at is said."""
    adapter, book = openai_compatible(Endpoint(f"http://{host}/v1", None)), Book()
    try:
        with pytest.raises(NotSent, match="Check OPENAI_BASE_URL"):
            Booked(adapter, book, make_lease(StepKind.EXTRACT, "src_1"), UNOBSERVED).complete(CALL)
    finally:
        adapter.close()
    assert book.failed == [("model:unavailable", False)]


def test_a_server_that_failed_is_charged(provider: RawProvider, adapter: ThroughPydantic) -> None:
    """It may have worked before it failed."""
    provider.give((500, {"error": {"message": "Sorry."}}))
    book = Book()
    with pytest.raises(Transient):
        Booked(adapter, book, make_lease(StepKind.EXTRACT, "src_1"), UNOBSERVED).complete(CALL)
    assert book.failed == [("model:unavailable", True)]


class Book:
    """A book of calls that only notes what is told to it."""

    def __init__(self) -> None:
        self.failed: list[tuple[str, bool]] = []
        self.cut: list[bool] = []

    def reserve(self, lease: Lease, call: Call) -> str:
        """Let every call be made."""
        return "mdl_1"

    def settle(self, call_id: str, reply: Reply, *, prompt_cut: bool = False) -> None:
        """Note whether the prompt was cut."""
        self.cut.append(prompt_cut)

    def fail(self, call_id: str, outcome: str, *, charged: bool) -> None:
        """Note what failed."""
        self.failed.append((outcome, charged))


def _reply(tokens: int | None) -> Reply:
    return Reply("{}", "stop", TokenUsage(tokens, 1) if tokens is not None else None, "m", 0.0)


@pytest.mark.parametrize(
    ("text", "tokens", "cut"),
    [
        ("The pier has nine lamps. " * 1200, 4096, True),
        ("The pier has nine lamps. " * 1200, 7300, False),
        ("栈桥上有九盏灯。" * 3000, 2048, True),
        ("栈桥上有九盏灯。" * 3000, 15_000, False),
        ("На пирсе девять ламп. " * 1500, 2048, True),
        ("На пирсе девять ламп. " * 1500, 12_000, False),
        ("A short question?", 1, False),
        ("The pier has nine lamps. " * 1200, 0, False),
        ("The pier has nine lamps. " * 1200, None, False),
    ],
)
def test_a_prompt_that_the_server_cut_is_seen(text: str, tokens: int | None, cut: bool) -> None:
    """By what it counts, in any script; a server that counts nothing says nothing."""
    call = replace(CALL, messages=(Message("system", "You read."), Message("user", text)))
    assert was_prompt_cut(call, _reply(tokens)) is cut


def test_the_book_is_told_of_a_cut_prompt(provider: RawProvider, adapter: ThroughPydantic) -> None:
    """The run can say so later."""
    provider.give((200, GOOD))
    book = Book()
    long = replace(CALL, messages=(Message("system", "You read."), Message("user", "nine lamps " * 4000)))
    Booked(adapter, book, make_lease(StepKind.EXTRACT, "src_1"), UNOBSERVED).complete(long)
    assert book.cut == [True]


@pytest.mark.parametrize("key", ["x", "no", "EMPTY", "none", "ollama", "token"])
def test_a_placeholder_for_a_key_spoils_no_sentence(key: str) -> None:
    """Its letters stand everywhere."""
    told = "There is no token left for the ollama exit, none: EMPTY."
    assert without_secret(told, key) == told


@pytest.mark.parametrize("key", ["sk-1", "pa55word", "a1b2c3d4e5f6", "abcdefghijklmnop"])
def test_a_key_is_taken_out(key: str) -> None:
    """Wherever it stands, a short one where it stands by itself."""
    assert key not in without_secret(f"The key {key} is wrong (“{key}”).", key)


def test_a_short_key_in_a_provider_s_words(provider: RawProvider) -> None:
    """The sentence stays as the provider wrote it."""
    adapter = openai_compatible(Endpoint(provider.base_url, "e"))
    provider.give((200, {"error": {"code": 401, "message": "The key never existed here."}}))
    try:
        with pytest.raises(Permanent, match=r"The key never existed here\."):
            adapter.complete(CALL)
    finally:
        adapter.close()
