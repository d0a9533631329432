"""The events of a run: their types and what each carries. The table is the truth, the Redis channel a hint."""

from datetime import datetime
from typing import Any, Literal, get_args

from shared.contracts.base import Stored

EventType = Literal[
    "run_created",
    "status_changed",
    "plan_ready",
    "plan_changed",
    "progress",
    "step_started",
    "step_finished",
    "step_retrying",
    "step_failed",
    "source_updated",
    "evidence_added",
    "contradiction_found",
    "contradiction_resolved",
    "iteration_finished",
    "budget",
    "statement_dropped",
    "report_ready",
    "control",
]
EVENT_TYPES: tuple[str, ...] = get_args(EventType)

CHANNEL = "leadline:runs:{run_id}"


def channel(run_id: str) -> str:
    """Return the Redis channel that carries the run's events."""
    return CHANNEL.format(run_id=run_id)


class NewEvent(Stored):
    """An event before the ledger gave it its sequence number."""

    type: EventType
    payload: dict[str, Any]


class Event(Stored):
    """An event of a run; ``seq`` starts at 1 and has no gap."""

    seq: int
    run_id: str
    at: datetime
    type: str
    payload: dict[str, Any]

    def as_data(self) -> dict[str, Any]:
        """Return the flat object that goes over SSE and Redis."""
        head = {"seq": self.seq, "run_id": self.run_id, "at": self.at.isoformat(), "type": self.type}
        return {**self.payload, **head}
