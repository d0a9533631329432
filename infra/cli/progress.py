"""Events of a run as short sentences, and what is found so far."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.contracts.events import Event

STATUSES: Mapping[str, str] = {
    "planning": "Planning",
    "awaiting_plan_approval": "The plan is ready",
    "queued": "Waiting for its turn",
    "researching": "Researching",
    "synthesizing": "Writing the report",
    "paused": "Paused",
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
LONGEST_VALUE = 80
_FIRST_WORDS: Mapping[str, str] = {
    "step_started": "Begun",
    "step_finished": "Done",
    "step_retrying": "Will be tried again",
    "step_failed": "Given up",
}


@dataclass(slots=True)
class Tally:
    """What a run has come to so far, counted from its events."""

    phase: str = "Planning"
    sources: set[str] = field(default_factory=set)
    """Ids of those that were fetched."""
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
            if payload.get("to") == "paused":
                why = f"`leadline show {event.run_id}` says why"
                self.notes.append(f"{sentence(event)}: {why}, `leadline resume {event.run_id}` lets it go on.")
        elif event.type == "progress":
            self.phase = PHASES.get(payload.get("phase", ""), self.phase)
        elif event.type == "source_updated" and payload.get("status") == "fetched":
            self.sources.add(str(payload.get("source_id")))
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
        found = ((len(self.sources), "source", "sources"), (self.evidence, "piece of evidence", "pieces of evidence"))
        counts = [f"{count} {one if count == 1 else many}" for count, one, many in found if count]
        return ", ".join([self.phase, *counts])


def sentence(event: Event) -> str:
    """Return what an event says, for people."""
    say = _SENTENCES.get(event.type)
    if say is None:
        return ", ".join(f"{name} {_short(value)}" for name, value in event.payload.items() if value is not None)
    return say(event)


def _status(event: Event) -> str:
    status = str(event.payload.get("to"))
    return f"{STATUSES.get(status, status)}{_because(event)}"


def _progress(event: Event) -> str:
    phase = str(event.payload.get("phase"))
    return str(event.payload.get("message") or PHASES.get(phase, phase))


def _source(event: Event) -> str:
    payload = event.payload
    name = payload.get("title") or payload.get("domain") or payload.get("source_id")
    return f"{str(payload.get('status')).capitalize()}: {name}{_because(event)}"


def _evidence(event: Event) -> str:
    return f"{event.payload.get('count')} found for {', '.join(event.payload.get('question_ids', ()))}"


def _budget(event: Event) -> str:
    return f"{event.payload.get('used')} of {event.payload.get('of')} {event.payload.get('limit')} used"


def _step(event: Event) -> str:
    summary = event.payload.get("summary")
    return f"{_FIRST_WORDS[event.type]}: {event.payload.get('kind')}" + (f", {summary}" if summary else "")


def _because(event: Event) -> str:
    reason = event.payload.get("reason")
    return f" ({reason})" if reason else ""


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


_SENTENCES: Mapping[str, Callable[[Event], str]] = {
    "status_changed": _status,
    "progress": _progress,
    "source_updated": _source,
    "evidence_added": _evidence,
    "budget": _budget,
    **dict.fromkeys(_FIRST_WORDS, _step),
}
