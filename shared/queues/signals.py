"""After-commit sends over Celery and Redis: best effort and bounded in time, since the sweeper makes up for losses."""

import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from celery import Celery
from redis import Redis

from shared.contracts.events import Event, channel
from shared.domain.kinds import KINDS
from shared.ports.ledger import WakeUp
from shared.ports.observer import UNOBSERVED, Observer
from shared.queues.celery_app import TASK

log = logging.getLogger(__name__)

BACKLOG = 10_000
"""Sends that wait in this process; past it they are dropped and left to the sweeper."""

REST_AFTER_FAILURE_S = 1.0
"""After a send that failed, nothing is tried for this long, so that a dead broker does not pile up work."""


class _Tell(Protocol):
    """Takes whether a send worked."""

    def __call__(self, *, sent: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class _Send:
    """Something to send, and whom to tell whether that worked."""

    do: Callable[[], None]
    tell: _Tell


class BrokerSignals:
    """Sends from a thread of its own, so that no request or step ever waits for the broker."""

    def __init__(self, app: Celery, redis: Redis, observer: Observer = UNOBSERVED) -> None:
        self._app, self._redis, self._observer = app, redis, observer
        self._sends: queue.Queue[_Send | None] = queue.Queue(BACKLOG)
        self._thread = threading.Thread(target=self._run, name="signals", daemon=True)
        self._thread.start()

    def wake(self, wake_ups: Sequence[WakeUp]) -> int:
        """Queue wake-ups for sending; return how many were taken."""
        return sum(
            self._put(_Send(partial(self._send, item), partial(self._observer.wake_up, KINDS[item.kind].queue)))
            for item in wake_ups
        )

    def publish(self, events: Sequence[Event]) -> None:
        """Queue events for publishing on their run's channel; every event that is committed passes here once."""
        self._observer.committed(events)
        for event in events:
            self._put(_Send(partial(self._publish, event), self._observer.published))

    def close(self, timeout_s: float = 2.0) -> None:
        """Send what is queued, for at most ``timeout_s``, and stop."""
        self._put(None)
        self._thread.join(timeout_s)

    def _put(self, send: _Send | None) -> bool:
        try:
            self._sends.put_nowait(send)
        except queue.Full:
            if send is not None:
                send.tell(sent=False)
            return False
        return True

    def _send(self, wake_up: WakeUp) -> None:
        self._app.send_task(
            TASK,
            args=(wake_up.step_id,),
            queue=KINDS[wake_up.kind].queue,
            shadow=str(wake_up.kind),
            retry=False,
            ignore_result=True,
        )

    def _publish(self, event: Event) -> None:
        self._redis.publish(channel(event.run_id), json.dumps(event.as_data(), separators=(",", ":")))

    def _run(self) -> None:
        rest_until = 0.0
        while (send := self._sends.get()) is not None:
            if time.monotonic() < rest_until:
                send.tell(sent=False)
                continue
            try:
                send.do()
            except Exception as error:  # noqa: BLE001 - any failed send is made up for by the sweeper
                rest_until = time.monotonic() + REST_AFTER_FAILURE_S
                log.warning("an after-commit send was lost: %s", error)
                send.tell(sent=False)
            else:
                send.tell(sent=True)
