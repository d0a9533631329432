"""Prices of models: known ones, an operator's own, and that an unknown one stays unknown."""

import json
from pathlib import Path

import pytest

from services.gateway.rules import check_cost_limit
from shared.config.prices import PricesUnreadable, load_prices
from shared.config.settings import Settings
from shared.domain.budget import TIERS, Depth, changed, limits_for, raised, told
from shared.domain.errors import Invalid
from shared.domain.known_prices import KNOWN_PRICES
from shared.domain.prices import Price, PriceTable

OWN = {"openai:mine": {"input": 1.0, "output": 2.0, "cached": 0.5}, "ollama:qwen3:8b": {"input": 0, "output": 0}}


@pytest.fixture(autouse=True)
def _no_endpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GEMINI_BASE_URL", "LEADLINE_MODEL_PRICES"):
        monkeypatch.delenv(name, raising=False)


def test_a_call_costs_input_cache_and_output() -> None:
    """The cached part of the input at its price, the rest at the price of input."""
    assert Price(2.0, 10.0, 0.5).cost(1_000_000, 100_000, 500_000) == pytest.approx(1.0 + 0.25 + 1.0)
    assert Price(2.0, 10.0).cost(1_000_000, 0, 500_000) == pytest.approx(2.0)
    assert Price(2.0, 10.0, 3.0).most(1_000_000, 0) == pytest.approx(3.0)
    assert Price(2.0, 10.0, up_to_input=10).cost(11, 0) is None


def test_a_name_stands_for_its_versions_and_nothing_else() -> None:
    """A dated version costs what its model does; a smaller sister has a price of its own or none."""
    table = PriceTable(KNOWN_PRICES)
    assert table.of("openai:gpt-4o-2024-08-06") == table.of("gpt-4o") == KNOWN_PRICES["openai:gpt-4o"]
    assert table.of("gpt-4o-mini") == KNOWN_PRICES["openai:gpt-4o-mini"]
    assert table.of("openai:gpt-4o-huge") is None
    assert table.of("ollama:gpt-4o") is None
    assert table.unknown({"planner": "gpt-4o", "writer": "x", "verifier": "x"}) == ("x",)


def test_every_known_price_is_one() -> None:
    """No price is negative, and output costs at least as much as input."""
    for name, price in KNOWN_PRICES.items():
        assert 0 < price.input <= price.output, name
        assert price.cached is None or 0 <= price.cached <= price.input, name


def test_known_prices_hold_at_the_provider_s_own_endpoint_only() -> None:
    """Another server of the same format may charge what it likes."""
    assert load_prices(Settings()).of("gpt-4o") is not None
    elsewhere = load_prices(Settings(openai_base_url="http://127.0.0.1:9/v1"))
    assert elsewhere.of("gpt-4o") is None
    assert elsewhere.of("anthropic:claude-sonnet-4-5") is not None


def test_an_operator_tells_prices_inline_or_in_a_file(tmp_path: Path) -> None:
    """They go before the known ones; a local model may cost nothing."""
    file = tmp_path / "prices.json"
    file.write_text(json.dumps(OWN))
    for told_as in (json.dumps(OWN), str(file)):
        table = load_prices(Settings(model_prices=told_as))
        assert table.of("mine") == Price(1.0, 2.0, 0.5)
        assert table.of("ollama:qwen3:8b") == Price(0.0, 0.0)


@pytest.mark.parametrize("given", ['{"a": 1}', '{"a": {"input": -1, "output": 1}}', "{", "/no/such/file.json", "[]"])
def test_prices_that_cannot_be_read_are_refused(given: str) -> None:
    """One sentence that names the setting and shows the form."""
    with pytest.raises(PricesUnreadable, match="LEADLINE_MODEL_PRICES"):
        load_prices(Settings(model_prices=given))


def test_a_limit_on_cost_is_set_by_requests_alone() -> None:
    """No tier has one; it may be any positive amount, can be raised and never lowered by raising."""
    assert "cost_usd" not in told(TIERS[Depth.QUICK])
    limits = limits_for(Depth.QUICK, {"cost_usd": 0.25, "searches": 3})
    assert (limits.cost_usd, limits.searches) == (0.25, 3)
    assert raised(limits, {"cost_usd": 1.5}).cost_usd == 1.5
    for wrong in (0.0, -1.0, 1e9, float("nan")):
        with pytest.raises(Invalid, match="cost_usd"):
            changed(limits, {"cost_usd": wrong})
    with pytest.raises(Invalid, match="cost_usd"):
        raised(limits, {"cost_usd": 0.1})
    with pytest.raises(Invalid, match="no limit on cost_usd"):
        raised(TIERS[Depth.QUICK], {"cost_usd": 1.0})
    with pytest.raises(Invalid, match="searches"):
        changed(limits, {"searches": 2.5})


def test_a_limit_on_cost_needs_known_prices() -> None:
    """The refusal names the models; without a model in play there is nothing to pay."""
    with pytest.raises(Invalid, match="the price of big is not known") as caught:
        check_cost_limit(True, "llm", ("big",), "budget.cost_usd")
    assert caught.value.field == "budget.cost_usd"
    check_cost_limit(True, "extractive", ("big",), "budget.cost_usd")
    check_cost_limit(True, "llm", (), "budget.cost_usd")
    check_cost_limit(False, "llm", ("big",), "budget.cost_usd")
