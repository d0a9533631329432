"""Kombu's Redis transport, mended where a broker that goes away would take the worker along.

When a connection is lost, kombu puts back what was not acknowledged. By then it may have taken the connection apart
already, and fails with an AttributeError, which no part of Celery takes for a lost connection: the worker ends.
"""

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis


class QoS(redis.QoS):
    """Puts nothing back on a connection that is gone: the sweeper sends it again."""

    def restore_unacked_once(self, stderr: Any = None) -> None:
        """Put unacknowledged messages back if there is a connection to do it on."""
        if self.channel.connection.client is not None:
            super().restore_unacked_once(stderr)  # type: ignore[no-untyped-call]


class Channel(redis.Channel):
    """A channel with that."""

    QoS = QoS


class Transport(redis.Transport):
    """The transport; kombu knows it by the scheme of the broker's URL."""

    Channel = Channel


def use_mended_transport() -> None:
    """Let the schemes of Redis lead here, for every connection that this process makes from now on."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:{Transport.__name__}"
