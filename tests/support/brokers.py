"""What wake-ups go through in tests: the Redis of each stack, or a RabbitMQ for all stacks of a test process.

LEADLINE_TEST_BROKER   `redis` (as without it), or `rabbitmq`: a node from the system's package that is started at the
                       first need and ended with the process; every stack gets a virtual host of its own
"""

import atexit
import functools
import os
import shutil
import tempfile
from pathlib import Path

import pytest
import redis

from tests.support import rabbitmq
from tests.support.rabbitmq import RabbitMQ

REDIS, RABBITMQ = "redis", "rabbitmq"


class UnknownBroker(Exception):
    """LEADLINE_TEST_BROKER names a broker that there is not."""

    def __init__(self, name: str) -> None:
        super().__init__(f"LEADLINE_TEST_BROKER is {name!r}: say {REDIS!r} or {RABBITMQ!r}.")


def chosen_broker() -> str:
    """Return what wake-ups go through: `REDIS` or `RABBITMQ`."""
    name = os.environ.get("LEADLINE_TEST_BROKER") or REDIS
    if name not in (REDIS, RABBITMQ):
        raise UnknownBroker(name)
    return name


redis_broker_only = pytest.mark.skipif(chosen_broker() != REDIS, reason="about Redis as broker")
"""Marks what is not tried again on another broker."""


def broker_for(redis_url: str) -> str:
    """Return the URL of the broker for a stack that has this Redis."""
    return redis_url if chosen_broker() == REDIS else shared_node().new_host()


def wipe(redis_url: str, broker_url: str) -> None:
    """Lose every message, whatever carries them."""
    with redis.Redis.from_url(redis_url, socket_timeout=5) as client:
        client.flushall()
    if rabbitmq.is_rabbitmq(broker_url):
        rabbitmq.empty(broker_url)


def put_garbage(broker_url: str, queue: str) -> None:
    """Put what is no message of ours into a queue."""
    if rabbitmq.is_rabbitmq(broker_url):
        rabbitmq.put_garbage(broker_url, queue)
        return
    with redis.Redis.from_url(broker_url, socket_timeout=5) as client:
        client.lpush(f"leadline:{queue}", '{"body": "bm90aGluZw==", "content-type": "application/json"}')


@functools.cache
def shared_node() -> RabbitMQ:
    """Return the node of this process, started."""
    folder = Path(tempfile.mkdtemp(prefix="leadline-rabbitmq-"))
    node = RabbitMQ(folder)
    atexit.register(shutil.rmtree, folder)
    atexit.register(node.stop)  # the last that is registered comes first
    node.start()
    return node
