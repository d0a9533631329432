"""Measures of a score against labels: area under the curve, balanced accuracy, what passes a threshold."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


def auroc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """Return the chance that a supported statement scores above one that is not, ties counting half."""
    low = sorted(s for s, y in zip(scores, labels, strict=True) if not y)
    high = [s for s, y in zip(scores, labels, strict=True) if y]
    wins = sum((bisect_left(low, s) + bisect_right(low, s)) / 2 for s in high)
    return wins / (len(low) * len(high)) if low and high else 0.5


def balanced(passed: Sequence[bool], labels: Sequence[bool]) -> float:
    """Return the mean of how many supported ones pass and how many others do not."""
    return (rate(passed, labels, of=True) + 1 - rate(passed, labels, of=False)) / 2


def rate(passed: Sequence[bool], labels: Sequence[bool], *, of: bool) -> float:
    """Return which part of the rows with this label passes."""
    those = [p for p, y in zip(passed, labels, strict=True) if y is of]
    return sum(those) / len(those) if those else 0.0
