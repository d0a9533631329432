"""The adapters of all providers as tests use them: each connected to a provider on loopback."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from shared.adapters.model.anthropic import anthropic
from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.google import google
from shared.adapters.model.openai_compatible import ollama, openai_compatible
from shared.adapters.model.through_pydantic import ThroughPydantic
from tests.support.model_server import ModelServer

ADAPTERS: dict[str, tuple[Callable[[Endpoint], ThroughPydantic], str, str]] = {
    "openai": (openai_compatible, "/v1", ""),
    "ollama": (ollama, "/v1", ""),
    "anthropic": (anthropic, "", ""),
    "anthropic-schema": (anthropic, "", "claude-sonnet-4-5-"),
    "google": (google, "", "gemini-2.5-flash-"),
}
"""How each provider is asked: its adapter, the path below the server's address, what its models' names begin with."""

PATHS = {
    "openai": "/v1/chat/completions",
    "ollama": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "anthropic-schema": "/v1/messages",
    "google": "/v1beta/models/x:generateContent",
}
FORMS = {"openai": "native", "ollama": "native", "anthropic": "tool", "anthropic-schema": "native", "google": "native"}


@dataclass(frozen=True, slots=True)
class Wired:
    """An adapter under test, and what its models' names begin with."""

    name: str
    adapter: ThroughPydantic
    prefix: str


@contextmanager
def connected(name: str, provider: ModelServer, key: str) -> Iterator[Wired]:
    """Yield the adapter of this name, connected to the provider."""
    make, path, prefix = ADAPTERS[name]
    adapter = make(Endpoint(provider.address + path, key))
    try:
        yield Wired(name, adapter, prefix)
    finally:
        adapter.close()
