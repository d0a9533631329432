"""What an endpoint wants otherwise than most do, found out by its refusal and remembered for its models."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.settings import ModelSettings

Habit = Literal["no_temperature", "room_renamed"]
"""A model takes no ``temperature``; it wants the limit of its answer under the newer name."""

NEW_NAME, OLD_NAME, TEMPERATURE = "max_completion_tokens", "max_tokens", "temperature"

_REFUSALS = frozenset({400, 422})


def habit_in(error: ModelAPIError, *, renames: bool) -> Habit | None:
    """Return the habit that a refusal tells of: by the parameter that it names, in a field or by its exact name."""
    if not isinstance(error, ModelHTTPError) or error.status_code not in _REFUSALS:
        return None
    parameter, text = _parameter(error.body), str(error.body)
    if renames and (parameter == OLD_NAME or NEW_NAME in text):
        return "room_renamed"
    if parameter == TEMPERATURE or (parameter is None and TEMPERATURE in text):
        return "no_temperature"
    return None


def _parameter(body: object) -> str | None:
    """Return the parameter that an error's body names."""
    if not isinstance(body, Mapping):
        return None
    found = body.get("param")
    return found if isinstance(found, str) else _parameter(body.get("error"))


def settings_for(base: ModelSettings, habits: frozenset[Habit], max_tokens: int) -> ModelSettings:
    """Return a call's settings in the way that a model wants them."""
    settings = ModelSettings(**base)
    if "no_temperature" in habits:
        settings.pop("temperature", None)
    if "room_renamed" in habits:
        body: dict[str, Any] = {NEW_NAME: max_tokens}
        settings["extra_body"] = body
    else:
        settings["max_tokens"] = max_tokens
    return settings
