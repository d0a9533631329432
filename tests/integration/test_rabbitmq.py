"""RabbitMQ as broker, where it does otherwise than Redis: how its queues are counted."""

import pytest
import redis

from shared.domain.ids import StepId
from shared.domain.kinds import QUEUES
from shared.domain.states import StepKind
from shared.ports.ledger import WakeUp
from shared.queues.broker_census import count_broker, count_waiting
from shared.queues.celery_app import build_app
from shared.queues.signals import BrokerSignals
from tests.support.brokers import RABBITMQ, broker_for, chosen_broker, wipe
from tests.support.stack import wait_until

pytestmark = pytest.mark.skipif(chosen_broker() != RABBITMQ, reason="LEADLINE_TEST_BROKER does not choose RabbitMQ")


def test_the_queues_are_counted(valkey: str) -> None:
    """Queues that nobody has made yet are empty, what waits is counted, and losing every message empties them."""
    broker = broker_for(valkey)
    app = build_app("test", broker)
    none = dict.fromkeys(QUEUES, 0)
    assert count_waiting(app) == none
    with redis.Redis.from_url(valkey) as client:
        signals = BrokerSignals(app, client)
        signals.wake([WakeUp(StepId(f"stp_{n}"), StepKind.PARSE) for n in range(3)])
        signals.close()
    wait_until(lambda: count_waiting(app) == {**none, "extractor": 3}, "the messages are there")
    counted = count_broker(app)
    assert (counted.name, counted.queues["extractor"], counted.memory_ratio) == ("amqp", 3, None)
    wipe(valkey, broker)
    assert count_waiting(app) == none
    app.close()
