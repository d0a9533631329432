"""Reads what the application left of a body: a local socket that is closed before takes the answer with it."""

from collections.abc import Callable, Iterable
from typing import Any

from services.gateway.front.body import PIECE
from services.gateway.front.relay import Terms

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


class Emptied:
    """A WSGI application that reads every body that the front has sent to its end."""

    def __init__(self, inner: Application, terms: Terms) -> None:
        self._inner, self._terms = inner, terms

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer, then read the rest; of a body that is too large nothing was sent."""
        answer = self._inner(environ, start_response)
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if 0 < length <= self._terms.largest(environ["REQUEST_METHOD"], environ["PATH_INFO"]):
            while environ["wsgi.input"].read(PIECE):
                continue
        return answer
