"""Kombu's Redis transport, mended where a broker that goes away would take the worker along.

When a connection is lost, kombu takes it apart, while threads still acknowledge messages on it and what was not
acknowledged is to be put back. Both then fail with an AttributeError, which no part of Celery takes for a lost
connection: the worker ends.
"""

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis
from redis.exceptions import ConnectionError as RedisConnectionError


class QoS(redis.QoS):
    """Puts nothing back on a connection that is gone: the sweeper sends it again."""

    def restore_unacked_once(self, stderr: Any = None) -> None:
        """Put unacknowledged messages back if there is a connection to do it on."""
        if not self.channel.is_taken_apart:
            super().restore_unacked_once(stderr)  # type: ignore[no-untyped-call]


class Channel(redis.Channel):
    """A channel that calls a lost connection by its name."""

    QoS = QoS

    @property
    def is_taken_apart(self) -> bool:
        """Whether the connection of this channel is gone."""
        return self.connection is None or self.connection.client is None

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if self.is_taken_apart:
            raise RedisConnectionError("The connection to the broker is gone.")
        params: dict[str, Any] = super()._connparams(asynchronous)  # type: ignore[no-untyped-call]
        return params


class Transport(redis.Transport):
    """The transport; kombu knows it by the scheme of the broker's URL."""

    Channel = Channel


def use_mended_transport() -> None:
    """Let the schemes of Redis lead here, for every connection that this process makes from now on."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:{Transport.__name__}"
