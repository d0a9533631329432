"""Where models are asked, and what an operator calls the settings that say so."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address and a key, and the names of the settings that they came from."""

    base_url: str
    key: str | None
    key_name: str = "OPENAI_API_KEY"
    url_name: str = "OPENAI_BASE_URL"
