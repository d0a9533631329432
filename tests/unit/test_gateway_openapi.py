"""The description of the API against the application itself."""

import json
import re

from services.gateway import openapi
from services.gateway.app import create_app
from services.gateway.problems import KINDS
from services.gateway.routes import PAGES, ROUTES
from shared.domain import errors
from tests.fakes.gateway import Desk, fake_deps

DOCUMENT = openapi.document()


def test_every_route_is_described_and_every_description_is_a_route() -> None:
    """Paths and methods of the application are those of the document, and the pages, which are for people."""
    app = create_app(fake_deps(Desk()))
    served = {
        (method.lower(), re.sub(r"<(\w+)>", r"{\1}", rule.rule))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    described = {(method, path) for path, operations in DOCUMENT["paths"].items() for method in operations}
    assert served == described | {(route.method.lower(), route.path) for route in PAGES}


def test_every_reference_resolves() -> None:
    """No schema names one that is not there."""
    names = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(DOCUMENT)))
    assert names <= set(DOCUMENT["components"]["schemas"])
    assert {"Problem", "CreateRun", "Run", "Report"} <= names


def test_operation_ids_are_unique() -> None:
    """Generated clients name their methods by them."""
    ids = [operation["operationId"] for path in DOCUMENT["paths"].values() for operation in path.values()]
    assert len(set(ids)) == len(ids) == len(ROUTES)


def test_parameters_are_those_of_the_queries() -> None:
    """A query model's fields and the path's names are there."""
    parameters = DOCUMENT["paths"]["/api/v1/research-runs"]["get"]["parameters"]
    assert {p["name"] for p in parameters} == {"session_id", "status", "cursor", "limit"}
    assert "$ref" not in json.dumps(parameters)


def test_the_page_lists_every_route_and_loads_nothing() -> None:
    """It needs no script, style or image."""
    page = openapi.page()
    assert all(route.path in page for route in ROUTES)
    assert not re.search(r"<(script|style|link|img)|src=", page)


def test_every_refusal_has_a_kind_of_its_own() -> None:
    """No error of the domain that refuses a request is left to its base."""
    refusals = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.Refused) and value is not errors.Refused
    }
    assert refusals <= set(KINDS)
