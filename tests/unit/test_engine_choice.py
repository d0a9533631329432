"""Which engine answers a run, and which model each phase of it asks."""

import pytest

from services.gateway.rules import engine_for
from services.planner.prompts.plan import PlanProposal
from shared.adapters.model.providers import no_model
from shared.config.settings import Settings
from shared.domain.errors import Invalid, Permanent
from shared.domain.phases import MODEL_PHASES, Phase
from shared.domain.states import StepKind
from shared.ports.model import ModelRequest
from tests.fakes.materials import make_lease


@pytest.mark.parametrize(
    ("asked", "has_model", "engine"),
    [
        ("auto", True, "llm"),
        ("auto", False, "extractive"),
        ("extractive", True, "extractive"),
        ("extractive", False, "extractive"),
        ("llm", True, "llm"),
        ("baseline", True, "baseline"),
    ],
)
def test_auto_is_the_model_when_there_is_one(asked: str, has_model: bool, engine: str) -> None:
    """A named engine is taken at its word."""
    assert engine_for(asked, has_model=has_model) == engine


def test_a_model_that_is_not_there_cannot_be_asked_for() -> None:
    """The refusal says what to set."""
    for engine in ("llm", "baseline"):
        with pytest.raises(Invalid, match="LEADLINE_MODEL") as caught:
            engine_for(engine, has_model=False)
        assert caught.value.field == "engine"


def test_phases_default_to_the_one_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """One name serves all; a phase may have another; without a model for every phase there is none."""
    for name in ("LEADLINE_MODEL", *(f"LEADLINE_MODEL_{phase.upper()}" for phase in MODEL_PHASES)):
        monkeypatch.delenv(name, raising=False)
    assert Settings().model_names() == {}
    assert Settings(model_writer="big").model_names() == {}
    assert set(Settings(model="small").model_names().values()) == {"small"}
    mixed = Settings(model="small", model_writer="big").model_names()
    assert mixed == {**dict.fromkeys(MODEL_PHASES, "small"), Phase.WRITER: "big"}


def test_the_names_that_people_have_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Key and endpoint come from the usual variables; an empty one counts as not set; the key is never printed."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hidden")
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    settings = Settings()
    assert settings.openai_api_key is not None
    assert settings.openai_api_key.get_secret_value() == "sk-hidden"
    assert settings.openai_base_url == "https://api.openai.com/v1"
    assert "sk-hidden" not in repr(settings)


def test_a_worker_without_a_model_says_so() -> None:
    """A step of the engine `llm` that such a worker takes fails with what to set, and the run with it."""
    model = no_model(make_lease(StepKind.PLAN, "plan"))
    with pytest.raises(Permanent, match="LEADLINE_MODEL") as caught:
        model.ask(ModelRequest(Phase.PLANNER, "i", "x", PlanProposal, 10, 1.0))
    assert caught.value.code == "model:none"
