"""The API as an OpenAPI 3.1 document and as a plain page, both made from the table of routes and the contracts."""

import re
from html import escape
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from services.gateway.identity import OPEN_PATHS
from services.gateway.parameters import NoParameters
from services.gateway.problems import MEDIA_TYPE
from services.gateway.routes import ROUTES, Answer, Route
from shared.contracts.runs import Problem

TITLE = "Leadline"
API_VERSION = "1"
REF = "#/components/schemas/{model}"
EVERYWHERE = (400, 403, 408, 422, 429, 431, 500, 503)
"""What any route may answer: the request is none, comes from elsewhere, too slowly or too often, has odd parameters."""
_PATH_PARAMETER = re.compile(r"\{(\w+)\}")


def document() -> dict[str, Any]:
    """Return the OpenAPI document."""
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": API_VERSION, "summary": "Research whose every sentence can be checked."},
        "paths": paths,
        "components": {"schemas": _schemas(), "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def page() -> str:
    """Return a page that lists the routes; it loads nothing."""
    rows = "\n".join(
        f"<tr><td>{route.method}</td><td><code>{escape(route.path)}</code></td><td>{escape(route.summary)}</td></tr>"
        for route in ROUTES
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{TITLE} API</title></head><body>'
        f'<h1>{TITLE} API</h1><p>The same as a document for programs: <a href="/openapi.json">/openapi.json</a></p>'
        f"<table><tr><th>Method</th><th>Path</th><th>What it does</th></tr>{rows}</table></body></html>"
    )


def _models() -> list[type[BaseModel]]:
    named: list[type[BaseModel]] = [Problem]
    for route in ROUTES:
        named += [model for model in (route.body, route.answer.model) if model is not None]
    return list(dict.fromkeys(named))


def _schemas() -> dict[str, Any]:
    _, schemas = models_json_schema([(model, "validation") for model in _models()], ref_template=REF)
    return dict(schemas["$defs"])


def _ref(model: type[BaseModel]) -> dict[str, Any]:
    return {"$ref": REF.format(model=model.__name__)}


def _operation(route: Route) -> dict[str, Any]:
    is_open = route.path in OPEN_PATHS
    statuses = sorted({*route.problems, *EVERYWHERE, *(() if is_open else (401,))})
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": _operation_id(route),
        "parameters": _parameters(route),
        "responses": {
            str(route.status): _response(route.answer),
            **{str(status): _problem() for status in statuses},
        },
        # Where only this machine can ask, no key is needed: the empty requirement.
        "security": [] if is_open else [{"key": []}, {}],
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _ref(route.body)}}}
    if route.uploads:
        files = {"type": "array", "items": {"type": "string", "contentMediaType": "application/octet-stream"}}
        form = {"type": "object", "properties": {"files": files}, "required": ["files"]}
        operation["requestBody"] = {"required": True, "content": {"multipart/form-data": {"schema": form}}}
    return operation


def _operation_id(route: Route) -> str:
    words = [word for word in re.split(r"[^A-Za-z]+", route.path) if word not in ("", "api", "v", "json")]
    return "_".join([route.method.lower(), *words])


def _parameters(route: Route) -> list[dict[str, Any]]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PATH_PARAMETER.findall(route.path)
    ]
    in_query = [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in _query_schemas(route.query).items()
    ]
    in_headers = [
        {"name": name, "in": "header", "required": False, "description": text, "schema": {"type": "string"}}
        for name, text in route.headers.items()
    ]
    return in_path + in_query + in_headers


def _query_schemas(query: type[BaseModel]) -> dict[str, Any]:
    if query is NoParameters:
        return {}
    schema = query.model_json_schema()
    definitions = schema.get("$defs", {})
    return {name: _inlined(value, definitions) for name, value in schema["properties"].items()}


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema with its references replaced by what they name."""
    if isinstance(schema, list):
        return [_inlined(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return definitions[schema["$ref"].rpartition("/")[2]]
    return {key: _inlined(value, definitions) for key, value in schema.items()}


def _response(answer: Answer) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for media in answer.media:
        schema: dict[str, Any] = {"type": "object"} if media == "application/json" else {"type": "string"}
        if media == "application/json" and answer.model is not None:
            schema = _ref(answer.model)
        if answer.many is not None:
            rows = {"type": "array", "items": schema}
            schema = {"type": "object", "properties": {answer.many: rows}, "required": [answer.many]}
        content[media] = {"schema": schema}
    return {"description": "Done.", **({"content": content} if content else {})}


def _problem() -> dict[str, Any]:
    return {"description": "A problem.", "content": {MEDIA_TYPE: {"schema": _ref(Problem)}}}
