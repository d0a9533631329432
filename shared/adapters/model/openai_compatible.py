"""Chat completions at any endpoint that speaks OpenAI's format, Ollama's included. Import it only when it is used."""

from collections.abc import Callable

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.ollama import OllamaProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.through_pydantic import Speaker, ThroughPydantic

OPENAI_URL = "https://api.openai.com/v1"

_NO_KEY = "none"
"""Sent to endpoints that ask for no key; the client insists on one."""

_PORTABLE = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False, supports_json_schema_output=True)
"""Servers that copy the format know ``max_tokens``; only OpenAI's own wants its successor."""


def openai_compatible(endpoint: Endpoint) -> ThroughPydantic:
    """Return the adapter for an endpoint of OpenAI's format."""
    return ThroughPydantic(endpoint, Speaker(_connect, renames_room=True))


def ollama(endpoint: Endpoint) -> ThroughPydantic:
    """Return the adapter for an Ollama server; one in its cloud takes no schema and is asked through a tool."""
    return ThroughPydantic(endpoint, Speaker(_connect_ollama, renames_room=True))


def _client(endpoint: Endpoint, http: httpx2.AsyncClient) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=endpoint.base_url, api_key=endpoint.key or _NO_KEY, http_client=http, max_retries=0)


def _connect(endpoint: Endpoint, http: httpx2.AsyncClient) -> Callable[[str], Model]:
    client = _client(endpoint, http)
    if endpoint.base_url.rstrip("/") == OPENAI_URL:
        return lambda name: OpenAIChatModel(name, provider=OpenAIProvider(openai_client=client))
    provider = OpenAICompatibleProvider("openai-compatible", openai_client=client)
    return lambda name: OpenAIChatModel(name, provider=provider, profile=_PORTABLE)


def _connect_ollama(endpoint: Endpoint, http: httpx2.AsyncClient) -> Callable[[str], Model]:
    provider = OllamaProvider(openai_client=_client(endpoint, http))
    return lambda name: OllamaModel(name, provider=provider)
