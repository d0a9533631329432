"""Turns at something scarce: whoever has had least of it lately comes first, by owner, and among an owner's by run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shared.domain.ids import OwnerId, RunId, StepId

HALF_LIFE_S = 60.0
"""After so many seconds half of what somebody has had is forgotten."""

_NOTHING = 0.01


@dataclass(frozen=True, slots=True)
class Waiting:
    """A step that waits for its turn."""

    step_id: StepId
    run_id: RunId
    owner_id: OwnerId


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
        return shares.of_owner.get(item.owner_id, 0.0), shares.of_run.get(item.run_id, 0.0), item.step_id

    return tuple(sorted(waiting, key=place))
