"""Anthropic's messages API. Import it only when it is used: its library is an extra and takes a second to load."""

from collections.abc import Callable

import httpx2
from anthropic import AsyncAnthropic
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.settings import ModelSettings

from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.through_pydantic import Speaker, ThroughPydantic


def anthropic(endpoint: Endpoint) -> ThroughPydantic:
    """Return the adapter for Anthropic's API, or for one that copies it."""
    return ThroughPydantic(endpoint, Speaker(_connect, ModelSettings(thinking=False)))


def _connect(endpoint: Endpoint, http: httpx2.AsyncClient) -> Callable[[str], Model]:
    client = AsyncAnthropic(
        api_key=endpoint.key, auth_token=None, base_url=endpoint.base_url, http_client=http, max_retries=0
    )
    provider = AnthropicProvider(anthropic_client=client)
    return lambda name: AnthropicModel(name, provider=provider)
