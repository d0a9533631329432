"""Who listens to which run: one reader per run reads new events and hands them to every client of that run.

The table of events is the truth. A reader waits for a hint or two seconds, reads, and holds no connection between; each
client has a bounded queue, and one that does not keep up is dropped and told to come back.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from services.gateway.deps import Deps
from shared.contracts.events import Event
from shared.domain.errors import NotFound
from shared.domain.ids import OwnerId, RunId
from shared.domain.states import FINAL_RUN, RunStatus

log = logging.getLogger(__name__)

PAGE = 200
LOOK_EVERY = 15
"""After so many rounds without news a reader looks whether the run has ended, in case it missed how."""


class Notice(Enum):
    """What a feed says instead of an event."""

    QUIET = "quiet"
    """Nothing came in the time given."""
    ENDED = "ended"
    """The run has ended and every event of it is in the table."""
    RESYNC = "resync"
    """The client did not keep up: it must come back and say where it was."""
    CLOSED = "closed"
    """The gateway stops."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A run as seen by its owner."""

    owner_id: OwnerId
    run_id: RunId


class Feed:
    """The bounded queue of one client."""

    def __init__(self, size: int) -> None:
        self._queue: queue.Queue[Event] = queue.Queue(size)
        self._arrived = threading.Condition()
        self._last_words: Notice | None = None
        self._taken_at = time.monotonic()

    def put(self, event: Event) -> bool:
        """Hand over an event; False when the client's queue is full."""
        with self._arrived:
            if self._queue.full():
                return False
            self._queue.put_nowait(event)
            self._arrived.notify()
        return True

    def finish(self, notice: Notice) -> None:
        """Say the last thing that the client hears; only `Notice.ENDED` lets it take what is queued before."""
        with self._arrived:
            self._last_words = self._last_words or notice
            self._arrived.notify()

    def take(self, seconds: float) -> Event | Notice:
        """Return the next event, or a notice when there is none within ``seconds`` or ever again."""
        with self._arrived:
            self._taken_at = time.monotonic()
            self._arrived.wait_for(lambda: self._last_words is not None or not self._queue.empty(), seconds)
            if self._last_words is not None and (self._last_words is not Notice.ENDED or self._queue.empty()):
                return self._last_words
            return Notice.QUIET if self._queue.empty() else self._queue.get_nowait()

    def stalled(self, seconds: float) -> bool:
        """Tell whether events have waited while the client took none for so long."""
        with self._arrived:
            return not self._queue.empty() and time.monotonic() - self._taken_at > seconds


