"""How a bench ends: what it measured beside what it asks for, a result file, and an exit code."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evals.truth.sets import save


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure, and the least that it may be."""

    name: str
    value: float
    least: float

    @property
    def holds(self) -> bool:
        """Whether the figure reaches what is asked for."""
        return self.value >= self.least


def end(name: str, bars: Sequence[Bar], details: Mapping[str, object]) -> None:
    """Print the bars, write the result to `evals/results`, and exit with 1 unless all hold."""
    print()
    for bar in bars:
        print(f"{'ok  ' if bar.holds else 'MISS'}  {bar.name}: {bar.value:.4f} (at least {bar.least:g})")
    figures = {bar.name: {"value": bar.value, "least": bar.least, "holds": bar.holds} for bar in bars}
    save(name, {"figures": figures, "details": details})
    sys.exit(0 if all(bar.holds for bar in bars) else 1)


def ratio(part: float, whole: float) -> float:
    """Return a share, 0 of nothing."""
    return part / whole if whole else 0.0
