"""Google's Interactions API: an agent researches in the background; its last output holds the report with citations.

Shapes as in google-genai 3.6 (``interactions``): stretches are counted in bytes of UTF-8, a citation names the stretch
that it is for. Where an answer has no ``steps``, the ``outputs`` of the API's first version are read.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from shared.adapters.model.job_answers import line, number_of, objects_in, reason_in, text_of
from shared.adapters.model.jobs import JobWire
from shared.domain.managed import JobState
from shared.ports.managed import JobRequest, JobSeen, Mark
from shared.ports.model import TokenUsage

_STATES = {
    "completed": JobState.COMPLETED,
    "failed": JobState.FAILED,
    "cancelled": JobState.CANCELLED,
    "incomplete": JobState.INCOMPLETE,
    "budget_exceeded": JobState.INCOMPLETE,
    "requires_action": JobState.INCOMPLETE,
    "requires_continuation": JobState.INCOMPLETE,
}
"""Any other status is one of a job that goes on."""


def _headers(key: str) -> Mapping[str, str]:
    return {"x-goog-api-key": key}


def _body(request: JobRequest, agent: str) -> Mapping[str, Any]:
    body = {"agent": agent, "input": f"{request.instructions}\n\n{request.input}", "background": True, "store": True}
    if agent.startswith("deep-research"):
        body["agent_config"] = {"type": "deep-research", "visualization": "off"}
    return body


def _read(data: Mapping[str, Any]) -> JobSeen:
    state = _STATES.get(text_of(data, "status"), JobState.RUNNING)
    steps = list(objects_in(data.get("steps")))
    text, marks = _report(data, steps)
    return JobSeen(
        handle=text_of(data, "id"),
        state=state,
        text=text,
        marks=tuple(marks),
        usage=_usage(data.get("usage")),
        served_model=text_of(data, "agent") or text_of(data, "model") or None,
        reason=_reason(data, state),
        searches=sum(text_of(step, "type") == "google_search_call" for step in steps),
    )


def _report(data: Mapping[str, Any], steps: list[Mapping[str, Any]]) -> tuple[str, list[Mark]]:
    """Return the text blocks of the last output that has any, as one text with its marks."""
    outputs = [list(_texts(step.get("content"))) for step in steps if text_of(step, "type") == "model_output"]
    blocks = next((found for found in reversed(outputs) if found), None) or list(_texts(data.get("outputs")))
    text, marks = "", []
    for block in blocks:
        told = text_of(block, "text")
        marks += [_moved(mark, len(text)) for mark in _marks(block, told)]
        text += told
    return text, marks


def _texts(content: object) -> Iterator[Mapping[str, Any]]:
    return (block for block in objects_in(content) if text_of(block, "type") in ("text", "") and text_of(block, "text"))


def _marks(block: Mapping[str, Any], text: str) -> Iterator[Mark]:
    data = text.encode("utf-8", "surrogatepass")
    for note in objects_in(block.get("annotations")):
        url = text_of(note, "url") or text_of(note, "source")
        if url and text_of(note, "type") in ("url_citation", ""):
            start, end = number_of(note, "start_index"), number_of(note, "end_index")
            yield Mark(_place(data, start), _place(data, max(start, end)), url, text_of(note, "title") or None)


def _place(data: bytes, offset: int) -> int:
    """Return how many code points stand before a place that is counted in bytes."""
    return len(data[:offset].decode("utf-8", "ignore"))


def _moved(mark: Mark, by: int) -> Mark:
    return Mark(mark.start + by, mark.end + by, mark.url, mark.title)


def _usage(data: object) -> TokenUsage | None:
    """Return the tokens: what tools have read is input, reasoning is output."""
    given = number_of(data, "total_input_tokens") + number_of(data, "total_tool_use_tokens")
    written = number_of(data, "total_output_tokens") + number_of(data, "total_thought_tokens")
    return TokenUsage(given, written, number_of(data, "total_cached_tokens")) if given or written else None


def _reason(data: Mapping[str, Any], state: JobState) -> str | None:
    told = reason_in(data.get("errors")) or reason_in(data.get("error"))
    if told is None and state is JobState.INCOMPLETE:
        told = f"it ended as {text_of(data, 'status')}"
    return line(told) if told else None


WIRE = JobWire("/v1beta/interactions", _headers, _body, _read)
