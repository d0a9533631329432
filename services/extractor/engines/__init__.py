"""The extractor's part of each engine: which spans of a source bear on which question."""

from collections.abc import Callable, Mapping
from typing import Protocol

from services.extractor.engines.extractive import ExtractiveExtraction
from services.extractor.engines.llm import LlmExtraction
from services.extractor.engines.managed import ManagedExtraction
from services.extractor.engines.spans import ExtractRequest, Picked
from shared.domain.engines import MANAGED
from shared.domain.errors import Permanent
from shared.ports.cpu import Cpu
from shared.ports.model import Model
from shared.ports.reader import Reader


class ExtractEngine(Protocol):
    """Answers the question "extract"."""

    def extract(self, request: ExtractRequest) -> tuple[Picked, ...]:
        """Return the spans of a source that bear on the questions."""
        ...

    def most_chars(self, request: ExtractRequest) -> int:
        """Return how many characters of a long source are looked at, those that rank best for the questions."""
        ...


ENGINES: Mapping[str, Callable[[Cpu, Model, Reader | None], ExtractEngine]] = {
    "baseline": lambda cpu, _, reader: ExtractiveExtraction(cpu, reader),
    "extractive": lambda cpu, _, reader: ExtractiveExtraction(cpu, reader),
    "llm": lambda cpu, model, _: LlmExtraction(cpu, model),
    **dict.fromkeys(MANAGED, lambda cpu, _, __: ManagedExtraction(cpu)),
}
"""The engines that there are, by name; each is made with the processes, the model and the reader that it may use."""


def engine_of(name: str, cpu: Cpu, model: Model, reader: Reader | None = None) -> ExtractEngine:
    """Return the engine of this name; raise `Permanent` with the known names."""
    try:
        return ENGINES[name](cpu, model, reader)
    except KeyError:
        known = ", ".join(sorted(ENGINES))
        raise Permanent("unknown_engine", f"There is no engine {name}; this worker has: {known}.") from None
