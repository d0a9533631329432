"""A ledger in memory that takes down what it is asked to do, and fails as told."""

import threading
from collections.abc import Collection
from dataclasses import dataclass, field

from shared.domain.ids import OwnerId, StepId
from shared.domain.states import StepKind
from shared.domain.turns import Waiting
from shared.ports.ledger import Committed, Lease, Outcome


@dataclass
class MemoryLedger:
    """See `shared.ports.ledger.Ledger`; every lease in ``leases`` can be claimed once.

    ``broken`` maps a method to the errors that its next calls raise.
    """

    leases: dict[StepId, Lease] = field(default_factory=dict)
    broken: dict[str, list[Exception]] = field(default_factory=dict)
    calls: list[tuple[str, StepId, object]] = field(default_factory=list)
    lost: set[StepId] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Let calls be waited for."""
        self._called = threading.Condition()

    def claim(self, step_id: StepId, kinds: Collection[StepKind], worker: str) -> tuple[Lease, Committed] | None:
        """Return the lease of the step, once."""
        self._note("claim", step_id, worker)
        lease = self.leases.pop(step_id, None)
        return (lease, Committed()) if lease is not None and lease.kind in kinds else None

    def waiting(self, kinds: Collection[StepKind]) -> tuple[Waiting, ...]:
        """Return every lease that can be claimed, one a run."""
        known = sorted(self.leases.items())
        due = {
            lease.run_id: Waiting(i, lease.run_id, lease.owner_id)
            for i, lease in reversed(known)
            if lease.kind in kinds
        }
        return tuple(due.values())

    def heartbeat(self, lease: Lease) -> bool:
        """Tell whether the lease is not among those lost."""
        self._note("heartbeat", lease.step_id, None)
        return lease.step_id not in self.lost

    def commit(self, lease: Lease, outcome: Outcome) -> Committed | None:
        """Take the outcome down."""
        self._note("commit", lease.step_id, outcome)
        return None if lease.step_id in self.lost else Committed()

    def fail(self, lease: Lease, error: Exception) -> Committed | None:
        """Take the error down."""
        self._note("fail", lease.step_id, error)
        return None if lease.step_id in self.lost else Committed()

    def hand_back(self, lease: Lease) -> Committed | None:
        """Take down that the step was given back."""
        self._note("hand_back", lease.step_id, None)
        return Committed()

    def admit(self, owner_id: OwnerId) -> Committed:
        """Start nothing."""
        return Committed()

    def of(self, method: str) -> list[tuple[StepId, object]]:
        """Return the calls of a method, oldest first."""
        with self._called:
            return [(step_id, given) for name, step_id, given in self.calls if name == method]

    def wait_for(self, method: str, count: int, seconds: float = 20.0) -> bool:
        """Wait until a method was called so often; False when it was not in time."""
        with self._called:
            return self._called.wait_for(lambda: sum(c[0] == method for c in self.calls) >= count, seconds)

    def _note(self, method: str, step_id: StepId, given: object) -> None:
        with self._called:
            self.calls.append((method, step_id, given))
            self._called.notify_all()
            errors = self.broken.get(method)
        if errors:
            raise errors.pop(0)
