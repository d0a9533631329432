"""The extractor's part of each engine: which spans of a source bear on which question."""

from collections.abc import Callable

from services.extractor.engines.extractive import extract_spans
from services.extractor.engines.spans import ExtractRequest, Picked
from shared.domain.errors import Permanent

ExtractEngine = Callable[[ExtractRequest], tuple[Picked, ...]]

EXTRACT_ENGINES: dict[str, ExtractEngine] = {"extractive": extract_spans}
"""The engines that there are, by name; each a module-level function, so that a subprocess can run it."""


def engine_of(name: str) -> ExtractEngine:
    """Return the engine of this name; raise `Permanent` with the known names."""
    try:
        return EXTRACT_ENGINES[name]
    except KeyError:
        known = ", ".join(sorted(EXTRACT_ENGINES))
        raise Permanent("unknown_engine", f"There is no engine {name}; this worker has: {known}.") from None
