"""OpenAI's Responses API in background mode: a research model searches; its messages hold the report with citations.

Shapes as in openai 3.57 (``responses``): a citation marks the link in the text that stands for it, right after what it
is about, and is counted in characters.
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
}
"""Any other status is one of a job that goes on."""


_LINK_BEGINS = ("(", "[", "【")


def _headers(key: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _body(request: JobRequest, agent: str) -> Mapping[str, Any]:
    return {
        "model": agent,
        "instructions": request.instructions,
        "input": request.input,
        "tools": [{"type": "web_search_preview"}],
        "max_output_tokens": request.max_output_tokens,
        "metadata": {"leadline_run": request.label},
        "background": True,
        "store": True,
    }


def _read(data: Mapping[str, Any]) -> JobSeen:
    state = _STATES.get(text_of(data, "status"), JobState.RUNNING)
    output = list(objects_in(data.get("output")))
    text, marks = _report(output)
    return JobSeen(
        handle=text_of(data, "id"),
        state=state,
        text=text,
        marks=tuple(marks),
        usage=_usage(data.get("usage")),
        served_model=text_of(data, "model") or None,
        reason=_reason(data, state),
        searches=sum(text_of(item, "type") == "web_search_call" for item in output),
    )


def _report(output: list[Mapping[str, Any]]) -> tuple[str, list[Mark]]:
    """Return the text of the last message that has any, without the links that stand for its citations."""
    messages = [list(_texts(item)) for item in output if text_of(item, "type") == "message"]
    text, marks = "", []
    for part in next((found for found in reversed(messages) if found), []):
        told, found = _without_links(text_of(part, "text"), part)
        marks += [Mark(m.start + len(text), m.end + len(text), m.url, m.title) for m in found]
        text += told
    return text, marks


def _texts(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    parts = objects_in(message.get("content"))
    return (part for part in parts if text_of(part, "type") == "output_text" and text_of(part, "text"))


def _without_links(text: str, part: Mapping[str, Any]) -> tuple[str, list[Mark]]:
    """Cut the links out of a text; each leaves an empty mark where it stood. A marked stretch of prose stays."""
    kept, marks, done = "", [], 0
    notes = (n for n in objects_in(part.get("annotations")) if text_of(n, "type") == "url_citation")
    for note in sorted(notes, key=lambda n: number_of(n, "start_index")):
        start, end = number_of(note, "start_index"), number_of(note, "end_index")
        link = text[start:end].lstrip()[:1] in _LINK_BEGINS
        if done <= start < end <= len(text):
            kept += text[done:start] if link else text[done:end]
            done = end
        first = len(kept) if link else max(len(kept) - (end - start), 0)
        if text_of(note, "url"):
            marks.append(Mark(first, len(kept), text_of(note, "url"), text_of(note, "title") or None))
    return kept + text[done:], marks


def _usage(data: object) -> TokenUsage | None:
    given, written = number_of(data, "input_tokens"), number_of(data, "output_tokens")
    details = data.get("input_tokens_details") if isinstance(data, Mapping) else None
    return TokenUsage(given, written, number_of(details, "cached_tokens")) if given or written else None


def _reason(data: Mapping[str, Any], state: JobState) -> str | None:
    told = reason_in(data.get("error"))
    if told is None and state is JobState.INCOMPLETE:
        details = data.get("incomplete_details")
        why = text_of(details, "reason") if isinstance(details, Mapping) else ""
        told = f"it ended early ({why or 'no reason given'})"
    return line(told) if told else None


WIRE = JobWire("/responses", _headers, _body, _read)
