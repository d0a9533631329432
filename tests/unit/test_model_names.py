"""Names of models: which provider they go to, and when another model has answered than the one asked for."""

import pytest

from shared.adapters.model.decorators import Strict
from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.providers import PROVIDERS, Switchboard
from shared.domain.errors import Permanent
from shared.domain.model_names import PROVIDER_NAMES, is_served_as, parse_model_name
from shared.domain.phases import Phase
from shared.ports.completions import Call, Message, Reply


@pytest.mark.parametrize(
    ("text", "provider", "name"),
    [
        ("gpt-5-mini", "openai", "gpt-5-mini"),
        ("openai:gpt-5-mini", "openai", "gpt-5-mini"),
        ("anthropic:claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("google:gemini-2.5-flash", "google", "gemini-2.5-flash"),
        ("ollama:qwen3:8b", "ollama", "qwen3:8b"),
        ("qwen3:8b", "openai", "qwen3:8b"),
        ("meta-llama/llama-3:free", "openai", "meta-llama/llama-3:free"),
        ("Google:gemini-2.5-flash", "google", "gemini-2.5-flash"),
    ],
)
def test_a_provider_stands_before_the_colon(text: str, provider: str, name: str) -> None:
    """A colon after anything else is a part of the name."""
    found = parse_model_name(text)
    assert (found.provider, found.name) == (provider, name)
    assert parse_model_name(str(found)) == found


@pytest.mark.parametrize(
    ("requested", "served", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("openai:gpt-4o", "gpt-4o", True),
        ("anthropic:claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True),
        ("anthropic:claude-opus-4", "claude-opus-4-5", False),
        ("anthropic:claude-3-5-haiku-latest", "claude-3-5-haiku-20241022", True),
        ("google:gemini-2.5-flash", "gemini-2.5-flash-preview-05-20", True),
        ("google:gemini-2.5-flash", "models/gemini-2.5-flash", True),
        ("google:gemini-2.5-flash", "gemini-2.5-flash-lite", False),
        ("ollama:qwen3", "qwen3:latest", True),
        ("ollama:qwen3:8b", "qwen3:8b", True),
        ("openai/gpt-4o", "gpt-4o", True),
        ("big", "small", False),
    ],
)
def test_a_version_of_the_model_is_the_model(requested: str, served: str, same: bool) -> None:
    """A date or number of version is no switch; another size or generation is one."""
    assert is_served_as(requested, served) is same


def call_of(model: str) -> Call:
    """Return a call to a model."""
    return Call(Phase.PLANNER, model, (Message("system", "i"), Message("user", "x")), "X", None, 10, 1.0)


class Answering:
    """Answers every call with the name of one model."""

    def __init__(self, served: str) -> None:
        self.served = served

    def complete(self, call: Call) -> Reply:
        """Answer."""
        return Reply("{}", "stop", None, self.served, 0.0)


def test_strict_refuses_a_switched_model() -> None:
    """Both names are told; the model that was asked for passes."""
    assert Strict(Answering("big-2026-01")).complete(call_of("big")).served_model == "big-2026-01"
    with pytest.raises(Permanent, match="small where big was asked for") as caught:
        Strict(Answering("small")).complete(call_of("big"))
    assert caught.value.code == "model:switched"


def test_every_provider_has_an_adapter() -> None:
    """The table of names and the table of adapters are the same list."""
    assert tuple(PROVIDERS) == PROVIDER_NAMES


@pytest.mark.parametrize(("name", "setting"), [("anthropic", "ANTHROPIC_API_KEY"), ("google", "GEMINI_API_KEY")])
def test_a_provider_without_its_key_says_which(name: str, setting: str) -> None:
    """Nothing is sent; the sentence names the setting."""
    board = Switchboard({name: Endpoint("http://127.0.0.1:9", None, setting)})
    with pytest.raises(Permanent, match=setting) as caught:
        board.complete(call_of(f"{name}:m"))
    assert caught.value.code == "model:key"
    board.close()
