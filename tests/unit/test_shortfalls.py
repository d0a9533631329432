"""What a run did not get is told: failed searches, texts that nobody looked through, texts and prompts cut."""

import json
from pathlib import Path
from typing import Any

import pytest

from services.fetcher.net.messages import Fetched
from services.fetcher.search.contract import Account, SearchQuery
from services.fetcher.search.providers import FACTORIES
from services.synthesizer.rules.methodology import Course, methodology
from services.synthesizer.rules.shortfalls import shortfalls_of
from shared.contracts.report import VerificationSummary
from shared.domain.budget import TIERS, Depth, Usage
from shared.domain.errors import StepError, Transient
from shared.domain.search import PROVIDERS
from shared.domain.states import RunKind, RunStatus, StepKind, StepStatus
from shared.domain.urls import parse_url
from shared.domain.view import RunView, StepView
from tests.factories.research import make_source

CASE = Path(__file__).parents[2].parent / "shared" / "cases" / "second" / "searxng-all-engines-down.json"


def _view(*steps: StepView) -> RunView:
    return RunView(RunKind.RESEARCH, RunStatus.SYNTHESIZING, TIERS[Depth.QUICK], Usage(), steps=steps)


def _step(kind: StepKind, subject: str, error: str | None = None, **result: Any) -> StepView:
    status = StepStatus.COMPLETED if error is None else StepStatus.FAILED
    return StepView(f"{kind}:{subject}", kind, status, 1, subject, result=result, error=error)


def _course(**changes: Any) -> str:
    facts = {
        "engine": "extractive",
        "questions": 1,
        "searches": 2,
        "found": 0,
        "read": 0,
        "copies": 0,
        "evidence": 0,
        "as_of": None,
        "published_later": 0,
        "undated": 0,
        "stop_reason": None,
        "verifier": "gate 1",
    }
    summary = VerificationSummary(
        statements=0, emitted=0, dropped=0, sentence_support_rate=0.0, citation_support_rate=0.0
    )
    return " ".join(methodology(Course(**(facts | changes)), summary))


@pytest.mark.parametrize(
    ("failed", "searches", "found", "told"),
    [
        (2, 2, 0, "led to 2 searches, all of which failed;"),
        (1, 1, 0, "led to 1 search, which failed;"),
        (1, 3, 4, "led to 3 searches, of which 1 failed; the others found 4 sources;"),
        (2, 2, 1, "led to 2 searches, all of which failed; 1 source came with the request;"),
        (0, 2, 0, "led to 2 searches, which found 0 sources;"),
    ],
)
def test_a_search_that_failed_has_found_nothing_and_not_looked(
    failed: int, searches: int, found: int, told: str
) -> None:
    """It never counts as one that found 0 sources."""
    assert told in _course(failed=failed, searches=searches, found=found)


def test_failed_searches_are_gaps_with_their_reason() -> None:
    """The query, and what the provider said."""
    told = "None of SearXNG's engines answered: one (Suspended: CAPTCHA)."
    short = shortfalls_of(_view(_step(StepKind.SEARCH, "basin depth", told)), (), {})
    assert (short.failed, short.all_failed) == (1, True)
    assert short.gaps == (f"Search failed: “basin depth”: {told}",)


def test_a_provider_that_was_silent_beside_another_is_told() -> None:
    """Once, with how often."""
    failed = {"brave": {"code": "search_key", "detail": "Brave Search answers 401."}}
    steps = [_step(StepKind.SEARCH, query, failed=failed) for query in ("a", "b")]
    short = shortfalls_of(_view(*steps), (), {})
    assert short.failed == 0
    assert short.remarks == ("Brave gave no answer to 2 of 2 searches: Brave Search answers 401.",)


