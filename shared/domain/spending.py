"""Spending on a model: the worst case of a call, and whether it fits into what a run has left.

A call is reserved before it is made and settled after, so the sum of what was used and what is under way never passes a
limit of calls or of output. The size of an input in tokens is only known afterwards: it is reserved by an upper bound,
and an overrun is booked and stops the next call.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from shared.domain.budget import COST, Limits

BYTES_PER_TOKEN = 2
"""Every token of an input stands for at least this many bytes of UTF-8. Byte-pair vocabularies take about 4 for
English, 3 for Chinese and 2 for digits and code."""

MESSAGE_TOKENS = 16
"""What a message costs beyond its text, at most."""

CUT_SHARE = 0.9
"""A server that reports a smaller share than this of the tokens that a prompt has at least did not read all of it."""

SHORT_PROMPT = 256
"""Prompts of fewer words are never taken for cut: what a server counts of so few says little."""

_CHARS_PER_WIDE_TOKEN = 3
_WIDE = re.compile(r"[\u2e80-\U0003ffff]")
"""Signs of scripts that set no spaces between words; no vocabulary has many tokens of more than three of them."""

SYNTHESIS_SHARES = {"model_calls": 0.25, "input_tokens": 0.3, "output_tokens": 0.4, COST: 0.35}
"""The part of each limit that research leaves to writing; verification has a limit of calls of its own."""


@dataclass(frozen=True, slots=True)
class Spend:
    """An amount of model use, by the names of the limits."""

    model_calls: int = 0
    verification_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: "Spend") -> "Spend":
        """Return both together."""
        return Spend(*(getattr(self, name) + getattr(other, name) for name in SPEND_LIMITS))


SPEND_LIMITS: tuple[str, ...] = ("model_calls", "verification_calls", "input_tokens", "output_tokens", COST)
"""The limits that bound model use."""


@dataclass(frozen=True, slots=True)
class NoRoom:
    """A call does not fit: for good, or only until calls under way are settled."""

    limit: str
    most: float
    for_now: bool


def worst_case(texts: Iterable[str], max_output_tokens: int, *, verifies: bool) -> Spend:
    """Return the most that a call with these messages can use."""
    bound = sum(-(-len(text.encode()) // BYTES_PER_TOKEN) + MESSAGE_TOKENS for text in texts)
    return Spend(int(not verifies), int(verifies), bound, max_output_tokens)


def least_tokens(texts: Iterable[str]) -> int:
    """Return how many tokens these texts make at least, 0 where they are too short to tell: one for each word."""
    words = wide = 0
    for text in texts:
        narrow, signs = _WIDE.subn(" ", text)
        words, wide = words + len(narrow.split()), wide + signs
    least = words + wide // _CHARS_PER_WIDE_TOKEN
    return least if least >= SHORT_PROMPT else 0


def priced(spend: Spend, cost_usd: float) -> Spend:
    """Return the amount with what it costs."""
    return replace(spend, cost_usd=cost_usd)


def room(limits: Limits, settled: Spend, under_way: Spend, wanted: Spend, *, research: bool) -> NoRoom | None:
    """Return why a call does not fit, or None; research may use each limit only up to what synthesis needs of it."""
    tight: NoRoom | None = None
    for name in SPEND_LIMITS:
        most = allowance(limits, name, research=research)
        used, wants = getattr(settled, name), getattr(wanted, name)
        if wants and used + wants > most:
            return NoRoom(name, most, for_now=False)
        if wants and tight is None and used + getattr(under_way, name) + wants > most:
            tight = NoRoom(name, most, for_now=True)
    return tight


def allowance(limits: Limits, name: str, *, research: bool) -> float:
    """Return how much of a limit may be used: all of it, or what research leaves for synthesis to have its share."""
    most: float | None = getattr(limits, name)
    if most is None:
        return math.inf
    kept = most * SYNTHESIS_SHARES.get(name, 0.0) if research else 0.0
    return most - kept if name == COST else most - int(kept)
