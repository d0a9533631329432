"""What a model is asked for: five phases, each of which may have a model of its own."""

from enum import StrEnum


class Phase(StrEnum):
    """What a call to a model is for."""

    PLANNER = "planner"
    DECISION = "decision"
    EXTRACTOR = "extractor"
    WRITER = "writer"
    VERIFIER = "verifier"


RESEARCH_PHASES = frozenset({Phase.PLANNER, Phase.DECISION, Phase.EXTRACTOR})
"""The phases that leave the rest of a limit to writing and checking."""
