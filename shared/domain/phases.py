"""What a model is asked for: five phases, each of which may have a model of its own, and a provider's own job."""

from enum import StrEnum


class Phase(StrEnum):
    """What a call to a model is for."""

    PLANNER = "planner"
    DECISION = "decision"
    EXTRACTOR = "extractor"
    WRITER = "writer"
    VERIFIER = "verifier"
    MANAGED = "managed"
    """A provider's own research job: no model of ours is asked."""


MODEL_PHASES = tuple(phase for phase in Phase if phase is not Phase.MANAGED)
"""The phases in which a model is asked."""

RESEARCH_PHASES = frozenset({Phase.PLANNER, Phase.DECISION, Phase.EXTRACTOR, Phase.MANAGED})
"""The phases that leave the rest of a limit to writing and checking."""