def test_a_source_that_was_refused_is_a_gap() -> None:
    """Its name, and the provider's words."""
    source = make_source("src_1", title="Quarantine notice")
    refused = _step(StepKind.EXTRACT, "src_1", "The provider refused the request: filtered.")
    short = shortfalls_of(_view(refused), (source,), {})
    assert short.gaps == ("Not looked through: Quarantine notice: The provider refused the request: filtered.",)


def test_what_was_cut_is_told() -> None:
    """A long text, one that was longer than any may be, and a prompt that the server cut."""
    source = make_source("src_1", title="Annals")
    step = _step(StepKind.EXTRACT, "src_1", chars=900_000, looked_at=200_000, truncated=True)
    short = shortfalls_of(_view(step), (source,), {"small": 3})
    assert [s for s in short.remarks if "200,000 of 900,000 characters" in s]
    assert [s for s in short.remarks if "its end was not read" in s]
    assert [s for s in short.remarks if "small" in s and "in 3 calls" in s]
    assert all(s in _course(remarks=short.remarks) for s in short.remarks)
    whole = _step(StepKind.EXTRACT, "src_1", chars=900, looked_at=900, truncated=False)
    assert shortfalls_of(_view(whole), (source,), {}).remarks == ()


def _answered(name: str, body: bytes, status: int = 200) -> StepError | tuple[Any, ...]:
    provider = FACTORIES[name](Account(PROVIDERS[name].base_url or "http://127.0.0.1:1", "k-12345678901"))
    query = SearchQuery("basin depth", endpoint=PROVIDERS[name].endpoints[0])
    url = parse_url("http://127.0.0.1:1/search")
    headers = {"content-type": "application/json"}
    fetched = Fetched(hops=(url,), status=status, headers=headers, body=body)
    try:
        found = provider.read(fetched, query)
    except StepError as error:
        return error
    return found if isinstance(found, tuple) else (found,)


def test_the_case_of_engines_that_are_all_down() -> None:
    """s16: an answer without results whose engines were all silent is a failed search, with their reasons."""
    if not CASE.is_file():
        pytest.skip("the collection of cases is not at hand")
    error = _answered("searxng", CASE.read_bytes())
    assert isinstance(error, Transient)
    assert error.code == "search_engines_down"
    assert "brave (Suspended: too many requests)" in error.detail


@pytest.mark.parametrize(
    ("silent", "told"),
    [
        ([["alpha", "timeout"]], "alpha (timeout)"),
        (["alpha", "beta"], "alpha, beta"),
        ([["alpha", ""], ["beta"]], "alpha, beta"),
        ([[]], "one without a name"),
    ],
)
def test_engines_that_are_down_in_other_forms(silent: list[Any], told: str) -> None:
    """With a reason, without, as lists or names."""
    body = {"results": [], "unresponsive_engines": silent, "suggestions": ["x"], "answers": []}
    error = _answered("searxng", json.dumps(body).encode())
    assert isinstance(error, Transient)
    assert told in error.detail


def test_no_results_of_engines_that_answered_are_none() -> None:
    """That is a search that worked."""
    assert _answered("searxng", b'{"results": [], "unresponsive_engines": []}') == ()


@pytest.mark.parametrize("status", [429, 401, 402, 500, 503])
@pytest.mark.parametrize("name", FACTORIES)
def test_no_trouble_of_a_provider_is_an_empty_result(name: str, status: int) -> None:
    """A limit, a key, no credit or an outage is an error that the search fails with."""
    assert isinstance(_answered(name, b'{"message": "No."}', status), StepError)


@pytest.mark.parametrize(
    "body", [{"error": {"code": 429, "message": "Slow down."}}, {"error": "Invalid key."}, {"message": "Unauthorized."}]
)
@pytest.mark.parametrize("name", [n for n in FACTORIES if n != "wikipedia"])
def test_an_error_under_200_is_no_empty_result(name: str, body: dict[str, Any]) -> None:
    """Gateways in front of a provider answer 200 with an error in the body."""
    assert isinstance(_answered(name, json.dumps(body).encode()), StepError)
