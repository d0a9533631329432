"""What a transaction has to say: events in gapless order, and the wake-ups to send once it has committed."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from shared.contracts.events import Event, EventType
from shared.db.tables import EventRow, RunRow
from shared.domain.ids import OwnerId, StepId
from shared.domain.states import StepKind
from shared.ports.ledger import Committed, WakeUp

WAKES_PER_COMMIT = 32
"""Wake-ups that a commit sends; more are left to the sweeper, which sends in fair order and never too many at once."""

SENT_S = 1.0
"""How long the sweeper leaves a step alone that is woken right after the commit; after that the wake-up seems lost."""


class Outbox:
    """Events and wake-ups of one run in one transaction; the caller holds the run's row lock."""

    def __init__(self, session: Session, run: RunRow, now: datetime) -> None:
        self._session, self._run, self.now = session, run, now
        self._events: list[Event] = []
        self._wake_ups: list[WakeUp] = []
        self._admit: OwnerId | None = None

    def event(self, event_type: EventType, /, **payload: Any) -> None:
        """Append an event under the run's next sequence number."""
        self._run.last_seq += 1
        seq = self._run.last_seq
        self._session.add(EventRow(run_id=self._run.id, seq=seq, type=event_type, payload=payload, at=self.now))
        self._events.append(Event(seq=seq, run_id=self._run.id, at=self.now, type=event_type, payload=payload))

    @property
    def wake_at(self) -> datetime:
        """When the sweeper is to wake a step that is given to `wake` now."""
        return self.now + timedelta(seconds=SENT_S) if len(self._wake_ups) < WAKES_PER_COMMIT else self.now

    def wake(self, step_id: StepId, kind: StepKind) -> None:
        """Remember to wake the worker of a step, unless the commit has enough to send."""
        if len(self._wake_ups) < WAKES_PER_COMMIT:
            self._wake_ups.append(WakeUp(step_id, kind))

    def admit(self, owner_id: OwnerId) -> None:
        """Remember that a queued run of the owner may start."""
        self._admit = owner_id

    def committed(self) -> Committed:
        """Return what may be sent after the commit."""
        return Committed(tuple(self._wake_ups), tuple(self._events), self._admit)
