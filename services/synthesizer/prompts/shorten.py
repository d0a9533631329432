"""The call "shorten", version 1: from sentences that their passages support in part to that part."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from services.synthesizer.prompts.verify import verify_input
from shared.contracts.evidence import Evidence, Source
from shared.guards.envelope import RULE

VERSION = "shorten/1"

INSTRUCTIONS = f"""\
You shorten sentences of a report. Each comes with the passages that it cites, and they support only a part of it.
Give for each sentence the part that its passages state, as one complete sentence that is understood by itself.

- Leave out; never add, soften, round or conclude. Keep figures, dates, units and names as the passages have them.
- text is empty when nothing of the sentence is stated by its passages.

{RULE}
"""


class Shortened(BaseModel):
    """What is left of a sentence."""

    sentence: int
    text: str = ""


class Shortening(BaseModel):
    """The answer to this call."""

    sentences: list[Shortened]


def shorten_input(cases: Sequence[tuple[str, Sequence[Evidence]]], sources: Mapping[str, Source]) -> str:
    """Return the data of the call: the same as that of "verify"."""
    return verify_input(cases, sources, INSTRUCTIONS)
