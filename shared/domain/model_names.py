"""Names of models as people set them: ``provider:name``, or a bare name for the OpenAI-compatible endpoint."""

import re
from dataclasses import dataclass

OPENAI = "openai"
PROVIDER_NAMES: tuple[str, ...] = (OPENAI, "anthropic", "google", "ollama")
"""The providers that there are; any endpoint that speaks OpenAI's chat completions is "openai"."""

_VERSION = r"[-@](?:preview[-_]?)?\d{2,}(?:[-.]\d{2,})*"
_SERVED_AS = re.compile(rf"(?:{_VERSION}|[-@:]latest|-preview)*")
"""What a provider adds to a name when it tells which version of that very model answered."""


@dataclass(frozen=True, slots=True)
class ModelName:
    """A provider and the name that it knows its model by."""

    provider: str
    name: str

    def __str__(self) -> str:
        """Return the form in which it is set and priced."""
        return f"{self.provider}:{self.name}"


def parse_model_name(text: str) -> ModelName:
    """Read a name as it is set; what stands before a colon counts only when it is a provider (``qwen3:8b``)."""
    head, colon, rest = text.strip().partition(":")
    if colon and head.lower() in PROVIDER_NAMES and rest:
        return ModelName(head.lower(), rest)
    return ModelName(OPENAI, text.strip())


def is_served_as(requested: str, served: str) -> bool:
    """Tell whether the model that answered is the one that was asked for, perhaps by the name of its version."""
    wanted, given = _plain(parse_model_name(requested).name), _plain(served)
    wanted = wanted.removesuffix("-latest").removesuffix(":latest")
    return given.startswith(wanted) and _SERVED_AS.fullmatch(given[len(wanted) :]) is not None


def _plain(name: str) -> str:
    return name.lower().rsplit("/", 1)[-1]
