"""Hears on Redis that a run has new events: one subscription per process, however many runs are watched."""

import logging
import threading
from collections import defaultdict

from redis import Redis
from redis.exceptions import RedisError

from shared.contracts.events import channel

log = logging.getLogger(__name__)

PATTERN = channel("*")
RECONNECT_S = 1.0


class RedisWatch:
    """See `shared.ports.watch.Watch`. With Redis down, `wait` just takes its full time."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._changed = threading.Condition()
        self._seen: dict[str, int] = defaultdict(int)
        self._waiting: dict[str, int] = defaultdict(int)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def wait(self, run_id: str, seconds: float) -> None:
        """Return when the run may have something new, or after ``seconds``."""
        with self._changed:
            self._listen()
            before = self._seen[run_id]
            self._waiting[run_id] += 1
            try:
                self._changed.wait_for(lambda: self._seen[run_id] != before or self._stop.is_set(), timeout=seconds)
            finally:
                self._waiting[run_id] -= 1
                if not self._waiting[run_id]:
                    del self._waiting[run_id], self._seen[run_id]

    def close(self) -> None:
        """Stop listening and let everyone who waits go."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(5)

    def _listen(self) -> None:
        """Start the listening thread on first use, so that a process forked or spawned before has its own."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._redis.pubsub(ignore_subscribe_messages=True) as pubsub:  # type: ignore[no-untyped-call]
                    pubsub.psubscribe(PATTERN)
                    while not self._stop.is_set():
                        message = pubsub.get_message(timeout=1.0)
                        if message is not None:
                            self._tell(message["channel"])
            except RedisError as error:
                log.warning("live progress is off until Redis answers: %s", error)
                self._stop.wait(RECONNECT_S)

    def _tell(self, name: bytes | str) -> None:
        text = name.decode() if isinstance(name, bytes) else name
        run_id = text.rpartition(":")[2]
        with self._changed:
            if run_id in self._waiting:
                self._seen[run_id] += 1
                self._changed.notify_all()
