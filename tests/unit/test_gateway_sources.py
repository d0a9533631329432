"""Single sources with their evidence and text, and what the installation offers."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from flask.testing import FlaskClient

from services.extractor.reading import mime
from services.gateway.app import create_app
from services.gateway.deps import Configured, Limits
from shared.contracts.runs import CreateRun
from shared.domain.budget import TIERS, Depth
from shared.domain.file_kinds import FILE_KINDS
from shared.domain.ids import LOCAL_OWNER, OwnerId
from shared.ports.services import ServiceState
from tests.factories.research import make_document, make_evidence, make_snapshot, make_source
from tests.fakes.gateway import Desk, fake_deps

RUNS = "/api/v1/research-runs"
SNAPSHOT = make_snapshot("The channel was dredged in 2021. 𝛑 is not 3.")
SOURCE = make_document("src_1", SNAPSHOT)
BLOCKED = make_source("src_2", status="blocked", reason="robots.txt disallows it")


@pytest.fixture
def desk() -> Desk:
    """The state behind the gateway: a run with a source that was read and one that was not."""
    made = Desk()
    run_id = made.add_run(LOCAL_OWNER, CreateRun(objective="When?"))
    made.sources[run_id] = (SOURCE, BLOCKED)
    made.evidence[run_id] = (make_evidence("evd_1", SOURCE, SNAPSHOT),)
    made.texts[SNAPSHOT.sha256] = SNAPSHOT.text
    return made


@pytest.fixture
def http(desk: Desk) -> FlaskClient:
    """A client of the gateway."""
    return create_app(fake_deps(desk)).test_client()


def address(desk: Desk, source_id: str) -> str:
    """Return where a source of the only run is."""
    return f"{RUNS}/{next(iter(desk.runs))}/sources/{source_id}"


def test_a_source_comes_with_its_evidence(http: FlaskClient, desk: Desk) -> None:
    """It is the object of the list, and what was found in it."""
    body = http.get(address(desk, "src_1")).json
    assert body["title"] == SOURCE.title
    assert [e["evidence_id"] for e in body["evidence"]] == ["evd_1"]
    assert http.get(address(desk, "src_2")).json["evidence"] == []


def test_the_text_is_plain_and_its_own(http: FlaskClient, desk: Desk) -> None:
    """The snapshot is text/plain in UTF-8 and nothing else, so that no browser takes it for a page."""
    answer = http.get(f"{address(desk, 'src_1')}/snapshot")
    assert answer.content_type == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    text = answer.data.decode()
    found = http.get(address(desk, "src_1")).json["evidence"][0]
    assert text[found["start"] : found["end"]] == found["excerpt"]


def test_what_is_not_there_is_not_found(http: FlaskClient, desk: Desk) -> None:
    """An unknown source, the text of one that was not read, and everything of others: 404."""
    for path in (address(desk, "src_9"), f"{address(desk, 'src_2')}/snapshot", f"{RUNS}/run_9/sources/src_1"):
        assert http.get(path).status_code == 404
    assert "blocked" in http.get(f"{address(desk, 'src_2')}/snapshot").json["detail"]
    for run_id in desk.runs:
        desk.owners[run_id] = OwnerId("own_other")
    for path in (address(desk, "src_1"), f"{address(desk, 'src_1')}/snapshot"):
        assert http.get(path).status_code == 404


def test_capabilities_tell_what_is_configured(desk: Desk) -> None:
    """Engines, models and search providers as they are set; limits as they hold."""
    bare = create_app(fake_deps(desk, Limits(max_document_bytes=1000))).test_client().get("/api/v1/capabilities").json
    assert bare["default_engine"] == "extractive"
    assert [(e["name"], e["configured"]) for e in bare["engines"]] == [
        ("extractive", True),
        ("llm", False),
        ("baseline", False),
        ("managed:google", False),
        ("managed:openai", False),
    ]
    assert "GEMINI_API_KEY" in bare["engines"][3]["lacks"]
    assert "LEADLINE_MODEL" in bare["engines"][1]["lacks"]
    assert (bare["web"]["search_providers"], bare["documents"]["largest_bytes"]) == ([], 1000)
    assert bare["budget"]["tiers"]["quick"]["fetches"] == TIERS[Depth.QUICK].fetches
    assert bare["budget"]["maxima"]["fetches"] == TIERS[Depth.THOROUGH].fetches
    assert "bundle" in bare["report_formats"]


def test_capabilities_name_models_and_providers() -> None:
    """With a model `auto` is the engine that asks it."""
    deps = fake_deps(Desk())
    models = {"planner": "small", "writer": "large"}
    configured = Configured(
        "1.2", models, search_providers=("searxng",), reranker="jina", managed={"managed:google": "an-agent"}
    )
    http = create_app(replace(deps, configured=configured, has_model=True)).test_client()
    body = http.get("/api/v1/capabilities").json
    assert (body["version"], body["default_engine"]) == ("1.2", "llm")
    assert body["engines"][1]["models"] == {"planner": "small", "writer": "large"}
    assert body["engines"][3]["models"] == {"managed": "an-agent"}
    assert (body["engines"][3]["configured"], body["engines"][4]["configured"]) == (True, False)
    assert body["web"]["search_providers"] == ["searxng"]
    assert body["web"]["reranker"] == "jina"
    services = {row["name"]: row for row in body["web"]["services"]}
    assert [name for name, row in services.items() if row["configured"]] == ["searxng", "jina"]
    assert services["searxng"]["endpoints"] == ["web", "news", "scholar"]
    assert services["tavily"]["lacks"] == "Set TAVILY_API_KEY."
    assert services["arxiv"]["lacks"] == "Set LEADLINE_SEARCH=arxiv."


class Answered:
    """What the services did last: SearXNG answered, Jina did not."""

    def note(self, name: str, failure: str | None) -> None:
        """Take nothing."""

    def all(self) -> dict[str, ServiceState]:
        """Return both."""
        at = datetime(2026, 1, 2, tzinfo=UTC)
        return {"searxng": ServiceState(at, None), "jina": ServiceState(at, "search_key"), "exa": ServiceState(at, "x")}


class Away(Answered):
    """A database that is away."""

    def all(self) -> dict[str, ServiceState]:
        """Raise."""
        raise ConnectionError


@pytest.mark.parametrize(("managed", "offered"), [({}, False), ({"managed:google": "an-agent"}, True)])
def test_the_page_offers_the_web_where_a_provider_searches(managed: dict[str, str], offered: bool) -> None:
    """Without a search provider of its own the form leaves the web to the managed engines."""
    deps = replace(fake_deps(Desk()), configured=Configured(managed=managed))
    page = create_app(deps).test_client().get("/", headers={"Host": "127.0.0.1"}).text
    assert ('<option value="full_web">' in page) is offered
    assert ('<option value="managed:google">' in page) is offered


def test_capabilities_tell_whether_services_answered() -> None:
    """The last call at each that is configured is told; a database that is away hides no more than that."""
    configured = Configured("1.2", search_providers=("searxng", "tavily"), reranker="jina")
    deps = replace(fake_deps(Desk()), configured=configured, services=Answered(), outages=(ConnectionError,))
    rows = {
        row["name"]: row for row in create_app(deps).test_client().get("/api/v1/capabilities").json["web"]["services"]
    }
    assert {name: rows[name]["answers"] for name in ("searxng", "tavily", "jina", "exa")} == {
        "searxng": True,
        "tavily": None,
        "jina": False,
        "exa": None,
    }
    assert (rows["jina"]["failure"], rows["jina"]["asked_at"]) == ("search_key", "2026-01-02T00:00:00Z")
    away = create_app(replace(deps, services=Away())).test_client().get("/api/v1/capabilities").json
    assert {row["answers"] for row in away["web"]["services"]} == {None}


def test_what_is_said_to_be_readable_is_what_is_read() -> None:
    """The media types are those that the extractor has readers for."""
    known = {value for name, value in vars(mime).items() if name.isupper() and isinstance(value, str)}
    assert {kind.media_type for kind in FILE_KINDS} == known - {mime.ZIP, mime.OLE, mime.BINARY}
