"""How the providers on loopback talk: OpenAI's chat completions, Anthropic's messages, Google's generateContent.

Each wire reads a request into `Said`, and writes an answer or an error as its provider documents them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from tests.support.scripted_model import known_schema, schema_of


@dataclass(frozen=True, slots=True)
class Said:
    """A request, as every wire says it; ``form`` is how the answer is asked for: schema, tool or prompt."""

    model: str
    system: str
    user: str
    texts: tuple[str, ...]
    schema: str
    form: str
    repairs: bool
    room: int = 0
    """The tokens that the answer may have."""


@dataclass(frozen=True, slots=True)
class Written:
    """An answer to write: its text, how it ended, and what it is billed."""

    text: str
    finish: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """A refusal: what it is called among us, its status, and the sentence for people."""

    kind: str
    message: str


class Wire(Protocol):
    """One provider's format."""

    key_header: str

    def read(self, path: str, body: Mapping[str, Any]) -> Said:
        """Read a request."""
        ...

    def answer(self, said: Said, written: Written) -> dict[str, Any]:
        """Write an answer."""
        ...

    def fault(self, fault: Fault) -> tuple[int, dict[str, Any]]:
        """Write a refusal: its status and its body."""
        ...


class OpenAIWire:
    """OpenAI's chat completions."""

    key_header = "Authorization"
    _FAULTS: ClassVar = {
        "rate": (429, "rate_limit_exceeded"),
        "server": (500, "server_error"),
        "overloaded": (503, "overloaded"),
        "key": (401, "invalid_api_key"),
        "credit": (429, "insufficient_quota"),
        "unknown": (404, "model_not_found"),
        "context": (400, "context_length_exceeded"),
        "request": (400, "bad_request"),
        "moved": (307, "moved"),
    }

    def read(self, path: str, body: Mapping[str, Any]) -> Said:
        """Read a request."""
        texts = tuple(m["content"] or "" for m in body["messages"])
        schema, form = body.get("response_format", {}).get("json_schema", {}).get("name"), "native"
        if schema is None and body.get("tools"):
            schema, form = schema_of(body["tools"][0]["function"]["parameters"]), "tool"
        if schema is None:
            schema, form = known_schema(texts[0]), "prompt"
        return Said(body["model"], texts[0], texts[1], texts, schema, form, len(texts) > 2, _room(body))

    def answer(self, said: Said, written: Written) -> dict[str, Any]:
        """Write an answer."""
        message: dict[str, Any] = {"role": "assistant", "content": written.text}
        if said.form == "tool":
            call = {"id": "call_1", "type": "function", "function": {"name": "answer", "arguments": written.text}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": served(said.model),
            "choices": [] if written.empty else [{"index": 0, "finish_reason": written.finish, "message": message}],
            "usage": {
                "prompt_tokens": written.input_tokens,
                "completion_tokens": written.output_tokens,
                "total_tokens": written.input_tokens + written.output_tokens,
                "prompt_tokens_details": {"cached_tokens": written.cached_tokens},
            },
        }

    def fault(self, fault: Fault) -> tuple[int, dict[str, Any]]:
        """Write a refusal."""
        status, code = self._FAULTS[fault.kind]
        told = {"message": fault.message, "type": "invalid_request_error", "code": code, "param": None}
        return status, {"error": told}


class AnthropicWire:
    """Anthropic's messages."""

    key_header = "x-api-key"
    _FAULTS: ClassVar = {
        "rate": (429, "rate_limit_error", ""),
        "server": (500, "api_error", ""),
        "overloaded": (529, "overloaded_error", ""),
        "key": (401, "authentication_error", ""),
        "credit": (400, "invalid_request_error", "Your credit balance is too low to access the API. "),
        "unknown": (404, "not_found_error", ""),
        "context": (400, "invalid_request_error", "prompt is too long: "),
        "request": (400, "invalid_request_error", ""),
        "moved": (307, "moved", ""),
    }
    _FINISHES: ClassVar = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}

    def read(self, path: str, body: Mapping[str, Any]) -> Said:
        """Read a request."""
        system = _joined(body.get("system", ""))
        texts = (system, *(_joined(m["content"]) for m in body["messages"]))
        wanted = (body.get("output_config") or {}).get("format")
        tools = body.get("tools") or []
        if wanted:
            schema, form = schema_of(wanted["schema"]), "native"
        elif tools:
            schema, form = schema_of(tools[0]["input_schema"]), "tool"
        else:
            schema, form = known_schema(system), "prompt"
        return Said(body["model"], system, texts[1], texts, schema, form, len(texts) > 2, _room(body))

    def answer(self, said: Said, written: Written) -> dict[str, Any]:
        """Write an answer, after a thought that must not be taken for it."""
        thought = {"type": "thinking", "thinking": 'Is it {"a": 1}? No.', "signature": "c2ln"}
        content: list[dict[str, Any]] = [thought, {"type": "text", "text": written.text}]
        finish = self._FINISHES[written.finish]
        if said.form == "tool" and (called := _object(written.text)) is not None:
            content = [thought, {"type": "tool_use", "id": "toolu_1", "name": "answer", "input": called}]
            finish = "tool_use" if finish == "end_turn" else finish
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": served(said.model),
            "content": [] if written.empty else content,
            "stop_reason": finish,
            "stop_sequence": None,
            "usage": {
                "input_tokens": written.input_tokens - written.cached_tokens,
                "cache_read_input_tokens": written.cached_tokens,
                "cache_creation_input_tokens": 0,
                "output_tokens": written.output_tokens,
            },
        }

    def fault(self, fault: Fault) -> tuple[int, dict[str, Any]]:
        """Write a refusal."""
        status, kind, before = self._FAULTS[fault.kind]
        return status, {"type": "error", "error": {"type": kind, "message": before + fault.message}}


