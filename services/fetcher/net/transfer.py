"""One request and its answer over a judged connection, within limits; every failure becomes a typed error."""

import http.client
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from services.fetcher.net.connection import JudgedConnection, Route
from services.fetcher.net.inflate import ACCEPTED, Inflater, coding_of
from services.fetcher.net.messages import FetchRequest
from shared.domain.errors import LimitExceeded, Permanent, StepError, Transient
from shared.domain.urls import Url

REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back from one hop; of an error's body only what the request wants to keep."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    cut: bool = False

    @property
    def location(self) -> str | None:
        """Return where a redirect leads, its bytes above ASCII escaped as they were sent."""
        if self.status not in REDIRECTS:
            return None
        sent = self.headers.get("location")
        return sent and "".join(c if c.isascii() else f"%{ord(c):02X}" for c in sent)


def exchange(url: Url, request: FetchRequest, route: Route, user_agent: str, sent: Callable[[float], None]) -> Answer:
    """Send the request to ``url`` and read the answer; ``sent`` is told the monotonic time once the request is out."""
    connection = JudgedConnection(url, route)
    headers = {
        "Host": url.netloc,
        "User-Agent": user_agent,
        "Accept": request.accept,
        "Accept-Encoding": ACCEPTED,
        "Connection": "close",
        **dict(request.headers),
    }
    method = "GET" if request.body is None else "POST"
    try:
        with _typed(url, route):
            connection.connect()
            sent(time.monotonic())
            connection.request(method, url.target, body=request.body, headers=headers)
            sent(time.monotonic())
            response = connection.getresponse()
            if connection.timed is not None:
                connection.timed.header_ended()
            return _read(response, request)
    finally:
        connection.end()


def _read(response: http.client.HTTPResponse, request: FetchRequest) -> Answer:
    headers = {name.lower(): value for name, value in response.getheaders()}
    if not 200 <= response.status < 300:
        return Answer(response.status, headers, _beginning(response, request, headers))
    kind = headers.get("content-type", "").strip().lower()
    if request.unwanted and kind.startswith(request.unwanted):
        raise Permanent("unsupported_type", f"The answer is of the type {kind[:80]}, which is not read.")
    limits = request.limits
    inflater = Inflater(coding_of(headers.get("content-encoding", "")), limits.body_bytes, limits.inflate_ratio)
    while not inflater.full and (chunk := response.read1(_CHUNK)):
        inflater.feed(chunk)
    if inflater.full:
        if not request.cut:
            raise LimitExceeded("body_too_large", f"The body has over {limits.body_bytes:,} bytes.")
        return Answer(response.status, headers, bytes(inflater.body[: limits.body_bytes]), cut=True)
    if response.length:
        raise Transient("truncated", f"The body broke off {response.length:,} bytes before its end.")
    inflater.finish()
    return Answer(response.status, headers, bytes(inflater.body))


def _beginning(response: http.client.HTTPResponse, request: FetchRequest, headers: Mapping[str, str]) -> bytes:
    """Return the beginning of an error's body; nothing when it is not wanted or cannot be unpacked."""
    most = request.error_bytes
    if not most:
        return b""
    try:
        inflater = Inflater(coding_of(headers.get("content-encoding", "")), most, request.limits.inflate_ratio)
        while not inflater.full and (chunk := response.read1(_CHUNK)):
            inflater.feed(chunk)
    except (StepError, OSError, http.client.HTTPException):  # the status is what matters
        return b""
    return bytes(inflater.body[:most])


@contextmanager
def _typed(url: Url, route: Route) -> Iterator[None]:
    """Translate what the standard library raises."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        detail = f"The certificate of {url.host} does not hold: {error.verify_message}."
        raise Permanent("tls_certificate", detail) from error
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:
        raise Transient("connection_lost", f"{url.netloc} ended the encrypted connection.") from error
    except ssl.SSLError as error:
        raise Permanent("tls_failed", f"{url.netloc} does not speak TLS as it should: {error.reason}.") from error
    except TimeoutError as error:
        route.deadline.left(0.0)
        raise Transient("timeout", f"{url.netloc} was silent for {route.limits.silence_s:.0f} s.") from error
    except http.client.IncompleteRead as error:
        raise Transient("truncated", "The body broke off before its end.") from error
    except OSError as error:  # before HTTPException: a lost connection is both
        raise Transient("connection_lost", f"{url.netloc} broke the connection: {error}.") from error
    except http.client.LineTooLong as error:
        raise LimitExceeded("header_too_large", "A line of the header is too long.") from error
    except http.client.HTTPException as error:
        if "headers" in str(error):
            raise LimitExceeded("header_too_large", "The answer has too many header fields.") from error
        raise Permanent("bad_answer", f"{url.netloc} does not answer in HTTP: {error!r:.120}.") from error
    except ValueError as error:
        raise Permanent("bad_answer", f"The answer of {url.netloc} cannot be read: {error}.") from error
