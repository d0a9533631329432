"""PostgreSQL and Redis for tests: servers in a temporary folder, or those that the environment names.

LEADLINE_TEST_SERVERS        `embedded` (as without it), or `system`: PostgreSQL and Redis from the system's packages
LEADLINE_TEST_DATABASE_URL   a role that may create databases
LEADLINE_TEST_REDIS_URL      a Redis or Valkey that tests may fill and empty

Which broker wake-ups go through is chosen in `tests.support.brokers`.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from infra.standalone.accounts import may_pass, server_account
from infra.standalone.home import Home
from infra.standalone.postgres import EmbeddedPostgres
from infra.standalone.system import Account
from infra.standalone.valkey import EmbeddedValkey
from shared.db.migrate import migrate
from tests.support.system_servers import SystemPostgres, SystemRedis, system_account

DRIVER = "postgresql+psycopg"
EMBEDDED, SYSTEM = "embedded", "system"

PostgresServer = EmbeddedPostgres | SystemPostgres
RedisServer = EmbeddedValkey | SystemRedis


class UnknownServers(Exception):
    """LEADLINE_TEST_SERVERS names servers that there are not."""

    def __init__(self, name: str) -> None:
        super().__init__(f"LEADLINE_TEST_SERVERS is {name!r}: say {EMBEDDED!r} or {SYSTEM!r}.")


def chosen_servers() -> str:
    """Return which servers tests start: `EMBEDDED` or `SYSTEM`."""
    name = os.environ.get("LEADLINE_TEST_SERVERS") or EMBEDDED
    if name not in (EMBEDDED, SYSTEM):
        raise UnknownServers(name)
    return name


embedded_only = pytest.mark.skipif(chosen_servers() != EMBEDDED, reason="about the embedded servers themselves")
"""Marks what is not tried again on the system's servers."""


def new_postgres(folder: Path, *, durable: bool = True) -> PostgresServer:
    """Return a server that is not started yet; without `durable` it gives up durability for speed."""
    if chosen_servers() == SYSTEM:
        return SystemPostgres(folder, durable=durable)
    return EmbeddedPostgres(Home(folder), durable=durable)


def postgres_account() -> Account | None:
    """Return the account that PostgreSQL runs under, None for the caller's own."""
    return system_account() if chosen_servers() == SYSTEM else server_account()


def new_redis(folder: Path) -> RedisServer:
    """Return a server that is not started yet."""
    return SystemRedis(folder) if chosen_servers() == SYSTEM else EmbeddedValkey(Home(folder))


@contextmanager
def open_folder(tmp: Path) -> Iterator[Path]:
    """Yield a folder that embedded servers can reach, and remove it afterwards.

    Temporary folders of pytest are closed to others, and under root the servers run as another account.
    """
    account = server_account()
    outside = account is not None and not may_pass(tmp, account)
    folder = Path(tempfile.mkdtemp(prefix="leadline-test-", dir="/tmp" if outside else tmp))
    if outside:
        folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def postgres_server(tmp: Path) -> Iterator[str]:
    """Yield the superuser's SQLAlchemy URL of a server that is stopped afterwards; it gives up durability for speed."""
    given = os.environ.get("LEADLINE_TEST_DATABASE_URL")
    if given:
        yield with_driver(given)
        return
    with open_folder(tmp) as folder:
        server = new_postgres(folder / "postgres", durable=False)
        try:
            server.start()
            yield server.admin_url
        finally:
            server.stop()


@contextmanager
def valkey_server(tmp: Path) -> Iterator[str]:
    """Yield the URL of a server that is stopped afterwards."""
    given = os.environ.get("LEADLINE_TEST_REDIS_URL")
    if given:
        yield given
        return
    with open_folder(tmp) as folder:
        server = new_redis(folder / "valkey")
        try:
            server.start()
            yield server.url
        finally:
            server.stop()


@contextmanager
def own_servers(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the URLs of a migrated database and of a Valkey, on servers in a folder of their own."""
    for part in ("postgres", "valkey"):
        (folder / part).mkdir()
    with (
        postgres_server(folder / "postgres") as admin,
        valkey_server(folder / "valkey") as redis_url,
        fresh_database(admin) as database,
    ):
        migrate(database)
        yield database, redis_url


@contextmanager
def fresh_database(admin_url: str, template: str | None = None) -> Iterator[str]:
    """Yield the SQLAlchemy URL of a new database, dropped afterwards with whatever is still connected to it.

    `template` is the URL or the name of a database to copy; nobody may be connected to it meanwhile.
    """
    name = f"test_{secrets.token_hex(8)}"
    create = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
    if template:
        source = urlsplit(template).path.rpartition("/")[2]
        create += sql.SQL(" TEMPLATE {}").format(sql.Identifier(source))
    _execute(admin_url, create)
    try:
        yield urlsplit(with_driver(admin_url))._replace(path=f"/{name}").geturl()
    finally:
        _execute(admin_url, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def with_driver(url: str) -> str:
    """Return the URL with the driver that SQLAlchemy is to use."""
    return urlsplit(url)._replace(scheme=DRIVER).geturl()


def without_driver(url: str) -> str:
    """Return the URL as psycopg itself takes it."""
    return urlsplit(url)._replace(scheme="postgresql").geturl()


def _execute(admin_url: str, statement: sql.Composable) -> None:
    with psycopg.connect(without_driver(admin_url), autocommit=True, connect_timeout=10) as connection:
        connection.execute(statement)
