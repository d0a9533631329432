"""HTTP to one gateway: timeouts on everything, errors as ours, repeats where they do no harm."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, TypeVar

import requests
from pydantic import BaseModel, ValidationError

from shared.client.errors import ClientError, Unreachable
from shared.contracts.runs import Problem

CONNECT_TIMEOUT_S = 5.0
STREAM_SILENCE_S = 45.0
"""Longest silence of an event stream, three times the gateway's pings, until it counts as broken."""
PAUSES_S = (0.1, 0.5, 1.0)
"""Between the tries of a request that may be repeated."""

Model = TypeVar("Model", bound=BaseModel)
Pause = Callable[[float], None]


class Wire:
    """Requests to the gateway at ``address``; a call takes at most ``timeout_s`` seconds between two bytes."""

    def __init__(
        self,
        address: str,
        timeout_s: float,
        session: requests.Session | None = None,
        key: str | None = None,
        pause: Pause = time.sleep,
    ) -> None:
        self.address = address.rstrip("/")
        self.pause = pause
        self._timeout = (CONNECT_TIMEOUT_S, timeout_s)
        self._session = session or requests.Session()
        if key is not None:
            self._session.headers["Authorization"] = f"Bearer {key}"
        self._session.trust_env = False  # no proxy and no .netrc between a client and its gateway

    def call(self, method: str, path: str, *, repeatable: bool, **options: Any) -> requests.Response:
        """Return the answer; a ``repeatable`` request is tried again when none came or the gateway is busy.

        Raises `ClientError` for an answer of 400 and above, `Unreachable` when there is none.
        """
        for delay in PAUSES_S if repeatable else ():
            try:
                return self._once(method, path, options)
            except Unreachable:
                self.pause(delay)
            except ClientError as error:
                if error.problem.status != HTTPStatus.SERVICE_UNAVAILABLE:
                    raise
                self.pause(delay)
        return self._once(method, path, options)

    def one(self, model: type[Model], method: str, path: str, **options: Any) -> Model:
        """Return the object that a call answers; every call but an upload may be repeated without harm."""
        answer = self.call(method, path, repeatable="files" not in options, **options)
        return model.model_validate_json(answer.content)

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str]) -> Iterator[Iterator[bytes]]:
        """Yield the lines of an answer as they come; raises like `call`, and `Unreachable` when the answer breaks."""
        silence = (CONNECT_TIMEOUT_S, STREAM_SILENCE_S)
        answer = self._once("GET", path, {"headers": dict(headers), "stream": True, "timeout": silence})
        with answer:
            yield self._lines(answer)

    def _lines(self, answer: requests.Response) -> Iterator[bytes]:
        try:
            yield from answer.iter_lines()
        except requests.RequestException as error:
            raise Unreachable(self.address, _cause(error)) from error

    def _once(self, method: str, path: str, options: Mapping[str, Any]) -> requests.Response:
        settings = {"timeout": self._timeout, "allow_redirects": False, **options}
        try:
            answer = self._session.request(method, self.address + path, **settings)
        except (requests.RequestException, ValueError) as error:  # ValueError: an address that is no URL
            raise Unreachable(self.address, _cause(error)) from error
        if answer.status_code >= HTTPStatus.MULTIPLE_CHOICES:
            with answer:
                raise ClientError(_problem(answer))
        return answer


def _problem(answer: requests.Response) -> Problem:
    """Return the problem details of an answer, or some made from its status when it has none."""
    try:
        return Problem.model_validate_json(answer.content)
    except ValidationError:
        title = answer.reason or "Error"
        detail = f"The server at {answer.url} answered {answer.status_code} {title}, which no gateway does."
        return Problem(type="about:blank", title=title, status=answer.status_code, detail=detail)


def _cause(error: Exception) -> str:
    """Return in a word what happened, without the library's internals."""
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke"
    return "not an address of a server"
