"""Reading requests and writing answers, the same way on every route."""

from collections.abc import Sequence

import pydantic_core
from flask import Request, Response
from pydantic import BaseModel

from services.gateway import rules
from services.gateway.problems import LengthRequired, Malformed, WrongMediaType
from services.gateway.validation import Model, fitted
from shared.domain.errors import Invalid, TooLarge

JSON = "application/json"
_CHUNK = 64 * 1024


def read_body(request: Request, model: type[Model], largest: int) -> Model:
    """Return the JSON body as a ``model``; every text in it is cleaned before it is validated.

    Raises `WrongMediaType`, `TooLarge`, `Malformed` or `Invalid`.
    """
    if request.mimetype != JSON:
        raise WrongMediaType(f"Send the body as JSON, with the header Content-Type: {JSON}.")
    if (request.content_length or 0) > largest:
        raise TooLarge(f"The body has {request.content_length:,} bytes; it may have {largest:,}.")
    request.max_content_length = largest + 1
    data = request.get_data(cache=False)
    if len(data) > largest:
        raise TooLarge(f"The body has more than the {largest:,} bytes that it may have.")
    try:
        value = pydantic_core.from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise Malformed(f"The body is not valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise Invalid("The body must be a JSON object.", field="body")
    return fitted(model, rules.cleaned(value))


def read_query(request: Request, model: type[Model]) -> Model:
    """Return the query parameters as a ``model``; one that is unknown or comes twice is refused."""
    values = request.args.to_dict(flat=False)
    doubled = sorted(name for name, given in values.items() if len(given) > 1)
    if doubled:
        raise Invalid(f"The parameter {doubled[0]} is given more than once.", field=doubled[0])
    return fitted(model, {name: given[0] for name, given in values.items()})


def check_upload(request: Request, largest: int) -> None:
    """Raise unless the body is a form with files of a declared and bearable size."""
    if request.mimetype != "multipart/form-data":
        raise WrongMediaType("Send the files as multipart/form-data.")
    if request.content_length is None:
        raise LengthRequired("Send the files with a Content-Length.")
    if request.content_length > largest:
        raise TooLarge(
            f"The request has {request.content_length:,} bytes; one may have {largest:,}: send the files in several."
        )
    request.max_content_length = largest


def one(value: BaseModel, status: int = 200) -> Response:
    """Return one object."""
    return Response(value.model_dump_json(), status=status, content_type=JSON)


def many(name: str, values: Sequence[BaseModel]) -> Response:
    """Return a list under its name."""
    rows = ",".join(value.model_dump_json() for value in values)
    return Response(f'{{"{name}":[{rows}]}}', content_type=JSON)
