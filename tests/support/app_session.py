"""A session of the HTTP library that calls a WSGI application in this process, and can be made to fail."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

import requests
from flask import Flask
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from urllib3.exceptions import ProtocolError
from werkzeug.test import EnvironBuilder, run_wsgi_app


class _Raw:
    """The body of an answer as it comes; it breaks after ``cut`` pieces unless that is None."""

    def __init__(self, pieces: Iterable[bytes], cut: int | None) -> None:
        self._pieces, self._cut = pieces, cut

    def stream(self, _: int, decode_content: bool = True) -> Iterator[bytes]:
        """Yield the pieces."""
        for count, piece in enumerate(self._pieces):
            if count == self._cut:
                raise ProtocolError("cut")
            yield piece

    def close(self) -> None:
        """Tell the application that nobody listens any more."""
        close = getattr(self._pieces, "close", None)
        if close is not None:
            close()


class AppSession(requests.Session):
    """Each request takes the next of ``faults``: an exception to raise, a number of pieces to cut after, or None.

    An exception is raised before the request reaches the application, with ``after`` when it has been answered.
    """

    def __init__(self, app: Flask, after: bool = False) -> None:
        super().__init__()
        self.faults: deque[Exception | int | None] = deque()
        self.asked: list[str] = []
        self.mount("http://", _AppAdapter(app, self, after))


class _AppAdapter(BaseAdapter):
    def __init__(self, app: Flask, session: AppSession, after: bool) -> None:
        super().__init__()
        self._app, self._session, self._after = app, session, after

    def send(self, request: requests.PreparedRequest, **_: Any) -> requests.Response:  # type: ignore[override]
        """Call the application."""
        fault = self._session.faults.popleft() if self._session.faults else None
        self._session.asked.append(f"{request.method} {request.path_url}")
        if isinstance(fault, Exception) and not self._after:
            raise fault
        parts = urlsplit(str(request.url))
        data = request.body.encode() if isinstance(request.body, str) else request.body
        builder = EnvironBuilder(
            path=parts.path,
            query_string=parts.query,
            method=str(request.method),
            headers=dict(request.headers),
            data=data,
        )
        pieces, status, headers = run_wsgi_app(self._app, builder.get_environ())
        if isinstance(fault, Exception):
            raise fault
        answer = requests.Response()
        answer.status_code, answer.reason = int(status.split()[0]), status.partition(" ")[2]
        answer.headers, answer.url, answer.request = CaseInsensitiveDict(headers), str(request.url), request
        answer.raw = _Raw(pieces, fault)
        return answer

    def close(self) -> None:
        """Hold nothing."""
