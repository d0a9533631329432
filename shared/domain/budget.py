"""Budgets: the tiers, what a request may change, and what is left."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from shared.domain.errors import Invalid


class Depth(StrEnum):
    """The effort tier of a run."""

    QUICK = "quick"
    STANDARD = "standard"
    THOROUGH = "thorough"


@dataclass(frozen=True, slots=True)
class Limits:
    """The hard limits of a run; times in seconds, texts in characters."""

    iterations: int
    searches: int
    fetches: int
    elapsed_s: int
    parallel_reads: int
    parallel_searches: int
    source_chars: int
    run_chars: int
    model_calls: int
    verification_calls: int
    input_tokens: int
    output_tokens: int
    straggler_wait_s: int
    """How long an iteration waits for its slow sources once everything else in it has ended."""
    cost_usd: float | None = None
    """What calls of models may cost in all, in US dollars; None sets no limit."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run has used of its limits."""

    iterations: int = 0
    searches: int = 0
    fetches: int = 0
    elapsed_s: float = 0.0
    run_chars: int = 0
    model_calls: int = 0
    verification_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    """None as long as the price of any call is unknown."""


COST = "cost_usd"
"""The limit that no tier sets and that only a request can."""

LONGEST_COST_USD = 1_000_000.0

TIERS: dict[Depth, Limits] = {
    Depth.QUICK: Limits(6, 8, 10, 600, 4, 2, 200_000, 1_500_000, 30, 30, 300_000, 50_000, 15),
    Depth.STANDARD: Limits(12, 18, 24, 1200, 6, 3, 200_000, 3_000_000, 60, 80, 700_000, 100_000, 20),
    Depth.THOROUGH: Limits(20, 32, 45, 2700, 8, 4, 200_000, 6_000_000, 110, 160, 1_500_000, 180_000, 30),
}
"""Hard limits by tier (DESIGN §4)."""

OPERATOR_MAXIMA = TIERS[Depth.THOROUGH]
"""What a request may raise a limit to unless the operator says otherwise."""

SYNTHESIS_SHARE = 0.2
"""The part of the elapsed limit that is kept for writing and checking."""


def limits_for(depth: Depth, asked: Mapping[str, float], maxima: Limits = OPERATOR_MAXIMA) -> Limits:
    """Return the tier's limits with ``asked`` put in; raise `Invalid` past the operator's maxima or below 1."""
    return changed(TIERS[depth], asked, maxima)


def told(limits: Limits) -> dict[str, float]:
    """Return the limits that are set, by name."""
    return {name: value for name, value in asdict(limits).items() if value is not None}


def changed(limits: Limits, asked: Mapping[str, float], maxima: Limits = OPERATOR_MAXIMA) -> Limits:
    """Return the limits with ``asked`` put in; raise `Invalid` past the operator's maxima or below 1."""
    known = asdict(limits)
    for name, value in asked.items():
        if name not in known:
            raise Invalid(f"There is no limit called {name}; known: {', '.join(known)}.", field=f"budget.{name}")
        if name == COST:
            _check_cost(value, above=0.0, field=f"budget.{name}")
            continue
        top = getattr(maxima, name)
        if not 1 <= value <= top or value != int(value):
            raise Invalid(f"The limit {name} must lie between 1 and {top}, not {value}.", field=f"budget.{name}")
    return _replaced(limits, asked)


def _check_cost(value: float, *, above: float, field: str) -> None:
    if not above < value <= LONGEST_COST_USD:
        least = f"more than {above:g}" if above else "more than 0"
        detail = f"The limit cost_usd must be {least} and at most {LONGEST_COST_USD:,.0f} US dollars, not {value:g}."
        raise Invalid(detail, field=field)


def stored_limits(depth: Depth, stored: Mapping[str, Any]) -> Limits:
    """Return limits as any version stored them: unknown names are dropped, missing ones are the tier's."""
    tier = asdict(TIERS[depth])
    return Limits(**{name: stored.get(name, value) for name, value in tier.items()})


def raised(limits: Limits, asked: Mapping[str, float], maxima: Limits = OPERATOR_MAXIMA) -> Limits:
    """Return the limits with some of them raised; raise `Invalid` for unknown, lower or too high ones."""
    known = asdict(limits)
    for name, value in asked.items():
        if name not in known:
            raise Invalid(f"There is no limit called {name}; known: {', '.join(known)}.", field=f"limits.{name}")
        if name == COST:
            if limits.cost_usd is None:
                raise Invalid("The run has no limit on cost_usd that could be raised.", field=f"limits.{name}")
            _check_cost(value, above=limits.cost_usd, field=f"limits.{name}")
            continue
        top = max(getattr(maxima, name), known[name])
        if value != int(value) or not known[name] <= value <= top:
            raise Invalid(
                f"The limit {name} can be raised from {known[name]} to at most {top}, not to {value}.",
                field=f"limits.{name}",
            )
    if not asked:
        raise Invalid(f"Name the limits to raise: {', '.join(known)}.", field="limits")
    return _replaced(limits, asked)


def _replaced(limits: Limits, asked: Mapping[str, float]) -> Limits:
    whole = {name: value if name == COST else int(value) for name, value in asked.items()}
    return replace(limits, **whole)  # type: ignore[arg-type]  # each is of the type of its field by now


def research_deadline_s(limits: Limits) -> float:
    """Return the seconds after admission at which research stops so that synthesis fits."""
    return limits.elapsed_s * (1 - SYNTHESIS_SHARE)
