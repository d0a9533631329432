"""Values that came from outside against the model that they should fit: fitted, or refused with field and sentence."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from shared.domain.errors import Invalid

Model = TypeVar("Model", bound=BaseModel)


def fitted(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Return the values as a ``model``; raise `Invalid`."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise refusal(error) from None


def refusal(error: ValidationError) -> Invalid:
    """Return the refusal of values that do not fit; of unknown fields all are named, of other faults the first."""
    faults = error.errors(include_url=False, include_context=True)
    unknown = [_path(fault["loc"]) for fault in faults if fault["type"] == "extra_forbidden"]
    if unknown:
        noun = "field" if len(unknown) == 1 else "fields"
        return Invalid(f"Unknown {noun}: {', '.join(unknown)}. Leave out what is not known.", field=unknown[0])
    fault = faults[0]
    field = _path(fault["loc"]) or "body"
    return Invalid(_sentence(field, fault["type"], fault["msg"], fault.get("ctx", {}), fault.get("input")), field=field)


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location)


def _sentence(field: str, kind: str, message: str, context: Mapping[str, Any], given: Any) -> str:
    if kind == "missing":
        return f"The field {field} is missing."
    if kind == "string_too_long":
        return f"The field {field} has {len(given):,} characters; it may have {context['max_length']:,}."
    if kind == "string_too_short":
        return f"The field {field} is empty."
    if kind == "value_error":
        return f"The field {field} is not valid: {context['error']}."
    return f"The field {field} is not valid: {message[:1].lower()}{message[1:]}."
