"""What engines have in common, by name."""

NO_MODEL = frozenset({"extractive"})
"""Engines that ask no model: words are weighed by how common they are, every verdict can be repeated, nothing costs."""

MANAGED = {"managed:google": "google", "managed:openai": "openai"}
"""Engines that have a provider's own research job do the work, and the provider of each."""


def is_managed(engine: str) -> bool:
    """Tell whether a provider's own job does the research."""
    return engine in MANAGED
