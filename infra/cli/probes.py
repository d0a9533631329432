"""Whether servers answer: each probe returns what it learned and None, or nothing and what is wrong."""

import socket
from urllib.parse import urlsplit

import psycopg
from redis import Redis, RedisError

from shared.client.client import LeadlineClient
from shared.client.errors import ClientError, Unreachable

TIMEOUT_S = 3
DRIVER = "postgresql+psycopg://"

Probed = tuple[str, str | None]


def gateway_answers(address: str) -> str | None:
    """Return what is wrong with a gateway, None when it is ready."""
    try:
        LeadlineClient(address, TIMEOUT_S).ready()
    except (ClientError, Unreachable) as error:
        return str(error).rstrip(".")
    return None


def postgres_version(url: str) -> Probed:
    """Return the version of a PostgreSQL server."""
    address = url.replace(DRIVER, "postgresql://", 1)
    try:
        with psycopg.connect(address, connect_timeout=TIMEOUT_S) as connection:
            version = connection.info.server_version
    except psycopg.Error as error:
        return "", f"no connection ({_first_line(error)})"
    return f"{version // 10000}.{version % 10000}", None


def redis_version(url: str) -> Probed:
    """Return the version of a Redis or Valkey server."""
    try:
        with Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S) as redis:
            facts = redis.info("server")
    except (RedisError, ValueError) as error:
        return "", f"no connection ({_first_line(error)})"
    return f"{facts.get('server_name', 'redis')} {facts.get('valkey_version', facts['redis_version'])}", None


def server_version(url: str) -> Probed:
    """Return what answers at the URL of a broker or of a Redis."""
    return redis_version(url) if url.startswith(("redis", "valkey", "unix")) else tcp_answers(url)


def tcp_answers(url: str) -> Probed:
    """Return the place of a server of another kind that takes connections."""
    try:
        parts = urlsplit(url)
        place = (parts.hostname or "", parts.port or 5672)
        with socket.create_connection(place, TIMEOUT_S):
            return f"{place[0]}:{place[1]} takes connections", None
    except (OSError, ValueError) as error:
        return "", f"no connection ({_first_line(error)})"


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
