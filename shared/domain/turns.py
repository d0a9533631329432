"""Turns at something scarce: whoever has had least of it lately comes first, by owner, and among an owner's by run.

A run whose step will take long, by the size of what it reads, gives way to those of its owner that will not, for a
while.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shared.domain.ids import OwnerId, RunId, StepId

HALF_LIFE_S = 60.0
"""After so many seconds half of what somebody has had is forgotten."""

S_PER_MB = 2.0
"""About how long a text of a megabyte takes to read."""

PATIENCE = 20.0
"""For how many times as long as it will take a step gives way: short while a worker is stuck would be not at all."""

_NOTHING = 0.01


@dataclass(frozen=True, slots=True)
class Waiting:
    """A step that waits for its turn."""

    step_id: StepId
    run_id: RunId
    owner_id: OwnerId
    size: int = 0
    """Bytes that are to be read, where that is known."""
    waited_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Shares:
    """The seconds that owners and their runs have had, those of long ago faded."""

    of_owner: Mapping[OwnerId, float] = field(default_factory=dict)
    of_run: Mapping[RunId, float] = field(default_factory=dict)

    def had(self, owner_id: OwnerId, run_id: RunId, seconds: float) -> "Shares":
        """Return the shares after somebody has had so much more, or less where ``seconds`` is negative."""
        owner = max(self.of_owner.get(owner_id, 0.0) + seconds, 0.0)
        run = max(self.of_run.get(run_id, 0.0) + seconds, 0.0)
        return Shares({**self.of_owner, owner_id: owner}, {**self.of_run, run_id: run})

    def after(self, seconds: float) -> "Shares":
        """Return what is left of the shares after so much time."""
        part = 0.5 ** (max(seconds, 0.0) / HALF_LIFE_S)
        owners = {o: s * part for o, s in self.of_owner.items() if s * part > _NOTHING}
        return Shares(owners, {r: s * part for r, s in self.of_run.items() if s * part > _NOTHING})


def in_turn(waiting: Iterable[Waiting], shares: Shares) -> tuple[Waiting, ...]:
    """Return who waits in the order of their turns; among equals the oldest step comes first."""

    def place(item: Waiting) -> tuple[float, float, str]:
        gives_way_s = max(S_PER_MB * item.size / 1e6 - item.waited_s / PATIENCE, 0.0)
        run_s = shares.of_run.get(item.run_id, 0.0) + gives_way_s
        return shares.of_owner.get(item.owner_id, 0.0), run_s, item.step_id

    return tuple(sorted(waiting, key=place))
