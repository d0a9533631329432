"""Answers that broke other systems, sent in every provider's format: used, repaired once, or refused by name."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import BaseModel

from services.extractor.prompts.extract import Extraction
from services.synthesizer.prompts.write import SectionText, SummaryText
from shared.adapters.model.structured import Names, StructuredModel
from shared.domain.errors import InvalidAnswer
from shared.domain.phases import Phase
from shared.ports.model import ModelRequest
from tests.support.model_adapters import ADAPTERS, Wired, connected
from tests.support.model_server import ModelServer, model_server

_DATA = os.environ.get("LEADLINE_TEST_DATA")
CASES = Path(_DATA).parent / "cases" if _DATA else Path(__file__).parents[2].parent / "shared" / "cases"
pytestmark = pytest.mark.skipif(not (CASES / "index.json").is_file(), reason="the collection of cases is not at hand")
KEY = "sk-of-the-cases-55d1"


class Queries(BaseModel):
    """An answer with one list."""

    queries: list[str]


class Claim(BaseModel):
    """An answer with a text that must not be shortened."""

    claim: str
    source: int


@dataclass(frozen=True, slots=True)
class Expected:
    """What is asked for, and what comes of it: the answer's data, or the words of its refusal."""

    output: type[BaseModel]
    data: dict[str, object] | None = None
    told: str = ""


EXPECTED: dict[str, tuple[Expected, ...]] = {
    "lm01-prose-before-json": (Expected(Queries, {"queries": ["harbour survey 2019", "boat count"]}),),
    "lm02-fenced": (Expected(Queries, {"queries": ["a"]}),),
    "lm03-latex-escape": (Expected(Claim, told="no valid JSON"),),
    "lm04-extra-tokens": (Expected(Queries, {"queries": ["a"]}),),
    "lm07-missing-key": (Expected(Queries, told="queries: Field required"),),
    "lm09-placeholder-accepted": (
        Expected(Extraction, told="question: Field required"),
        Expected(SectionText, told="blocks: Field required"),
        Expected(SummaryText, told="summary: Input should be a valid list"),
    ),
    "lm10-citation-from-bibliography": (
        Expected(Extraction, told="findings: Field required"),
        Expected(SectionText, told="blocks: Field required"),
    ),
    "lm12-nan-deep-huge": (Expected(Queries, told="."),),
}


@pytest.fixture(scope="module")
def provider() -> Iterator[ModelServer]:
    """A provider for the tests of this file."""
    with model_server() as server:
        yield server


@pytest.fixture(scope="module", params=ADAPTERS)
def wired(request: pytest.FixtureRequest, provider: ModelServer) -> Iterator[Wired]:
    """An adapter, connected to the provider."""
    with connected(request.param, provider, KEY) as found:
        yield found


def test_every_case_about_models_is_expected() -> None:
    """A case that is added to the collection has to be added here."""
    index = json.loads((CASES / "index.json").read_text())
    assert {case["id"] for case in index if case["id"].startswith("lm")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_case_ends_as_expected(provider: ModelServer, wired: Wired, name: str) -> None:
    """At most one repair, never another error than the named one, and a text that is whole or not taken."""
    provider.given = (CASES / "files" / f"{name}.txt").read_text()
    for expected in EXPECTED[name]:
        provider.calls.clear()
        names = Names(dict.fromkeys(Phase, f"{wired.prefix}fake-given"), set())
        request = ModelRequest(Phase.EXTRACTOR, "You read.", "Text.", expected.output, 500, 20.0)
        model = StructuredModel(wired.adapter, names)
        if expected.data is not None:
            assert model.ask(request).value.model_dump() == expected.data
            assert len(provider.calls) == 1
        else:
            with pytest.raises(InvalidAnswer) as caught:
                model.ask(request)
            assert expected.told in str(caught.value)
            assert len(provider.calls) <= 2
