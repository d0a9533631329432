"""One call at any provider that pydantic-ai speaks to; what differs between providers is in a file for each."""

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import httpx2
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import AgentRunError, ModelHTTPError, UnexpectedModelBehavior, UserError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.errors import translated
from shared.adapters.model.habits import Habit, habit_in, settings_for
from shared.adapters.model.loop import LoopThread
from shared.adapters.model.transport import open_client
from shared.domain.errors import InvalidAnswer
from shared.domain.text import clean
from shared.ports.completions import Call, Finish, Message, Reply
from shared.ports.model import TokenUsage

CLOSE_S = 2.0

ANSWER_TOOL = "answer"
"""What the tool is called through which a model without structured output gives its answer."""

LONGEST_LIST = "maxItems"

_SHAPE_ERRORS = (AttributeError, TypeError, LookupError, ValueError, AssertionError)
"""What a client raises over a JSON body of another shape than it trusts every endpoint to send."""

_FINISHES: dict[str, Finish] = {"stop": "stop", "tool_call": "stop", "length": "length", "content_filter": "refused"}

Form = Literal["native", "tool", "text"]
"""How an answer is asked for: as structured output, as the arguments of a tool, or as plain text."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """What one provider needs: its models by name over a client, and what else is set in each call."""

    connect: Callable[[Endpoint, httpx2.AsyncClient], Callable[[str], Model]]
    settings: ModelSettings = field(default_factory=ModelSettings)
    ends_lists: bool = True
    """Whether its schemas may say how long a list is at most."""
    renames_room: bool = False
    """Whether the limit of an answer has a newer name in its format, which some of its models want."""


class ThroughPydantic:
    """See `shared.ports.completions.Completions`. One client for all threads, opened with the first call."""

    def __init__(self, endpoint: Endpoint, speaker: Speaker) -> None:
        self._endpoint, self._speaker = endpoint, speaker
        self._loop = LoopThread("model-calls")
        self._client: httpx2.AsyncClient | None = None
        self._models: dict[str, Model] = {}
        self._habits: dict[str, frozenset[Habit]] = {}
        self._model_named: Callable[[str], Model] | None = None

    def complete(self, call: Call) -> Reply:
        """Return the reply to one call."""
        try:
            return self._loop.run(self._complete(call), call.deadline_s)
        except RecursionError as error:
            raise InvalidAnswer(f"The answer of {call.model} is nested too deep to be read.") from error
        except (AgentRunError, UserError, TimeoutError, httpx2.HTTPError, *_SHAPE_ERRORS) as error:
            raise translated(error, call.model, self._endpoint) from error

    def close(self) -> None:
        """Close connections and the thread."""
        client, self._client, self._model_named = self._client, None, None
        self._models.clear()
        with contextlib.suppress(TimeoutError):  # connections that do not close in time end with the process
            if client is not None:
                self._loop.run(client.aclose(), CLOSE_S)
        self._loop.close()

    async def _complete(self, call: Call) -> Reply:
        """Make the call in the way that the model is known to want; where it is refused, in the way that it says."""
        habits = self._habits.get(call.model, frozenset())
        while True:
            try:
                reply = await self._request(call, habits)
            except ModelHTTPError as error:
                habit = habit_in(error, renames=self._speaker.renames_room)
                if habit is None or habit in habits:
                    raise
                habits |= {habit}
            else:
                self._habits[call.model] = habits
                return reply

    async def _request(self, call: Call, habits: frozenset[Habit]) -> Reply:
        model = self._model(call.model)
        form = form_of(call, model)
        settings = ModelSettings(max_retries=0)
        settings |= self._speaker.settings
        if not model.profile.get("anthropic_disallows_sampling_settings", False):
            settings["temperature"] = 0.0
        settings = settings_for(settings, habits, call.max_output_tokens)
        response = await model_request(
            model,
            [_message(m, _instructions(call)) for m in call.messages if m.role != "system"],
            model_settings=settings,
            model_request_parameters=_parameters(call if self._speaker.ends_lists else _without_ends(call), form),
        )
        return _reply(response, call)

    def _model(self, name: str) -> Model:
        """Return the model of this name; runs in the loop's thread alone."""
        if self._model_named is None:
            self._client = open_client(self._endpoint.base_url, answers_only=True)
            self._model_named = self._speaker.connect(self._endpoint, self._client)
        if name not in self._models:
            self._models[name] = self._model_named(name)
        return self._models[name]


def form_of(call: Call, model: Model) -> Form:
    """Return how to ask for the answer: native where the model has it, else through a tool that it has to call."""
    if call.schema is None:
        return "text"
    return "native" if model.profile.get("supports_json_schema_output", False) else "tool"


def _without_ends(call: Call) -> Call:
    """Return the call with lists of any length in its schema."""
    return call if call.schema is None else replace(call, schema=_endless(call.schema))


def _endless(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {k: _endless(v) for k, v in schema.items() if k != LONGEST_LIST or not isinstance(v, int)}
    return [_endless(item) for item in schema] if isinstance(schema, list) else schema


def _instructions(call: Call) -> str:
    return "\n\n".join(m.text for m in call.messages if m.role == "system")


def _message(message: Message, instructions: str) -> ModelMessage:
    if message.role == "assistant":
        return ModelResponse(parts=[TextPart(message.text)])
    return ModelRequest(parts=[UserPromptPart(message.text)], instructions=instructions)


def _parameters(call: Call, form: Form) -> ModelRequestParameters:
    if call.schema is None or form == "text":
        return ModelRequestParameters()
    if form == "native":
        wanted = OutputObjectDefinition(json_schema=dict(call.schema), name=call.schema_name, strict=True)
        return ModelRequestParameters(output_mode="native", output_object=wanted)
    told = f"Give the answer: {call.schema_name}."
    tool = ToolDefinition(name=ANSWER_TOOL, description=told, parameters_json_schema=dict(call.schema), kind="output")
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def _reply(response: ModelResponse, call: Call) -> Reply:
    """Return what counts of a response: its text without reasoning, how it ended, and what it cost."""
    used = response.usage
    measured = bool(used.input_tokens or used.output_tokens)
    if not response.parts and not measured:
        raise UnexpectedModelBehavior("it holds neither text nor usage")
    return Reply(
        text=clean(_text(response)),
        finish=_FINISHES.get(response.finish_reason or "stop", "other"),
        usage=TokenUsage(used.input_tokens, used.output_tokens, used.cache_read_tokens) if measured else None,
        served_model=response.model_name or call.model,
        latency_s=0.0,
    )


def _text(response: ModelResponse) -> str:
    """Return the arguments of the tool that stands for the answer, else all text; reasoning is neither."""
    for part in response.parts:
        if isinstance(part, ToolCallPart) and part.tool_name == ANSWER_TOOL:
            return part.args if isinstance(part.args, str) else json.dumps(part.args or {}, ensure_ascii=False)
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))
