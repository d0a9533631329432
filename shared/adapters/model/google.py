"""Google's Gemini API. Import it only when it is used: its library is an extra."""

from collections.abc import Callable

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.settings import ModelSettings

from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.through_pydantic import Speaker, ThroughPydantic


def google(endpoint: Endpoint) -> ThroughPydantic:
    """Return the adapter for the Gemini API, or for one that copies it."""
    # Limits of nested lists multiply, and past a number of states that it does not tell, Gemini refuses the schema.
    return ThroughPydantic(endpoint, Speaker(_connect, ModelSettings(thinking=False), ends_lists=False))


def _connect(endpoint: Endpoint, http: httpx2.AsyncClient) -> Callable[[str], Model]:
    provider = GoogleProvider(api_key=endpoint.key, http_client=http, base_url=endpoint.base_url)
    return lambda name: GoogleModel(name, provider=provider)
