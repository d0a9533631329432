"""Following the events of a run over connections that may break: every event once, in order, to the end."""

from collections.abc import Iterator
from http import HTTPStatus

from shared.client.errors import ClientError, Unreachable
from shared.client.messages import messages
from shared.client.wire import Wire
from shared.contracts.events import Event

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
PATIENCE = 12
"""Connections in a row that may fail, about 40 seconds, until following is given up."""


def follow(wire: Wire, path: str, after: int) -> Iterator[Event]:
    """Yield every event with a sequence number over ``after``; return when the run has ended.

    A connection that breaks, ends early or leaves out an event is followed by another one from the last event on.
    Raises `ClientError` when the gateway refuses, `Unreachable` when it cannot be reached for long.
    """
    last, failures, delay = after, 0, FIRST_PAUSE_S
    while True:
        try:
            for item in _connection(wire, path, last):
                if item is None:
                    return
                last, failures, delay = item.seq, 0, FIRST_PAUSE_S
                yield item
            failures = 0
        except (Unreachable, ClientError) as error:
            if isinstance(error, ClientError) and error.problem.status != HTTPStatus.SERVICE_UNAVAILABLE:
                raise
            failures += 1
            if failures >= PATIENCE:
                raise
        wire.pause(delay)
        delay = min(2 * delay, LONGEST_PAUSE_S)


def _connection(wire: Wire, path: str, last: int) -> Iterator[Event | None]:
    """Yield the events of one connection that follow ``last`` without a gap, and None at the end of the run."""
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last)}
    with wire.stream(path, headers) as lines:
        for message in messages(lines):
            if message.name == "end":
                yield None
                return
            if message.name == "resync":
                return
            event = message.as_event()
            if event.seq > last + 1:
                return
            if event.seq == last + 1:
                last = event.seq
                yield event
