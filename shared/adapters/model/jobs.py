"""Research jobs over HTTP: three requests, each within a deadline and never repeated; providers differ in their wires.

The requests are made by hand over the one judged way out, and not by the providers' own libraries: these repeat
requests by themselves, and a repeated submission would be a second job.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from shared.adapters.model.endpoint import Endpoint
from shared.adapters.model.job_answers import Given, judge_status
from shared.adapters.model.loop import LoopThread
from shared.adapters.model.transport import BodyTooLarge, EncodedBody, OtherOrigin, open_client
from shared.domain.errors import MODEL_REFUSED, InvalidAnswer, NotSent, Permanent, StepError, Transient
from shared.domain.managed import CALL_S, is_handle
from shared.ports.managed import JobRequest, JobSeen

_NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
    httpx2.InvalidURL,
    UnicodeError,
)
"""What a request ends with before any of it has left."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JobWire:
    """How one provider spells jobs: where they are, what goes with each request, and how its answers are read."""

    path: str
    headers: Callable[[str], Mapping[str, str]]
    body: Callable[[JobRequest, str], Json]
    read: Callable[[Json], JobSeen]


class HttpJobs:
    """The calls of `shared.ports.managed.JobProvider`.

    Each has a connection of its own: one that is kept open may be closed by the provider just when a submission leaves
    on it, and nobody could tell whether that had arrived.
    """

    def __init__(self, name: str, endpoint: Endpoint, agent: str, wire: JobWire) -> None:
        self._name, self._endpoint, self._agent, self._wire = name, endpoint, agent, wire
        self._key = (endpoint.key or "").strip()
        self._loop = LoopThread("job-calls")

    def submit(self, request: JobRequest) -> JobSeen:
        """Start a job."""
        return self._asked("POST", self._wire.path, self._wire.body(request, self._agent))

    def look(self, handle: str) -> JobSeen:
        """Return how a job stands."""
        return self._asked("GET", self._at(handle))

    def cancel(self, handle: str) -> JobSeen:
        """Ask that a job ends."""
        return self._asked("POST", f"{self._at(handle)}/cancel")

    def close(self) -> None:
        """End the thread; calls under way end with it."""
        self._loop.close()

    def _at(self, handle: str) -> str:
        if not is_handle(handle):
            raise Permanent("managed:handle", f"{handle[:40]!r} is no handle of a job at {self._name}.")
        return f"{self._wire.path}/{handle}"

    def _asked(self, method: str, path: str, body: Json | None = None) -> JobSeen:
        try:
            answer = self._loop.run(self._request(method, path, body), CALL_S)
        except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            raise self._translated(error) from error
        given = Given(answer.status_code, answer.headers, _data(answer.content))
        judge_status(given, self._endpoint, self._key)
        return self._read(given.data)

    async def _request(self, method: str, path: str, body: Json | None) -> httpx2.Response:
        url = f"{self._endpoint.base_url.rstrip('/')}{path}"
        headers = dict(self._wire.headers(self._key))
        async with open_client(self._endpoint.base_url) as client:
            return await client.request(method, url, json=body, headers=headers)

    def _read(self, data: object) -> JobSeen:
        if not isinstance(data, Mapping):
            raise InvalidAnswer(f"{self._name} answered with no JSON object where a job was asked about.")
        seen = self._wire.read(data)
        if not is_handle(seen.handle):
            raise InvalidAnswer(f"{self._name} answered without the name of a job.")
        return seen

    def _translated(self, error: Exception) -> StepError:
        """Return what an error of the connection means; it says in its type whether anything has left."""
        if isinstance(error, BodyTooLarge | EncodedBody):
            return InvalidAnswer(str(error))
        if isinstance(error, OtherOrigin):
            return Permanent(f"{MODEL_REFUSED}endpoint", str(error))
        if isinstance(error, _NOT_SENT):
            detail = f"{self._name} cannot be reached at {self._endpoint.url_name}: {type(error).__name__}."
            return NotSent(f"{MODEL_REFUSED}unavailable", detail)
        if isinstance(error, TimeoutError | asyncio.TimeoutError | httpx2.TimeoutException):
            return Transient(f"{MODEL_REFUSED}timeout", f"{self._name} did not answer in time.")
        return Transient(
            f"{MODEL_REFUSED}unavailable", f"The answer of {self._name} broke off: {type(error).__name__}."
        )


def _data(content: bytes) -> object:
    """Return the JSON of a body, None where it is none or nested deeper than can be read."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
