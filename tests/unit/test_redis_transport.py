"""The broker's connection when it is gone: closing a channel with unacknowledged messages is no error."""

from types import SimpleNamespace
from typing import Any

import pytest
from kombu import Connection
from kombu.transport import redis

from shared.queues.celery_app import build_app
from shared.queues.redis_transport import QoS, Transport


def test_redis_brokers_get_the_mended_transport() -> None:
    """The scheme of the URL leads to it, and the connection still calls itself by that scheme."""
    app = build_app("test", "redis://127.0.0.1:1/0")
    connection: Connection = app.connection_for_read()
    assert isinstance(connection.transport, Transport)
    assert connection.as_uri().startswith("redis://")


@pytest.mark.parametrize("made", [QoS, redis.QoS])
def test_nothing_is_put_back_on_a_connection_that_is_gone(made: Any) -> None:
    """Kombu's own would take the connection's host name from nothing; ours leaves the messages to the sweeper."""
    qos = made.__new__(made)
    channel = redis.Channel.__new__(redis.Channel)
    channel.connection = SimpleNamespace(client=None)
    channel.do_restore = True
    qos.channel, qos.restore_at_shutdown = channel, True
    qos._delivered = {"tag": object()}
    qos._dirty = set()
    if made is QoS:
        qos.restore_unacked_once()
    else:
        with pytest.raises(AttributeError):
            qos.restore_unacked_once()
