"""What calls of models cost. A price that nobody has told is unknown, and stays so: it is never guessed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.domain.model_names import is_served_as, parse_model_name

TOKENS = 1_000_000
"""Prices are in US dollars for so many tokens."""


@dataclass(frozen=True, slots=True)
class Price:
    """Prices of a model; without one of its own, input from the cache costs what any input does.

    A call with more input than ``up_to_input`` tokens has another price, which is not known here.
    """

    input: float
    output: float
    cached: float | None = None
    up_to_input: int | None = None

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float | None:
        """Return what a call costs in US dollars; ``cached_tokens`` are a part of ``input_tokens``."""
        if self.up_to_input is not None and input_tokens > self.up_to_input:
            return None
        cached = min(cached_tokens, input_tokens)
        from_cache = cached * (self.input if self.cached is None else self.cached)
        return (from_cache + (input_tokens - cached) * self.input + output_tokens * self.output) / TOKENS

    def most(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return the most that a call of this size can cost, whatever comes from a cache."""
        dearest = max(self.input, self.cached or 0.0)
        return Price(dearest, self.output, None, self.up_to_input).cost(input_tokens, output_tokens)


@dataclass(frozen=True, slots=True)
class PriceTable:
    """The prices that hold: by ``provider:model``; a name also stands for its dated versions."""

    prices: Mapping[str, Price] = field(default_factory=dict)

    def of(self, model: str) -> Price | None:
        """Return the price of a model by the name that it is set or served by; None when it is unknown."""
        name = str(parse_model_name(model))
        if name in self.prices:
            return self.prices[name]
        provider, _, bare = name.partition(":")
        versions = (key for key in self.prices if key.startswith(f"{provider}:") and is_served_as(key, bare))
        return next((self.prices[key] for key in sorted(versions, key=len, reverse=True)), None)

    def unknown(self, models: Mapping[str, str]) -> tuple[str, ...]:
        """Return the models, of those of the phases, whose price is not known."""
        return tuple(dict.fromkeys(name for name in models.values() if self.of(name) is None))
