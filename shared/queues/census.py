"""Counts every few seconds what stands in the ledger and in the broker, beside the sweeper and never in its way."""

import logging
import threading
from collections.abc import Callable

from shared.domain.errors import LeadlineError
from shared.ports.observer import BrokerCensus, LedgerCensus, Observer

log = logging.getLogger(__name__)

EVERY_S = 5.0


class Census:
    """Asks two functions how things stand and tells an observer, from a thread of its own."""

    def __init__(
        self,
        ledger: Callable[[], LedgerCensus],
        broker: Callable[[], BrokerCensus],
        observer: Observer,
        every_s: float = EVERY_S,
    ) -> None:
        self._ledger, self._broker, self._observer, self._every_s = ledger, broker, observer, every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="census", daemon=True)

    def start(self) -> None:
        """Begin to count."""
        self._thread.start()

    def close(self) -> None:
        """Stop counting; a question that is under way is left to its timeout."""
        self._stop.set()
        self._thread.join(self._every_s)

    def take(self) -> None:
        """Count once; what does not answer keeps the figures that it has."""
        for count in (self._count_ledger, self._count_broker):
            try:
                count()
            except LeadlineError as error:
                log.warning("figures are missing: %s", error)

    def _count_ledger(self) -> None:
        self._observer.ledger_counted(self._ledger())

    def _count_broker(self) -> None:
        self._observer.broker_counted(self._broker())

    def _run(self) -> None:
        while True:
            self.take()
            if self._stop.wait(self._every_s):
                return
