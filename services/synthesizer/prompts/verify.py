"""The call "verify", version 2: whether passages support the sentences that cite them."""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from services.synthesizer.prompts.cards import card
from shared.contracts.evidence import Evidence, Source
from shared.guards.envelope import RULE, envelope_for

VERSION = "verify/2"

INSTRUCTIONS = f"""\
You check sentences against passages. Each sentence comes with the passages that it cites. Decide for each whether its
passages, taken together, say what it says. Judge by the passages alone: what you know does not count, and a sentence
may be true and yet not supported.

- "supported": everything in the sentence is stated by its passages or follows from them at once.
- "partially_supported": a part of it is, another part is not.
- "unsupported": nothing of it is, or a passage says otherwise.
A sentence is not supported when it speaks of another thing, time, place or amount than its passages, when it turns a
plan, estimate or claim into a fact, or when it leaves out a "not" or "only" that changes the meaning. The words in
brackets before a passage tell where it stands and may show what it speaks of. What a sentence gives as computed was
computed again and is right; judge whether it is what the sentence makes of it. A conclusion is supported when its
passages bear it out as far as it goes.

- passages: the numbers of those passages that are needed to support the sentence; leave out those that add nothing.

{RULE}
"""


class SentenceVerdict(BaseModel):
    """The verdict on one sentence."""

    sentence: int
    verdict: Literal["supported", "partially_supported", "unsupported"]
    passages: list[int] = Field(default_factory=list)


class Verdicts(BaseModel):
    """The answer to this call."""

    verdicts: list[SentenceVerdict]


def verify_input(
    cases: Sequence[tuple[str, Sequence[Evidence]]], sources: Mapping[str, Source], instructions: str = INSTRUCTIONS
) -> str:
    """Return the data of the call; sentences are numbered from 1, and so are all passages together."""
    blocks: list[str] = []
    number = 0
    for place, (text, evidence) in enumerate(cases, start=1):
        lines = [f"Sentence {place}: {' '.join(text.split())}"]
        for item in evidence:
            number += 1
            lines.append(card(number, item, sources))
        blocks.append("\n".join(lines))
    shown = "\n\n".join(blocks)
    return f"Sentences: {len(cases)}\n\n{envelope_for(instructions, shown).wrap(shown)}\n"
