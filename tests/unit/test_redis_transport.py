"""The broker's connection when it is gone: what is done on its channels is a lost connection, and no other error."""

from types import SimpleNamespace
from typing import Any

import pytest
from kombu.transport import redis

from shared.queues.celery_app import build_app
from shared.queues.redis_transport import Channel, QoS, Transport

GONE = (None, SimpleNamespace(client=None))


def channel_of(kind: type[Any], connection: Any) -> Any:
    """Return a channel whose connection is as given."""
    channel = kind.__new__(kind)
    channel.connection, channel.do_restore, channel.closed = connection, True, True
    return channel


@pytest.mark.parametrize("broker", ["redis://127.0.0.1:1/0", "amqp://127.0.0.1:1/"])
def test_no_thread_changes_the_prefetch_count(broker: str) -> None:
    """Celery would after a lost connection, from each thread that ends a task; on AMQP the consumer then stops."""
    assert build_app("test", broker).conf.worker_enable_prefetch_count_reduction is False


def test_redis_brokers_get_the_mended_transport() -> None:
    """The scheme of the URL leads to it, and the connection still calls itself by that scheme."""
    app = build_app("test", "redis://127.0.0.1:1/0")
    connection = app.connection_for_read()
    assert isinstance(connection.transport, Transport)
    assert connection.as_uri().startswith("redis://")


@pytest.mark.parametrize("connection", GONE)
def test_a_lost_connection_is_called_so(connection: Any) -> None:
    """A message that is acknowledged too late meets an error that Celery knows; kombu's own is none of those."""
    with pytest.raises(AttributeError):
        channel_of(redis.Channel, connection)._connparams()
    with pytest.raises(Transport.connection_errors):
        channel_of(Channel, connection)._connparams()


@pytest.mark.parametrize("connection", GONE)
def test_nothing_is_put_back_on_a_connection_that_is_gone(connection: Any) -> None:
    """The messages are left to the sweeper."""
    qos = QoS.__new__(QoS)
    qos.channel, qos.restore_at_shutdown = channel_of(Channel, connection), True
    qos._delivered, qos._dirty = {"tag": object()}, set()
    qos.restore_unacked_once()
    assert list(qos._delivered) == ["tag"]
