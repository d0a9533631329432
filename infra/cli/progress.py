"""Events of a run as short sentences, and what is found so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.contracts.events import Event

STATUSES: Mapping[str, str] = {
    "planning": "Planning",
    "awaiting_plan_approval": "The plan is ready",
    "queued": "Waiting for its turn",
    "researching": "Researching",
    "synthesizing": "Writing the report",
    "completed": "Completed",
    "cancelled": "Cancelled",
    "failed": "Failed",
    "budget_exhausted": "Ended before everything was covered",
}
PHASES: Mapping[str, str] = {
    "planning": "Planning",
    "searching": "Searching",
    "reviewing_sources": "Reviewing sources",
    "reading_source": "Reading sources",
    "extracting_evidence": "Extracting evidence",
    "comparing_evidence": "Comparing evidence",
    "synthesizing": "Writing the report",
    "verifying": "Verifying statements",
}
_FIRST_WORDS = {"step_retrying": "Will be tried again", "step_failed": "Given up", "step_started": "Begun"}


@dataclass(slots=True)
class Tally:
    """What a run has come to so far, counted from its events."""

    phase: str = "Planning"
    sources: int = 0
    evidence: int = 0
    dropped: int = 0
    notes: list[str] = field(default_factory=list)
    """What everybody should read; taken out by whoever shows it."""
    _passed: set[str] = field(default_factory=set)

    def add(self, event: Event) -> None:
        """Count an event."""
        payload = event.payload
        if event.type == "status_changed":
            self.phase = STATUSES.get(payload.get("to", ""), self.phase)
        elif event.type == "progress":
            self.phase = PHASES.get(payload.get("phase", ""), self.phase)
        elif event.type == "source_updated" and payload.get("status") == "fetched":
            self.sources += 1
        elif event.type == "evidence_added":
            self.evidence += int(payload.get("count", 0))
        elif event.type == "statement_dropped":
            self.dropped += 1
        elif event.type in ("budget", "step_failed"):
            self.notes.append(sentence(event))

    def news(self, event: Event) -> str | None:
        """Return a line when the event began a phase that was not there before, or ended an iteration."""
        if event.type == "iteration_finished":
            return f"{self.line()} after iteration {event.payload.get('iteration')}"
        if self.phase in self._passed:
            return None
        self._passed.add(self.phase)
        return self.phase

    def line(self) -> str:
        """Return the present state in a line."""
        found = ((self.sources, "source", "sources"), (self.evidence, "piece of evidence", "pieces of evidence"))
        counts = [f"{count} {one if count == 1 else many}" for count, one, many in found if count]
        return ", ".join([self.phase, *counts])


def sentence(event: Event) -> str:
    """Return what an event says, for people."""
    payload = event.payload
    if event.type == "status_changed":
        reason = f" ({payload['reason']})" if payload.get("reason") else ""
        return f"{STATUSES.get(str(payload.get('to')), payload.get('to'))}{reason}"
    if event.type == "progress":
        return str(payload.get("message") or PHASES.get(str(payload.get("phase")), payload.get("phase")))
    if event.type == "source_updated":
        name = payload.get("title") or payload.get("domain") or payload.get("source_id")
        return f"{str(payload.get('status')).capitalize()}: {name}{_because(payload)}"
    if event.type == "evidence_added":
        return f"{payload.get('count')} found for {', '.join(payload.get('question_ids', ()))}"
    if event.type == "budget":
        return f"{payload.get('used')} of {payload.get('of')} {payload.get('limit')} used"
    if event.type.startswith("step_"):
        first = _FIRST_WORDS.get(event.type, "Done")
        return f"{first}: {payload.get('kind')}" + (f", {payload['summary']}" if payload.get("summary") else "")
    return ", ".join(f"{name} {_short(value)}" for name, value in payload.items() if value is not None)


def _because(payload: Mapping[str, Any]) -> str:
    return f" ({payload['reason']})" if payload.get("reason") else ""


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
