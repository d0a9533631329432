"""From what pydantic-ai raises to what the runner understands, by type and never by the words of a message."""

from collections.abc import Iterator, Mapping

import httpx2
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelUnavailableError,
    OutputTokenLimitExceeded,
    UserError,
)

from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.transport import BodyTooLarge, EncodedBody, OtherOrigin
from shared.domain.errors import (
    MODEL_REFUSED,
    InvalidAnswer,
    NotSent,
    Permanent,
    RateLimited,
    RequestRejected,
    StepError,
    TextRefused,
    Transient,
)
from shared.domain.redaction import without_secret
from shared.domain.text import clean

DEFAULT_RETRY_AFTER_S = 5.0
"""How long a rate limit without a time of its own puts a step off."""

LONGEST_REASON = 300
_PASSING = (ModelServerError, ModelUnavailableError)
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""Where a request ends that has not left: no address, nobody who answers there, no connection free."""

_PASSING_STATUS = frozenset({408, 409, 425})


def translated(error: Exception, model: str, endpoint: Endpoint) -> StepError:
    """Return the error that the runner decides by; the endpoint's key never appears in it."""
    cause = next((e for e in _chain(error) if isinstance(e, BodyTooLarge | EncodedBody | OtherOrigin)), None)
    if isinstance(cause, BodyTooLarge):
        return InvalidAnswer(str(cause))
    if cause is not None:
        return Permanent(f"{MODEL_REFUSED}endpoint", str(cause))
    if isinstance(error, TimeoutError):
        return Transient(f"{MODEL_REFUSED}timeout", f"The model {model} did not answer in time.")
    reason = reason_of(error, endpoint.key)
    if isinstance(error, ModelAPIError):
        return _told_by_provider(error, model, reason, endpoint)
    return _of_answer(error, model, reason, endpoint)


def _told_by_provider(error: ModelAPIError, model: str, reason: str, endpoint: Endpoint) -> StepError:
    """Return what an error of the provider means: wait, give up, or try again."""
    if isinstance(error, ModelRateLimitError) or (isinstance(error, _PASSING) and error.retry_after is not None):
        wait = DEFAULT_RETRY_AFTER_S if error.retry_after is None else error.retry_after
        return RateLimited(f"{MODEL_REFUSED}rate_limited", f"The provider asks to wait: {reason}", wait)
    if isinstance(error, ModelRequestRejectedError | ModelQuotaExceededError):
        return _refusal(error, model, reason, endpoint)
    detail = f"The model {model} cannot be reached: {reason}"
    if any(isinstance(e, _NEVER_SENT) for e in _chain(error)):
        return NotSent(f"{MODEL_REFUSED}unavailable", f"{detail} Check {endpoint.url_name}.")
    return Transient(f"{MODEL_REFUSED}unavailable", detail)


def _of_answer(error: Exception, model: str, reason: str, endpoint: Endpoint) -> StepError:
    """Return what an error over the body of an answer means."""
    if isinstance(error, ContentFilterError):
        return InvalidAnswer(f"The model {model} refused to answer: {reason}")
    if isinstance(error, OutputTokenLimitExceeded):
        return InvalidAnswer(f"The answer of {model} was cut off: {reason}")
    if isinstance(error, UserError):
        return RequestRejected(f"The provider's library refuses the request: {reason}")
    detail = f"The endpoint gave no answer of a model: {reason} Check {endpoint.url_name}."
    return Transient(f"{MODEL_REFUSED}no_reply", detail)


def _refusal(
    error: ModelRequestRejectedError | ModelQuotaExceededError, model: str, reason: str, endpoint: Endpoint
) -> StepError:
    if isinstance(error, ModelHTTPError) and error.status_code in _PASSING_STATUS:
        return Transient(f"{MODEL_REFUSED}unavailable", f"The model {model} cannot be reached: {reason}")
    if isinstance(error, ModelQuotaExceededError):
        return Permanent(f"{MODEL_REFUSED}credit", f"The account at the provider has no credit left: {reason}")
    if isinstance(error, ModelAuthenticationError):
        detail = f"The provider does not accept the key ({endpoint.key_name}): {reason}"
        return Permanent(f"{MODEL_REFUSED}key", detail)
    if isinstance(error, ModelNotFoundError):
        return Permanent(f"{MODEL_REFUSED}unknown", f"The endpoint does not know the model {model}: {reason}")
    if isinstance(error, ModelContextWindowExceededError):
        return TextRefused(f"{MODEL_REFUSED}context", f"The text is too long for the model {model}: {reason}")
    return RequestRejected(f"The provider refused the request: {reason}")


def reason_of(error: BaseException, key: str | None) -> str:
    """Return the provider's own reason as one line, without the key."""
    body = error.body if isinstance(error, ModelAPIError) else None
    told = _message(body) or (str(error) if isinstance(error, AgentRunError | UserError) else type(error).__name__)
    line = without_secret(" ".join(clean(told).split()), key)
    line = line if len(line) <= LONGEST_REASON else line[:LONGEST_REASON].rstrip() + "…"
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."


def _message(body: object) -> str | None:
    """Return the message in a body, whether it stands at its top or under ``error``."""
    if isinstance(body, Mapping):
        found = body.get("message", body.get("error"))
        return found if isinstance(found, str) else _message(found)
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