class GoogleWire:
    """Google's generateContent."""

    key_header = "x-goog-api-key"
    _FAULTS: ClassVar = {
        "rate": (429, "RESOURCE_EXHAUSTED"),
        "server": (500, "INTERNAL"),
        "overloaded": (503, "UNAVAILABLE"),
        "key": (400, "INVALID_ARGUMENT"),
        "credit": (400, "FAILED_PRECONDITION"),
        "unknown": (404, "NOT_FOUND"),
        "context": (400, "INVALID_ARGUMENT"),
        "request": (400, "INVALID_ARGUMENT"),
        "moved": (307, "MOVED"),
    }
    _FINISHES: ClassVar = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}

    def read(self, path: str, body: Mapping[str, Any]) -> Said:
        """Read a request; the model stands in the path."""
        model = path.rpartition("/models/")[2].partition(":")[0]
        system = _parts(body.get("systemInstruction") or {})
        texts = (system, *(_parts(content) for content in body["contents"]))
        config, tools = body.get("generationConfig") or {}, body.get("tools") or []
        wanted = config.get("responseJsonSchema") or config.get("responseSchema")
        if wanted:
            schema, form = schema_of(wanted), "native"
        elif tools:
            schema, form = schema_of(tools[0]["functionDeclarations"][0]["parametersJsonSchema"]), "tool"
        else:
            schema, form = known_schema(system), "prompt"
        return Said(
            model, system, texts[1], texts, schema, form, len(texts) > 2, int(config.get("maxOutputTokens") or 0)
        )

    def answer(self, said: Said, written: Written) -> dict[str, Any]:
        """Write an answer, after a thought that must not be taken for it."""
        parts: list[dict[str, Any]] = [{"text": 'Is it {"a": 1}? No.', "thought": True}, {"text": written.text}]
        if said.form == "tool" and (called := _object(written.text)) is not None:
            parts[1] = {"functionCall": {"name": "answer", "args": called}}
        finish = self._FINISHES[written.finish]
        candidate = {"index": 0, "finishReason": finish, "content": {"role": "model", "parts": parts}}
        return {
            "candidates": [] if written.empty else [candidate],
            "modelVersion": served(said.model),
            "responseId": "r1",
            "usageMetadata": {
                "promptTokenCount": written.input_tokens,
                "candidatesTokenCount": written.output_tokens,
                "totalTokenCount": written.input_tokens + written.output_tokens,
                "cachedContentTokenCount": written.cached_tokens,
            },
        }

    def fault(self, fault: Fault) -> tuple[int, dict[str, Any]]:
        """Write a refusal."""
        status, code = self._FAULTS[fault.kind]
        told, details = fault.message, []
        if fault.kind == "context":
            told = f"The input token count (99999) exceeds the maximum number of tokens allowed (10). {told}"
        if fault.kind == "credit":
            told = f"{told} Please enable billing on your project."
        if fault.kind == "key":
            details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
        return status, {"error": {"code": status, "message": told, "status": code, "details": details}}


def wire_of(path: str) -> Wire:
    """Return the format that a path belongs to."""
    if path.endswith("/chat/completions"):
        return OpenAIWire()
    return GoogleWire() if ":generateContent" in path else AnthropicWire()


def served(model: str) -> str:
    """Return the name under which a model answers: a version of its own, or quite another one."""
    return "other-model-9" if "fake-switched" in model else f"{model}-2026-11"


def _room(body: Mapping[str, Any]) -> int:
    return int(body.get("max_completion_tokens") or body.get("max_tokens") or 0)


def _joined(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _parts(content: Mapping[str, Any]) -> str:
    return "".join(part.get("text", "") for part in content.get("parts", ()))


def _object(text: str) -> dict[str, Any] | None:
    """Return what a text holds as an object; None where a provider could not have parsed it either."""
    try:
        found = json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _refuse(name: str) -> None:
    raise ValueError(name)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)
