"""The HTTP transport to a provider: to one origin only, plain bodies only, and no more of them than a limit."""

from collections.abc import AsyncIterator

import httpx2

from shared.adapters.model.judged import JudgedTransport, RefusedAddress
from shared.adapters.model.told_errors import told_error

MAX_BODY_BYTES = 4_000_000
"""Largest body of a reply; the text of one is a few kilobytes."""

MAX_CONNECTIONS = 64
CONNECT_TIMEOUT_S = 10.0
WRITE_TIMEOUT_S = 30.0
LONGEST_CALL_S = 1800.0

_OF_THE_BODY = frozenset({"content-length", "transfer-encoding", "content-encoding"})

TIMEOUTS = httpx2.Timeout(connect=CONNECT_TIMEOUT_S, write=WRITE_TIMEOUT_S, read=LONGEST_CALL_S, pool=LONGEST_CALL_S)
"""The timeouts of the phases of a call; its total deadline is shorter and kept by the caller."""


class BodyTooLarge(httpx2.TransportError):
    """The provider sent more than a reply can be."""

    def __init__(self) -> None:
        super().__init__(f"The answer is larger than {MAX_BODY_BYTES:,} bytes.")


class OtherOrigin(httpx2.TransportError):
    """A request was about to leave for somewhere else than the configured endpoint, or for where none may stand."""

    def __init__(self, detail: str = "Only the configured endpoint may be called.") -> None:
        super().__init__(detail)


class EncodedBody(httpx2.TransportError):
    """The provider compressed its reply although it was asked not to."""

    def __init__(self) -> None:
        super().__init__("The endpoint compressed its answer although it was asked not to.")


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Sends requests to ``origin`` and cuts off what is too much; neither retries nor follows a redirect."""

    def __init__(self, origin: httpx2.URL, *, answers_only: bool = False) -> None:
        """Take ``answers_only`` where every body is an answer or an error, so that one which tells an error is one."""
        self._origin, self._answers_only = _origin(origin), answers_only
        limits = httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS)
        self._inner = JudgedTransport(httpx2.AsyncHTTPTransport(trust_env=False, retries=0, limits=limits))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; raises `OtherOrigin`, `EncodedBody`, and `BodyTooLarge` while the body is read."""
        if _origin(request.url) != self._origin:
            raise OtherOrigin
        try:
            response = await self._inner.handle_async_request(request)
        except RefusedAddress as error:
            raise OtherOrigin(str(error)) from error
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            await response.aclose()
            raise EncodedBody
        stream = response.stream
        if not isinstance(stream, httpx2.AsyncByteStream):
            raise TypeError("an asynchronous transport gives asynchronous streams")
        answer = httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_Bounded(stream),
            extensions=response.extensions,
        )
        told = self._answers_only and answer.status_code == httpx2.codes.OK
        return await _with_its_status(answer) if told else answer

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


async def _with_its_status(answer: httpx2.Response) -> httpx2.Response:
    """Return an answer whose body tells an error under the status that the error means."""
    try:
        body = await answer.aread()
    finally:
        await answer.aclose()
    status, told = told_error(body) or (answer.status_code, body)
    kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in _OF_THE_BODY]
    return httpx2.Response(status, headers=kept, content=told, extensions=answer.extensions)


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends with an error past the limit."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body's bytes."""
        seen = 0
        async for chunk in self._inner:
            seen += len(chunk)
            if seen > MAX_BODY_BYTES:
                raise BodyTooLarge
            yield chunk

    async def aclose(self) -> None:
        """Give the connection back."""
        await self._inner.aclose()


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def open_client(base_url: str, *, answers_only: bool = False) -> httpx2.AsyncClient:
    """Return a client for an endpoint: its own timeouts, no proxy or certificate settings from the environment.

    ``answers_only`` is said where an error may come with the status of success.
    """
    return httpx2.AsyncClient(
        transport=BoundedTransport(httpx2.URL(base_url), answers_only=answers_only),
        headers={"Accept-Encoding": "identity"},
        trust_env=False,
        follow_redirects=False,
        timeout=TIMEOUTS,
    )
