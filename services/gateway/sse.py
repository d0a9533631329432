"""The event stream of a run as Server-Sent Events (WHATWG HTML, section 9.2): replay, follow, end.

Frames carry `id` (sequence), `event` (type) and `data` (the event as JSON). Besides events there are three more:
a comment every 15 seconds, `event: resync` when the client has to come back with its last id, and `event: end` after
the last event of a run that has ended.
"""

import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from services.gateway.deps import Deps
from services.gateway.hub import PAGE, Feed, Hub, Notice, Topic
from shared.contracts.events import Event
from shared.domain.errors import NotFound

log = logging.getLogger(__name__)

PING = b": ping\n\n"
RECONNECT_MS = 1000
_LAST_WORDS = {Notice.ENDED: "end", Notice.RESYNC: "resync"}


@dataclass(frozen=True, slots=True)
class Listener:
    """One client: the run it follows, the sequence number it has seen, and the key that lets it listen, if any."""

    topic: Topic
    after: int
    key_id: str | None = None


def stream(deps: Deps, hub: Hub, listener: Listener, position: int) -> Iterator[bytes]:
    """Yield every event that the listener lacks once and in order, until the run ends or the key is revoked.

    ``position`` is the run's last sequence number as just read: replay covers what is up to it, the reader what comes.
    """
    topic, after = listener.topic, listener.after
    yield f"retry: {RECONNECT_MS}\n\n".encode()
    last, notice = after, Notice.RESYNC
    try:
        with hub.subscribe(topic, position) as feed:
            for item in _follow(deps, listener, feed):
                if isinstance(item, Event):
                    last = item.seq
                    yield frame(item)
                elif item is Notice.QUIET:
                    yield PING
                else:
                    notice = item
    except NotFound:  # deleted meanwhile: there is nothing to come back for
        notice = Notice.ENDED
    except deps.outages as error:
        log.warning("a stream of run %s is cut: %s", topic.run_id, error)
    if notice in _LAST_WORDS:
        yield _notice(_LAST_WORDS[notice], {"run_id": topic.run_id, "last_seq": last})


def frame(event: Event) -> bytes:
    """Return one event as a frame."""
    return f"id: {event.seq}\nevent: {event.type}\ndata: {json.dumps(event.as_data())}\n\n".encode()


def _notice(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def _follow(deps: Deps, listener: Listener, feed: Feed) -> Iterator[Event | Notice]:
    """Yield what the client lacks, `Notice.QUIET` where a ping is due, and at last why there is no more."""
    closes_at = time.monotonic() + deps.limits.stream_age_s
    ask_at = time.monotonic() + deps.limits.ping_s
    topic, last = listener.topic, listener.after
    for event in _history(deps, topic, last):
        last = event.seq
        yield event
    while time.monotonic() < closes_at:
        item = feed.take(deps.limits.ping_s)
        for event in _missing(deps, topic, last, item):
            last = event.seq
            yield event
        if isinstance(item, Notice):
            yield item
            if item is not Notice.QUIET:
                return
        if time.monotonic() >= ask_at:
            if not _may_listen(deps, listener):
                yield Notice.CLOSED
                return
            ask_at = time.monotonic() + deps.limits.ping_s
    yield Notice.RESYNC


def _may_listen(deps: Deps, listener: Listener) -> bool:
    return deps.keys is None or listener.key_id is None or deps.keys.living(listener.key_id)


def _missing(deps: Deps, topic: Topic, last: int, item: Event | Notice) -> Iterator[Event]:
    """Yield what the client lacks up to ``item``: it alone, nothing when it was seen, or more where there is a gap."""
    if isinstance(item, Notice):
        if item is Notice.ENDED:
            yield from _history(deps, topic, last)
    elif item.seq == last + 1:
        yield item
    elif item.seq > last:
        yield from _history(deps, topic, last)


def _history(deps: Deps, topic: Topic, after: int) -> Iterator[Event]:
    """Yield the events over ``after`` page by page out of the table; no connection is held between pages."""
    while events := deps.reads.events(topic.owner_id, topic.run_id, after, PAGE):
        yield from events
        after = events[-1].seq
        if len(events) < PAGE:
            return
