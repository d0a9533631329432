"""Chat completions at any endpoint that speaks OpenAI's format, through pydantic-ai. Import it only when it is used."""

import contextlib

from openai import AsyncOpenAI
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings

from shared.adapters.model.errors import translated
from shared.adapters.model.loop import LoopThread
from shared.adapters.model.transport import open_client, timeouts
from shared.domain.text import clean
from shared.ports.completions import Call, Finish, Message, Reply
from shared.ports.model import TokenUsage

OPENAI_URL = "https://api.openai.com/v1"

CLOSE_S = 2.0

_NO_KEY = "none"
"""Sent to endpoints that ask for no key; the client insists on one."""

_PORTABLE = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
"""Servers that copy the format know ``max_tokens``; only OpenAI's own wants its successor."""

_SHAPE_ERRORS = (AttributeError, TypeError, LookupError, ValueError)
"""What the client raises over a JSON body of another shape than it trusts every endpoint to send."""

_FINISHES: dict[str, Finish] = {"stop": "stop", "length": "length", "content_filter": "refused"}


class OpenAICompatible:
    """See `shared.ports.completions.Completions`. One client for all threads, opened with the first call."""

    def __init__(self, base_url: str, key: str | None) -> None:
        self._base_url, self._key = base_url, key
        self._loop = LoopThread("model-calls")
        self._client: AsyncOpenAI | None = None

    def complete(self, call: Call) -> Reply:
        """Return the reply to one call."""
        try:
            return self._loop.run(self._complete(call), call.deadline_s)
        except (AgentRunError, TimeoutError, *_SHAPE_ERRORS) as error:
            raise translated(error, call.model, self._key) from error

    def close(self) -> None:
        """Close connections and the thread."""
        client, self._client = self._client, None
        with contextlib.suppress(TimeoutError):  # connections that do not close in time end with the process
            if client is not None:
                self._loop.run(client.close(), CLOSE_S)
        self._loop.close()

    async def _complete(self, call: Call) -> Reply:
        response = await model_request(
            self._model(call.model),
            [_message(m, _instructions(call)) for m in call.messages if m.role != "system"],
            model_settings=ModelSettings(
                max_tokens=call.max_output_tokens, temperature=0.0, max_retries=0, timeout=timeouts(call.deadline_s)
            ),
            model_request_parameters=_parameters(call),
        )
        return _reply(response, call)

    def _model(self, name: str) -> OpenAIChatModel:
        if self._client is None:
            self._client = AsyncOpenAI(
                base_url=self._base_url,
                api_key=self._key or _NO_KEY,
                http_client=open_client(self._base_url),
                max_retries=0,
            )
        if self._base_url.rstrip("/") == OPENAI_URL:
            return OpenAIChatModel(name, provider=OpenAIProvider(openai_client=self._client))
        provider = OpenAICompatibleProvider("openai-compatible", openai_client=self._client)
        return OpenAIChatModel(name, provider=provider, profile=_PORTABLE)


def _instructions(call: Call) -> str:
    return "\n\n".join(m.text for m in call.messages if m.role == "system")


def _message(message: Message, instructions: str) -> ModelMessage:
    if message.role == "assistant":
        return ModelResponse(parts=[TextPart(message.text)])
    return ModelRequest(parts=[UserPromptPart(message.text)], instructions=instructions)


def _parameters(call: Call) -> ModelRequestParameters:
    if call.schema is None:
        return ModelRequestParameters()
    wanted = OutputObjectDefinition(json_schema=dict(call.schema), name=call.schema_name, strict=True)
    return ModelRequestParameters(output_mode="native", output_object=wanted)


def _reply(response: ModelResponse, call: Call) -> Reply:
    """Return what counts of a response: its text without reasoning, how it ended, and what it cost."""
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    used = response.usage
    measured = bool(used.input_tokens or used.output_tokens)
    return Reply(
        text=clean(text),
        finish=_FINISHES.get(response.finish_reason or "stop", "other"),
        usage=TokenUsage(used.input_tokens, used.output_tokens, used.cache_read_tokens) if measured else None,
        served_model=response.model_name or call.model,
        latency_s=0.0,
    )