class Reader:
    """The thread that reads one run's events from ``position`` on and hands them to every feed of the run."""

    def __init__(self, deps: Deps, topic: Topic, position: int, gone: Callable[["Reader"], None]) -> None:
        self.topic = topic
        self._deps, self._position, self._gone = deps, position, gone
        self._feeds: set[Feed] = set()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._may_have_ended = True
        self._thread = threading.Thread(target=self._run, name=f"events-{topic.run_id}", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def add(self, feed: Feed) -> None:
        """Hand events to this feed too from now on."""
        with self._lock:
            self._feeds.add(feed)

    def discard(self, feed: Feed) -> None:
        """Hand no more events to this feed."""
        with self._lock:
            self._feeds.discard(feed)

    def clients(self) -> int:
        """Return how many clients listen."""
        with self._lock:
            return len(self._feeds)

    def stop(self) -> None:
        """Ask the thread to end; it does so after its present wait."""
        self._stopped.set()

    def finish(self, notice: Notice) -> None:
        """Say the last thing to every client."""
        with self._lock:
            feeds, self._feeds = self._feeds, set()
        for feed in feeds:
            feed.finish(notice)

    def _run(self) -> None:
        notice = Notice.RESYNC
        try:
            notice = self._follow()
        finally:
            self._gone(self)
            self.finish(notice)

    def _follow(self) -> Notice:
        """Read until the run ends or nobody listens; return what to tell whoever still does."""
        rounds = 0
        while not self._stopped.is_set():
            try:
                events = self._deps.reads.events(self.topic.owner_id, self.topic.run_id, self._position, PAGE)
                self._hand_out(events)
                if events:
                    continue
                rounds += 1
                if (self._may_have_ended or rounds % LOOK_EVERY == 0) and self._has_ended():
                    return Notice.ENDED
            except NotFound:
                return Notice.ENDED
            except self._deps.outages as error:
                log.warning("the events of run %s cannot be read now: %s", self.topic.run_id, error)
                self._stopped.wait(self._deps.limits.poll_s)
            self._drop_stalled()
            self._deps.watch.wait(self.topic.run_id, self._deps.limits.poll_s)
        return Notice.CLOSED

    def _hand_out(self, events: tuple[Event, ...]) -> None:
        with self._lock:
            feeds = tuple(self._feeds)
        for event in events:
            self._position = event.seq
            if event.type == "status_changed":
                self._may_have_ended = event.payload.get("to") in FINAL_RUN
            for feed in feeds:
                if not feed.put(event):
                    self._drop(feed)

    def _has_ended(self) -> bool:
        run = self._deps.reads.run(self.topic.owner_id, self.topic.run_id)
        self._may_have_ended = RunStatus(run.status) in FINAL_RUN
        return self._may_have_ended and run.last_seq <= self._position

    def _drop_stalled(self) -> None:
        with self._lock:
            feeds = tuple(self._feeds)
        for feed in feeds:
            if feed.stalled(2 * self._deps.limits.ping_s):
                self._drop(feed)

    def _drop(self, feed: Feed) -> None:
        log.info("a client of run %s does not keep up and is dropped", self.topic.run_id)
        self.discard(feed)
        feed.finish(Notice.RESYNC)


class Hub:
    """All readers of this process, by run."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._readers: dict[Topic, Reader] = {}
        self._lock = threading.Lock()
        self._closed = False

    def clients(self) -> dict[str, int]:
        """Return how many clients listen to each run."""
        with self._lock:
            return {topic.run_id: reader.clients() for topic, reader in self._readers.items()}

    def streams(self) -> int:
        """Return how many clients listen in all."""
        return sum(self.clients().values())

    def has_room(self) -> bool:
        """Tell whether one more stream leaves enough threads for requests."""
        return self.streams() < self._deps.limits.max_streams

    @contextmanager
    def subscribe(self, topic: Topic, position: int) -> Iterator[Feed]:
        """Listen inside the block; a reader that has to be started begins after the event ``position``."""
        feed = Feed(self._deps.limits.queued_events)
        reader = self._join(topic, position, feed)
        try:
            yield feed
        finally:
            self._leave(reader, feed)

    def close(self) -> None:
        """Let every stream end, those to come at once."""
        with self._lock:
            self._closed = True
            readers, self._readers = list(self._readers.values()), {}
        for reader in readers:
            reader.stop()
            reader.finish(Notice.CLOSED)

    def _join(self, topic: Topic, position: int, feed: Feed) -> Reader:
        with self._lock:
            reader = self._readers.get(topic)
            if reader is None:
                reader = Reader(self._deps, topic, position, self._forget)
                if not self._closed:
                    self._readers[topic] = reader
                    reader.start()
            reader.add(feed)
            if self._closed:
                feed.finish(Notice.CLOSED)
        return reader

    def _leave(self, reader: Reader, feed: Feed) -> None:
        with self._lock:
            reader.discard(feed)
            if reader.clients() == 0:
                reader.stop()
                if self._readers.get(reader.topic) is reader:
                    del self._readers[reader.topic]

    def _forget(self, reader: Reader) -> None:
        """Take a reader that has ended off the register, so that the next client starts a new one."""
        with self._lock:
            if self._readers.get(reader.topic) is reader:
                del self._readers[reader.topic]
