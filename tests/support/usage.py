"""What a run used, by its own account and by that of the model's provider."""

from collections import Counter
from typing import Any

from tests.support.model_server import ModelServer

PHASES = {
    "planner": ("PlanProposal",),
    "decision": ("Decision",),
    "extractor": ("Extraction",),
    "writer": ("SectionText", "SummaryText"),
    "verifier": ("Shortening", "Verdicts"),
}
FIGURES = ("calls", "input_tokens", "output_tokens", "cached_tokens")


def usage_of(run: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a run as the provider counts them."""
    usage = run["usage"]
    total = {"calls": usage["model_calls"] + usage["verification_calls"]}
    total |= {name: usage[name] for name in FIGURES if name != "calls"}
    return {"total": total, "by_phase": usage["by_phase"]}


def provider_usage(provider: ModelServer) -> dict[str, Any]:
    """Return the provider's count, by phase."""
    counts = provider.counts()
    by_phase: dict[str, Counter[str]] = {}
    for phase, schemas in PHASES.items():
        counted: Counter[str] = Counter()
        for schema in schemas:
            counted.update(counts["by_schema"].get(schema, {}))
        if counted:
            by_phase[phase] = counted
    return {"total": {name: counts[name] for name in FIGURES}, "by_phase": by_phase}
