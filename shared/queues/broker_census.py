"""How the broker stands: messages that wait, and whether it may lose some. Best effort, for figures only."""

from collections.abc import Mapping
from typing import Any

from celery import Celery
from kombu.connection import Connection
from kombu.exceptions import ChannelError

from shared.domain.errors import LeadlineError
from shared.domain.kinds import QUEUES
from shared.ports.observer import BrokerCensus

REDIS = "redis"
KEEPS_ALL = "noeviction"
NOT_FOUND = "404"


class BrokerSilent(LeadlineError):
    """The broker did not say how it stands."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"The broker does not say how it stands: {detail}.")


def count_broker(app: Celery) -> BrokerCensus:
    """Ask the broker of an application; raises `BrokerSilent`."""
    with app.connection_for_read() as connection:
        try:
            name = str(connection.transport.driver_type)
            if name == REDIS:
                return _count_redis(connection)
            return BrokerCensus(name, {queue: _length(connection, queue) for queue in QUEUES})
        except (*connection.connection_errors, *connection.channel_errors) as error:
            raise BrokerSilent(str(error)) from error


def count_waiting(app: Celery) -> dict[str, int]:
    """Return how many messages each queue holds; raises `BrokerSilent`."""
    with app.connection_for_read() as connection:
        try:
            if str(connection.transport.driver_type) == REDIS:
                with connection.channel() as channel:
                    return _redis_lengths(channel.client)
            return {queue: _length(connection, queue) for queue in QUEUES}
        except (*connection.connection_errors, *connection.channel_errors) as error:
            raise BrokerSilent(str(error)) from error


def _count_redis(connection: Connection) -> BrokerCensus:
    with connection.channel() as channel:  # type: ignore[no-untyped-call]
        client = channel.client
        queues = _redis_lengths(client)
        memory = client.info("memory")
    return BrokerCensus(REDIS, queues, _ratio(memory), _evicts(memory))


def _redis_lengths(client: Any) -> dict[str, int]:
    """Ask a client that knows the prefix of our keys; priorities, each a list of its own, are not used."""
    return {queue: client.llen(queue) for queue in QUEUES}


def _length(connection: Connection, queue: str) -> int:
    """Return the messages of a queue; one that the broker does not know has none."""
    with connection.channel() as channel:  # type: ignore[no-untyped-call]
        try:
            return int(channel.queue_declare(queue=queue, passive=True).message_count)
        except ChannelError as error:
            if str(error.reply_code) != NOT_FOUND:
                raise
            return 0


def _ratio(memory: Mapping[str, Any]) -> float | None:
    allowed = memory.get("maxmemory")
    return memory["used_memory"] / allowed if allowed else None


def _evicts(memory: Mapping[str, Any]) -> bool | None:
    policy = memory.get("maxmemory_policy")
    return None if policy is None else policy != KEEPS_ALL
