"""Servers from the system's packages, each a process of the test's own on loopback: RabbitMQ, Redis, PostgreSQL."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from kombu import Connection
from redis import Redis
from redis.exceptions import RedisError

from tests.support.servers import open_folder
from tests.support.stack import free_port, wait_until

RABBIT = Path("/usr/lib/rabbitmq/bin")
POSTGRES = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), Path("/nowhere"))
START_S = 90.0


def require(program: Path | str, package: str) -> str:
    """Return the path of a program; skip where it is not installed."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"the system's package {package} is not installed")
    return found


@contextmanager
def process(command: list[str], environment: Mapping[str, str], log: Path, user: int | None = None) -> Iterator[int]:
    """Yield the id of a server's process, and end it and all its children."""
    with log.open("ab") as output:
        running = subprocess.Popen(
            command, env=environment, stdout=output, stderr=output, start_new_session=True, user=user, cwd="/"
        )
    try:
        yield running.pid
    finally:
        running.terminate()
        try:
            running.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait(10)


@contextmanager
def rabbitmq(tmp: Path) -> Iterator[str]:
    """Yield the URL of a RabbitMQ node with nothing on it."""
    server, epmd = require(RABBIT / "rabbitmq-server", "rabbitmq-server"), require("epmd", "rabbitmq-server")
    folder, port, epmd_port = tmp / "rabbit", free_port(), free_port()
    folder.mkdir()
    (folder / "plugins").write_text("[].\n")
    names = {"MNESIA_BASE": folder, "LOG_BASE": folder, "NODE_IP_ADDRESS": "127.0.0.1", "NODE_PORT": port}
    more = {"DIST_PORT": free_port(), "NODENAME": f"test{port}@localhost", "ENABLED_PLUGINS_FILE": folder / "plugins"}
    environment = {
        **os.environ,
        **{f"RABBITMQ_{name}": str(value) for name, value in (names | more).items()},
        "HOME": str(folder),
        "ERL_EPMD_PORT": str(epmd_port),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }
    url = f"amqp://guest:guest@127.0.0.1:{port}//"

    def answers() -> bool:
        try:
            with Connection(url, connect_timeout=2) as connection:
                connection.connect()
                return True
        except OSError:
            return False

    try:
        with process([server], environment, folder / "log"):
            wait_until(answers, "RabbitMQ answers", START_S)
            yield url
    finally:
        ended = [epmd, "-port", str(epmd_port), "-kill"]
        subprocess.run(ended, env=environment, capture_output=True, timeout=20, check=False)


@contextmanager
def system_redis(tmp: Path) -> Iterator[str]:
    """Yield the URL of a Redis that keeps nothing on disk."""
    server, port = require("redis-server", "redis-server"), free_port()
    url = f"redis://127.0.0.1:{port}/0"
    options = {"port": str(port), "bind": "127.0.0.1", "save": "", "appendonly": "no", "dir": str(tmp)}
    command = [server, *(word for name, value in options.items() for word in (f"--{name}", value))]

    def answers() -> bool:
        try:
            with Redis.from_url(url) as client:
                return bool(client.ping())
        except RedisError:
            return False

    with process(command, os.environ, tmp / "redis.log"):
        wait_until(answers, "Redis answers", START_S)
        yield url


@contextmanager
def system_postgres(tmp: Path) -> Iterator[str]:
    """Yield the superuser's URL of a PostgreSQL with a password of the test's own."""
    initdb, server = (require(POSTGRES / name, "postgresql") for name in ("initdb", "postgres"))
    user = pwd.getpwnam("postgres").pw_uid if os.geteuid() == 0 else None
    port, password = free_port(), secrets.token_hex(8)
    with open_folder(tmp) as folder:
        data, file = folder / "data", folder / "password"
        file.write_text(password)
        data.mkdir(mode=0o700)
        if user is not None:
            os.chown(data, user, -1)
        made = [
            initdb,
            "-D",
            str(data),
            "-U",
            "postgres",
            "-A",
            "scram-sha-256",
            f"--pwfile={file}",
            "-E",
            "UTF8",
            "-N",
        ]
        subprocess.run(made, check=True, capture_output=True, timeout=120, user=user, cwd="/")
        options = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off"}
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        url = f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres"

        def answers() -> bool:
            try:
                psycopg.connect(url, connect_timeout=2).close()
            except psycopg.OperationalError:
                return False
            return True

        with process([server, "-D", str(data), *words], {"PATH": os.defpath, "LC_ALL": "C"}, folder / "log", user):
            wait_until(answers, "PostgreSQL answers", START_S)
            yield url.replace("postgresql://", "postgresql+psycopg://", 1)
