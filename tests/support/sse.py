"""A reader of server-sent events, as far as tests need one: it notes what it sees, in a thread of its own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import requests

TIMEOUT_S = 60.0


@dataclass
class Follower:
    """Follows a run at one gateway; ``seen`` are sequence numbers and types in the order of their arrival."""

    address: str
    run_id: str
    after: int = 0
    seen: list[tuple[int, str]] = field(default_factory=list)
    ended: bool = False
    """Whether the stream said that there will be no more."""
    _thread: threading.Thread | None = None
    _answer: requests.Response | None = None

    def connect(self) -> "Follower":
        """Connect."""
        url = f"{self.address}/api/v1/research-runs/{self.run_id}/events"
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(self.after)}
        self._answer = requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S)
        assert self._answer.status_code == 200, self._answer.text
        return self

    def start(self) -> None:
        """Begin to read."""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop reading."""
        if self._answer is not None:
            self._answer.close()
        if self._thread is not None:
            self._thread.join(10)

    @property
    def last(self) -> int:
        """The last sequence number that was seen."""
        return self.seen[-1][0] if self.seen else self.after

    def _read(self) -> None:
        assert self._answer is not None
        number, kind = 0, ""
        try:
            for line in self._answer.iter_lines(decode_unicode=True):
                name, _, value = line.partition(":")
                if name == "id":
                    number = int(value)
                elif name == "event":
                    kind = value.strip()
                elif not line and kind == "end":
                    self.ended = True
                    return
                elif not line and kind:
                    self.seen.append((number, kind))
                    kind = ""
        except (requests.RequestException, AttributeError, ValueError):
            return  # the gateway is gone, or the reader was closed


@contextmanager
def following(address: str, run_id: str, after: int = 0) -> Iterator[Follower]:
    """Yield a follower that reads, and close it."""
    follower = Follower(address, run_id, after)
    follower.connect().start()
    try:
        yield follower
    finally:
        follower.close()
